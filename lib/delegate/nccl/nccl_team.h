// NcclTeam: members with a GPU each, worked by an NCCL communicator on a stream of ours.
//
// Nothing in here waits for another member: calls are put into the stream when NCCL takes them,
// their end is an event, and what fails, or a member that is gone, aborts the communicator, which
// ends what is in the stream.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>
#include <vector>

#include "delegate/gpu_library.h"
#include "delegate/nccl/functions.h"
#include "device/cuda/current.h"
#include "device/cuda/driver.h"

namespace tutti::delegate::nccl {

class NcclTeam final : public Team {
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

  bool takes(const TeamCall& call) const override { return serves_on_gpus(call); }
  std::unique_ptr<TeamRun> begin(const TeamCall& call) override;
  void cancel(Code code) override;

 private:
  class Begun;
  enum class Stage : std::uint8_t { queued, launching, running, over };

  NcclTeam(const Functions& nccl, wireup::Wireup& wireup, const GpuLibrary::Place& place,
           const Waiting& waiting);
  Result<void> make_stream();
  StepResult step(Begun& run);
  bool serve_first();
  Stage serve(Begun& run);
  Result<void> launch(const TeamCall& call);
  ncclResult_t put(const TeamCall& call);
  ncclResult_t put_fold(const TeamCall& call);
  ncclResult_t put_blocks(const TeamCall& call);
  // Whether NCCL has taken what it was given. Errors: it failed.
  Result<bool> has_taken();
  Result<void> check(ncclResult_t said, const char* what) const;
  Result<void> check(CUresult said, const char* what) const;
  bool has_lost_member() const;
  void break_off(Code code, const std::string& why);
  void drain();
  void close();
  std::string who() const;

  const Functions nccl_;
  device::cuda::Driver driver_;
  wireup::Wireup& wireup_;
  const GpuLibrary::Place place_;
  CUcontext context_ = nullptr;  // the GPU's primary one, which NCCL works in
  CUstream stream_ = nullptr;
  CUevent fence_ = nullptr, end_ = nullptr;
  ncclComm_t comm_ = nullptr;
  std::vector<Begun*> begun_;
  Code broken_ = Code::ok;
  std::uint32_t in_vain_ = 0;
};

}  // namespace tutti::delegate::nccl
