// What a caller gave the GPU before its call comes first: an event behind it in the default stream,
// unless that is idle. Work for the call is held until that event has come, here and not in a lane:
// what is for an earlier call passes it.
#include <utility>

#include "device/cuda/current.h"
#include "device/cuda/gpu.h"

namespace tutti::device::cuda {

// Mostly the default stream is idle, and asking is quicker than an event.
types::Device* Gpu::begin_call(std::uint64_t call) {
  if (is_abandoned_) return refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED);
  const Current current(driver_, context_);
  if (!current) return refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED);
  const CUresult said = driver_.query_default();
  if (said == CUDA_SUCCESS) return this;
  if (said != CUDA_ERROR_NOT_READY) return refuse(said);
  const auto event = take_event();
  if (!event) return refuse(CUDA_ERROR_OUT_OF_MEMORY);
  Mark mark{*event, CUDA_SUCCESS};
  put_mark(mark);
  if (mark.failure == CUDA_SUCCESS) return begin_marked_call(mark, call);
  events_.push_back(*event);
  return refuse(static_cast<CUresult>(mark.failure));
}

// This call alone: what others asked for, or ask for next, waits for no mark of its.
types::Device* Gpu::refuse(CUresult said) {
  tell("a wait for the caller", "an event in its default stream: " + driver_.text_of(said));
  refusing_.ordinal = ordinal_;
  refusing_.code = Code::other;
  return &refusing_;
}

types::Device::Mark Gpu::take_mark() {
  const Mark none{nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED};
  if (is_gone()) return none;
  const Current current(driver_, context_);
  const auto event = take_event();
  return event ? Mark{*event, CUDA_SUCCESS} : none;
}

void Gpu::put_mark(Mark& mark) {
  if (mark.failure != CUDA_SUCCESS) return;
  const Current current(driver_, context_);
  const std::scoped_lock hold(marking_);
  mark.number = ++marks_;
  mark.failure = driver_.record_default(static_cast<CUevent>(mark.event));
}

bool Gpu::give_back_if_reached(Mark& mark) {
  if (is_abandoned_) mark.failure = CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (mark.failure == CUDA_SUCCESS) {
    const Current current(driver_, context_);
    const CUresult said = driver_.cuEventQuery(static_cast<CUevent>(mark.event));
    if (said == CUDA_ERROR_NOT_READY) return false;
    mark.failure = said;
  }
  if (mark.event != nullptr) events_.push_back(static_cast<CUevent>(mark.event));
  return true;
}

// It waits for nothing.
types::Device* Gpu::begin_reached_call(const Mark& mark) {
  return mark.failure == CUDA_SUCCESS ? this : refuse(static_cast<CUresult>(mark.failure));
}

// A call whose mark was put later may have begun before this one: then this one waits for that
// mark, too.
types::Device* Gpu::begin_marked_call(Mark& mark, std::uint64_t call) {
  auto* const event = static_cast<CUevent>(mark.event);
  if (!fences_.empty() && mark.number < fences_.back().mark) {
    events_.push_back(event);
  } else if (fences_.size() < kMostFences) {
    fences_.push_back({call, mark.number, event});
  } else {
    events_.push_back(std::exchange(fences_.back().event, event));
    fences_.back().mark = mark.number;
  }
  return this;
}

// An event that cannot be asked for is asked for again, unless the GPU is lost: then what waits for
// it fails by itself.
void Gpu::ask_fences() {
  if (fences_.empty()) return;
  const Current current(driver_, context_);
  while (!fences_.empty()) {
    const CUresult said = driver_.cuEventQuery(fences_.front().event);
    if (said != CUDA_SUCCESS && (said == CUDA_ERROR_NOT_READY || !is_lost())) return;
    events_.push_back(fences_.front().event);
    fences_.pop_front();
  }
}

bool Gpu::stands_behind_caller() {
  if (is_abandoned_) return false;
  ask_fences();
  return !fences_.empty();
}

// A copy from another GPU comes after what both were given.
bool Gpu::is_behind(const Job& job) const {
  if (!fences_.empty() && fences_.front().call <= job.call) return true;
  if (job.what != What::copy || job.from.device == this) return false;
  auto* const other = static_cast<Gpu*>(job.from.device);
  other->ask_fences();
  return !other->fences_.empty() && other->fences_.front().call <= job.call;
}

void Gpu::begin(Job* job) {
  if (is_abandoned_) {
    fail_job(*job, driver_.text_of(CUDA_ERROR_CONTEXT_IS_DESTROYED));
    end_job(job);
    return;
  }
  const Current current(driver_, context_);
  ask_fences();
  if (is_behind(*job)) {
    held_.push_back(job);
    return;
  }
  if (job->what == What::wait) {
    end_job(job);
    return;
  }
  Lane& lane = lane_of(job->what);
  job->is_waiting = true;
  lane.waiting.push_back(job);
  pump(lane);
}

// In the order in which they were asked for. Their ends may ask for more, or abandon the GPU.
int Gpu::begin_held() {
  if (held_.empty()) return 0;
  ask_fences();
  std::vector<Job*> free;
  std::erase_if(held_, [&](Job* job) {
    if (is_behind(*job)) return false;
    free.push_back(job);
    return true;
  });
  for (Job* job : free) begin(job);
  return static_cast<int>(free.size());
}

}  // namespace tutti::device::cuda
