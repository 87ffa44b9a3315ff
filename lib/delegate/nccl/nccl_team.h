// NcclTeam: members with a GPU each, worked by an NCCL communicator on a stream of ours.
//
// Nothing in here waits for another member: calls are put into the stream when NCCL takes them,
// their end is an event. What fails, a member that is gone, and a member that says that it failed
// abort the communicator, which ends what is in the stream; what fails here the others are told by
// our own links, since nothing would end their kernels.
#pragma once

#include <cuda.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "delegate/gpu_library.h"
#include "delegate/nccl/functions.h"
#include "device/cuda/current.h"
#include "device/cuda/driver.h"
#include "device/cuda/life.h"

namespace tutti::delegate::nccl {

class NcclTeam final : public GpuTeam {
 public:
  // A stream and what belongs to it, on the GPU of `place`; no member is asked for anything yet.
  static Result<std::unique_ptr<NcclTeam>> prepare(const Functions& nccl, wireup::Wireup& wireup,
                                                   const GpuLibrary::Place& place,
                                                   const Waiting& waiting);
  ~NcclTeam() override;
  NcclTeam(const NcclTeam&) = delete;
  NcclTeam& operator=(const NcclTeam&) = delete;
  // Meets the others; waits.
  Result<void> meet(const GpuLibrary::Id& id);

  Code run(const GpuCall& call) override;
  bool can_enqueue(void* stream) const override;
  Result<void> enqueue(const GpuCall& call, void* stream) override;
  void cancel(Code code) override;
  void abandon() override;
  bool check_broken() override;
  Code failure() const override { return broken_; }

 private:
  class Unsignalled;
  enum class Stage : std::uint8_t { queued, launching, running, over };

  NcclTeam(const Functions& nccl, wireup::Wireup& wireup, const GpuLibrary::Place& place,
           const Waiting& waiting);
  Result<void> make_stream();
  void wait_once(bool moved);
  bool go_on(const GpuCall& call, Stage& stage);
  Stage serve(const GpuCall& call, Stage stage);
  Result<void> launch(const GpuCall& call);
  Result<void> end_in_stream(const GpuCall& call);
  Result<void> wait_until_met();
  // One piece of enqueue(), while nobody breaks the team off.
  template <class Piece>
  auto alone(Piece piece) -> decltype(piece());
  // calls.cc: into `stream`.
  ncclResult_t put(const GpuCall& call, CUstream stream);
  ncclResult_t put_fold(const TeamCall& call, CUstream stream);
  ncclResult_t put_scatter(const GpuCall& call, CUstream stream);
  ncclResult_t put_blocks(const TeamCall& call, CUstream stream);
  ncclResult_t put_pieces(const GpuCall& call, CUstream stream);
  // What is left to do in the stream behind it.
  CUresult end_scatter(const GpuCall& call, CUstream stream) const;

  // Whether NCCL has taken what it was given. Errors: it failed.
  Result<bool> has_taken();
  Result<void> check(ncclResult_t said, const char* what) const;
  Result<void> check(CUresult said, const char* what) const;
  bool has_lost_member() const;
  Result<void> look_at_others();  // errors: one is gone, or has failed
  void break_off(Code code, const std::string& why);
  void drain();
  void close();
  std::string who() const;

  const Functions nccl_;
  device::cuda::Driver driver_;
  wireup::Wireup& wireup_;
  const Waiting waiting_;
  const GpuLibrary::Place place_;
  CUcontext context_ = nullptr;  // the GPU's primary one, which NCCL works in
  std::optional<device::cuda::Life> life_;
  CUstream stream_ = nullptr;
  CUevent fence_ = nullptr, end_ = nullptr;
  // Of comm_ and broken_, which whoever has the gate changes, while enqueue() has not.
  std::mutex mutex_;
  ncclComm_t comm_ = nullptr;
  Code broken_ = Code::ok;
  bool has_heard_ = false;  // that another member failed
  std::uint32_t in_vain_ = 0;
};

}  // namespace tutti::delegate::nccl
