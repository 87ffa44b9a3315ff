// gpu: works on the memory of one CUDA context, as types::Device says.
//
// What is asked for becomes a job, a job steps: chunks through pinned memory, or all at once where
// both sides are the GPU's. Steps go into one of three streams of ours (lanes), an event after
// each; progress() asks the oldest event of each lane. Jobs wait in their lane while no chunk is
// free.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/cuda/kernels.h"
#include "device/cuda/life.h"
#include "device/cuda/queue.h"
#include "device/cuda/scratch.h"
#include "device/cuda/staging.h"
#include "device/cuda/tables.h"
#include "device/cuda/unusable.h"
#include "types/types.h"

namespace tutti::device::cuda {

class Gpu final : public types::Device {
 public:
  static constexpr std::size_t kStreams = 4;  // of ours
  // Keeps the GPU's primary context alive where `is_primary`.
  static Result<std::unique_ptr<Gpu>> open(const Driver& driver, CUcontext context, int ordinal,
                                           bool is_primary);
  ~Gpu() override;
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  CUcontext context() const { return context_; }
  // Of the context that all libraries share, not of one that the program has made for itself.
  bool is_of_primary() const { return is_of_primary_; }

  MemoryKind kind() const override { return MemoryKind::cuda; }
  int number() const override { return ordinal_; }
  // Its vendor knows whose an address is.
  bool owns(const void*) const override { return false; }
  void pack(const types::Buffer& from, types::Count offset, std::span<std::byte> out,
            Done* done) override;
  void unpack(const types::Buffer& into, types::Count offset, std::span<const std::byte> in,
              Done* done) override;
  void copy(const types::Buffer& from, const types::Buffer& into, Done* done) override;
  bool folds(const types::Fold& fold) const override;
  void fold(const types::Fold& fold, Done* done) override;
  bool widens(const types::Buffer& narrow) const override;
  void convert(const types::Buffer& from, const types::Buffer& into, Done* done) override;
  int progress() override;
  types::Device* begin_call() override;
  Mark take_mark() override;
  void put_mark(Mark& mark) override;
  bool give_back_if_reached(Mark& mark) override;
  types::Device* begin_reached_call(const Mark& mark) override;
  types::Device* begin_marked_call(Mark& mark) override;
  void await_caller(Done* done) override;
  bool stands_behind_caller() override;
  // Not while calls in streams are under way: by a copy of the driver's, as move() says why.
  bool copies_from(const types::Device& other) const override {
    const bool is_at_rest = driver_.enqueued == nullptr || !driver_.enqueued->is_under_way();
    return other.kind() == MemoryKind::cuda && other.is_usable() && is_at_rest;
  }
  types::CopyPace pace() override;
  std::byte* take_scratch(std::size_t bytes) override;
  void give_scratch(std::byte* at) override { scratch_.give(at); }

  // Streams of the user's will stand still until we have worked. What may make the driver wait for
  // them is done now: memory is allocated, events are made, kernels are loaded.
  Result<void> prepare();
  // A kernel that moves nothing, and its end, if streams of the user's may ever stand still for us.
  void settle_kernels();
  QueueRoom& queues() { return queues_; }
  // Of a neighbour's pool, which nothing here uses any more. Waits for no stream of anybody's.
  Result<void> free_imported(CUdeviceptr address) const;
  bool is_lost() const;  // any thread
  // Its context was reset or destroyed, and all of ours with it: nothing is to be given back.
  bool is_gone() const { return is_abandoned_ || life_.is_over(); }
  // When it is gone: what is under way fails, and so does what is asked for from now on.
  void abandon();

 private:
  enum class What : std::uint8_t { pack, unpack, copy, fold, convert, wait };
  struct Job {
    What what = What::pack;
    Done* done = nullptr;
    types::Buffer from, into;   // of packs and unpacks one of them
    std::byte* host = nullptr;  // of the same, the other side
    types::Count offset = 0;
    const types::Op* op = nullptr;
    bool from_first = true;
    types::Count total = 0, begun = 0;  // bytes; of folds elements
    types::Count most = 0;              // in one step: what the rows of a step have room for
    int in_flight = 0;
    bool is_waiting = false, has_failed = false;
  };
  // Another GPU's memory, which the driver copies by whatever way there is.
  bool reads_another(const Job& job) const {
    return job.from.device != nullptr && job.from.device != this;
  }
  struct Lane;
  struct Step {
    Lane* lane = nullptr;
    Job* job = nullptr;
    CUevent event = nullptr;  // behind it; null: none is there, its lane says when it ends
    std::array<std::byte*, 3> chunks = {};  // given back at its end
    std::byte* host = nullptr;  // the first chunk's content belongs here then; null: done
    std::size_t bytes = 0;
    int tables = 0;  // that it reads
  };
  // A stream that is full blocks whoever puts more (1024 pieces; a step is five at most), and with
  // the gate held nobody else goes on, perhaps the one that it waits for.
  static constexpr std::size_t kMostInFlight = 128;
  struct Lane {
    CUstream stream = nullptr;
    bool needs_fence = false;
    std::deque<Step> in_flight;
    std::deque<Job*> waiting;
  };
  // Rows of a part, for a kernel; which of their numbers are odd says what it may move at once.
  struct Rows {
    std::vector<KernelRow> all;
    std::size_t room = 0;  // for so many; with one more the listing ends
    std::uint64_t bits = 0;
  };

  Gpu(const Driver& driver, CUcontext context, int ordinal, bool is_primary);
  Result<void> start();
  bool find_primary() const;
  Lane& lane_of(What what) {
    return lanes_[std::min<std::size_t>(static_cast<std::size_t>(what), 2)];
  }
  Job* take_job(What what, Done* done, types::Count total);
  void begin(Job* job);
  int pump(Lane& lane);
  int poll(Lane& lane);
  bool begin_step(Lane& lane, Job& job);
  Result<bool> enqueue(Step& step);
  Result<bool> step_pack(Step& step);
  Result<bool> step_unpack(Step& step);
  Result<bool> step_copy(Step& step);
  Result<bool> step_fold(Step& step);
  Result<bool> fold_elements(Step& step, types::Count count);
  Result<bool> step_convert(Step& step);
  // Between rows of a buffer and a stream at `packed`; *bytes may become fewer. The rows may need
  // the step's chunk at `place`. False: there is none, and nothing is begun.
  Result<bool> move_rows(Step& step, const types::Buffer& buffer, std::byte* packed, bool packs,
                         types::Count* bytes, std::size_t place = 1);
  // The same by the type's table, of which the kernel needs no list. False: it has none.
  Result<bool> move_by_table(Step& step, const RunTables::Table* table, const types::Buffer& buffer,
                             std::byte* packed, bool packs, types::Count bytes);
  Result<void> move(const Step& step, void* to, const void* from, types::Count bytes);
  const RunTables::Table* make_table(const types::Datatype& type, CUstream stream);
  Result<bool> take_chunk(Step& step, std::size_t place);
  Result<void> open_staging();
  Result<void> take_spare();
  Result<void> measure();
  // What the caller gave the GPUs of this step comes before it.
  Result<void> await_fences(const Step& step);
  void set_fence(bool is_ahead);
  types::Device* refuse(CUresult said);
  bool ask_fence();
  bool ask_end(const Step& step);
  void end_step(Lane& lane);
  int end_job(Job* job);
  void fail_job(Job& job, const std::string& why);
  void tell(const std::string& what, const std::string& why);
  Result<void> make_event();
  Result<void> make_events();
  Result<CUevent> take_event();
  Result<void> check(CUresult said, const char* what) const;

  const Driver& driver_;
  const CUcontext context_;
  const int ordinal_;
  const bool is_primary_;  // we keep it
  bool is_of_primary_ = false;
  const Life life_;
  bool is_abandoned_ = false;
  std::array<Lane, 3> lanes_;  // to the host, from it, within
  CUstream idle_ = nullptr;    // holds nothing
  // Behind what the caller's default stream held: our lanes wait for it.
  CUevent fence_ = nullptr;
  std::uint64_t fence_number_ = 0;  // of its mark
  std::mutex marking_;              // of marks_, and held from counting a mark to putting it
  std::uint64_t marks_ = 0;         // put so far
  bool is_fence_ahead_ =
      false;                  // false: it was seen to have come, or there was nothing to wait for
  Unusable refusing_;         // works for calls whose fence or mark could not be recorded
  bool is_prepared_ = false;  // for calls in streams
  static constexpr std::size_t kSpare = std::size_t{1} << 20;
  CUdeviceptr spare_ = 0;  // of the lane within: between two layouts, and another GPU's operands
  types::CopyPace pace_;
  bool has_tried_ = false;  // to measure it
  Staging staging_;
  QueueRoom queues_;
  GpuScratch scratch_;
  Kernels kernels_;
  RunTables tables_;
  Rows rows_;
  std::vector<CUevent> events_;  // that no step has
  std::size_t made_events_ = 0;
  std::vector<std::string> told_;  // why work failed
  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<Job*> free_jobs_;
};

}  // namespace tutti::device::cuda
