// sched_getattr and sched_setattr, for which libraries of the C language have no names yet.
#include "transport/slice.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace tutti::transport {
namespace {

constexpr std::uint32_t kOrdinary = 0;  // SCHED_OTHER

class LinuxScheduler final : public Scheduler {
 public:
  bool read(Scheduling* out) override {
    return ::syscall(SYS_sched_getattr, 0, out, sizeof *out, 0) == 0;
  }
  bool write(const Scheduling& wish) override {
    return ::syscall(SYS_sched_setattr, 0, &wish, 0) == 0;
  }
};

}  // namespace

std::unique_ptr<Scheduler> kernel_scheduler() {
  return std::make_unique<LinuxScheduler>();
}

void ShortSlice::take() {
  Scheduling now;
  if (!works_ || !scheduler_->read(&now) || now.policy != kOrdinary) return;
  if (now.slice_ns != 0 && now.slice_ns <= kSliceNs) return;  // the program's own wish
  before_ns_ = now.slice_ns;
  now.slice_ns = kSliceNs;
  works_ = before_ns_ != 0 && scheduler_->write(now);
  if (!works_) before_ns_ = 0;
}

// Read anew, since others may have changed something else of it meanwhile (renice).
void ShortSlice::give_back() {
  if (before_ns_ == 0) return;
  Scheduling now;
  if (scheduler_->read(&now) && now.policy == kOrdinary && now.slice_ns == kSliceNs) {
    now.slice_ns = before_ns_;
    scheduler_->write(now);
  }
  before_ns_ = 0;
}

}  // namespace tutti::transport
