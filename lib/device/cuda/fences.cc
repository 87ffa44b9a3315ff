// What a caller gave the GPU before its call comes first: an event behind it in the default stream,
// unless that is idle.
#include <utility>

#include "device/cuda/current.h"
#include "device/cuda/gpu.h"

namespace tutti::device::cuda {

// Mostly the default stream is idle, and asking is quicker than an event.
//
// If that fails, so does the work that would have waited: the event would still stand for what an
// earlier call waited for.
void Gpu::begin_call() {
  fence_failure_ = CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (is_abandoned_) return;
  const Current current(driver_, context_);
  if (!current) return;
  fence_failure_ = driver_.query_default();
  const bool is_busy = fence_failure_ == CUDA_ERROR_NOT_READY;
  if (is_busy) fence_failure_ = driver_.record_default(fence_);
  set_fence(is_busy);
}

void Gpu::set_fence(bool is_ahead) {
  is_fence_ahead_ = is_ahead;
  for (Lane& lane : lanes_) lane.needs_fence = is_ahead;
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

bool Gpu::is_reached(Mark& mark) {
  if (is_abandoned_) mark.failure = CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (mark.failure == CUDA_SUCCESS) {
    const Current current(driver_, context_);
    const CUresult said = driver_.cuEventQuery(static_cast<CUevent>(mark.event));
    if (said == CUDA_ERROR_NOT_READY) return false;
    mark.failure = said;
  }
  if (mark.event != nullptr) events_.push_back(static_cast<CUevent>(mark.event));
  fence_failure_ = static_cast<CUresult>(mark.failure);  // the call begins, and waits for nothing
  return true;
}

// A call whose mark was put later may have begun before this one: then all wait for that mark
// still.
void Gpu::begin_marked_call(Mark& mark) {
  auto* const event = static_cast<CUevent>(mark.event);
  fence_failure_ = static_cast<CUresult>(mark.failure);
  if (mark.number < fence_number_) return events_.push_back(event);
  fence_number_ = mark.number;
  events_.push_back(std::exchange(fence_, event));
  set_fence(true);
}

bool Gpu::is_fence_reached() {
  if (fence_failure_ != CUDA_SUCCESS) return false;
  if (!is_fence_ahead_) return true;
  if (driver_.cuEventQuery(fence_) != CUDA_SUCCESS) return false;
  set_fence(false);
  return true;
}

bool Gpu::stands_behind_caller() {
  if (is_abandoned_ || fence_failure_ != CUDA_SUCCESS) return false;
  const Current current(driver_, context_);
  return !is_fence_reached();
}

Result<void> Gpu::await_fences(const Step& step) {
  constexpr const char* kMark = "an event in the caller's default stream";
  Lane& lane = *step.lane;
  const Job& job = *step.job;
  TUTTI_DO(check(fence_failure_, kMark));
  if (lane.needs_fence && !is_fence_reached())
    TUTTI_DO(check(driver_.cuStreamWaitEvent(lane.stream, fence_, 0), "a wait for the caller"));
  lane.needs_fence = false;
  if (job.what != What::copy || job.from.device == this || job.begun > 0) return {};
  const auto* const other = static_cast<const Gpu*>(job.from.device);
  TUTTI_DO(check(other->fence_failure_, kMark));
  if (!other->is_fence_ahead_) return {};
  return check(driver_.cuStreamWaitEvent(lane.stream, other->fence_, 0), "a wait for the caller");
}

}  // namespace tutti::device::cuda
