// slice: sleeping with a short time slice, so that a wake-up need not wait for a neighbour's whole
// one.
//
// The kernel lets a thread that wakes take the core from one that runs if its own slice is shorter
// (Linux 6.12 and later; before, and where it may not be asked for, nothing happens). The share of
// the core that each gets is the same. It is asked for just before a sleep and given back just
// after it: so nothing that the program does, starts or asks the kernel for ever sees it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace tutti::transport {

// How the kernel schedules a thread (sched_setattr's first version).
struct Scheduling {
  std::uint32_t bytes = sizeof(Scheduling);
  std::uint32_t policy = 0;  // 0: the ordinary one
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t slice_ns = 0;  // 0: a kernel that has none for ordinary threads
  std::uint64_t deadline = 0, period = 0;
};
static_assert(sizeof(Scheduling) == 48);

// The calling thread's, in the kernel; in tests something else.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual bool read(Scheduling* out) = 0;
  virtual bool write(const Scheduling& wish) = 0;
};
std::unique_ptr<Scheduler> kernel_scheduler();

class ShortSlice {
 public:
  static constexpr std::uint64_t kSliceNs = 100'000;  // the kernel takes none that is shorter

  explicit ShortSlice(std::unique_ptr<Scheduler> scheduler) : scheduler_(std::move(scheduler)) {}
  // Both by the same thread, around its sleep.
  void take();
  void give_back();

 private:
  std::unique_ptr<Scheduler> scheduler_;
  bool works_ = true;            // as far as is known
  std::uint64_t before_ns_ = 0;  // 0: not taken
};

}  // namespace tutti::transport
