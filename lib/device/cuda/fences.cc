// What a caller gave the GPU before its call comes first: an event behind it in the default stream,
// unless that is idle.
#include <utility>

#include "device/cuda/current.h"
#include "device/cuda/gpu.h"

namespace tutti::device::cuda {

// Mostly the default stream is idle, and asking is quicker than an event. If that fails the event
// still stands for what earlier calls wait for.
types::Device* Gpu::begin_call() {
  if (is_abandoned_) return refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED);
  const Current current(driver_, context_);
  if (!current) return refuse(CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CUresult said = driver_.query_default();
  const bool is_busy = said == CUDA_ERROR_NOT_READY;
  if (is_busy) said = driver_.record_default(fence_);
  if (said != CUDA_SUCCESS) return refuse(said);
  set_fence(is_busy);
  return this;
}

// This call alone: what others asked for, or ask for next, waits for no mark of its.
types::Device* Gpu::refuse(CUresult said) {
  tell("a wait for the caller", "an event in its default stream: " + driver_.text_of(said));
  refusing_.ordinal = ordinal_;
  refusing_.code = Code::other;
  return &refusing_;
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

// A call whose mark was put later may have begun before this one: then all wait for that mark
// still.
types::Device* Gpu::begin_marked_call(Mark& mark) {
  auto* const event = static_cast<CUevent>(mark.event);
  if (mark.number < fence_number_) {
    events_.push_back(event);
    return this;
  }
  fence_number_ = mark.number;
  events_.push_back(std::exchange(fence_, event));
  set_fence(true);
  return this;
}

bool Gpu::ask_fence() {
  if (!is_fence_ahead_) return true;
  if (driver_.cuEventQuery(fence_) != CUDA_SUCCESS) return false;
  set_fence(false);
  return true;
}

bool Gpu::stands_behind_caller() {
  if (is_abandoned_) return false;
  const Current current(driver_, context_);
  return !ask_fence();
}

Result<void> Gpu::await_fences(const Step& step) {
  Lane& lane = *step.lane;
  const Job& job = *step.job;
  if (lane.needs_fence && !ask_fence())
    TUTTI_DO(check(driver_.cuStreamWaitEvent(lane.stream, fence_, 0), "a wait for the caller"));
  lane.needs_fence = false;
  if (!reads_another(job) || job.begun > 0) return {};
  const auto* const other = static_cast<const Gpu*>(job.from.device);
  if (!other->is_fence_ahead_) return {};
  return check(driver_.cuStreamWaitEvent(lane.stream, other->fence_, 0), "a wait for the caller");
}

}  // namespace tutti::device::cuda
