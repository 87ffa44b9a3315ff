// What is made before streams of the user's may stand still, and else where it is first wanted.
#include <unistd.h>

#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "device/cuda/current.h"
#include "device/cuda/gpu.h"

namespace tutti::device::cuda {

Result<void> Gpu::prepare() {
  if (is_gone()) return check(CUDA_ERROR_CONTEXT_IS_DESTROYED, "a context");
  const Current current(driver_, context_);
  if (!staging_.is_open()) TUTTI_DO(open_staging());
  TUTTI_DO(take_spare());
  TUTTI_DO(queues_.open());
  TUTTI_DO(make_events());
  tables_.open();
  scratch_.prepare();
  TUTTI_DO(kernels_.load());
  if (!std::exchange(is_prepared_, true)) settle_kernels();  // of libraries that came before
  return {};
}

// A driver may let the first kernel after others were loaded wait for all streams of the context,
// until their local memory has grown (record 0086). Ours moves nothing; nothing is behind it.
void Gpu::settle_kernels() {
  constexpr std::int64_t kMost_ns = 100'000'000;
  if (!is_prepared_ || is_gone()) return;
  const Current current(driver_, context_);
  CUstream stream = nullptr;
  RowsParams params{};
  params.packs = params.unit = 1;
  bool has_ended = false;
  if (driver_.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS &&
      kernels_.rows(stream, params)) {
    const std::int64_t until_ns = now_ns() + kMost_ns;
    while (!has_ended && now_ns() < until_ns) {
      has_ended = driver_.cuStreamQuery(stream) != CUDA_ERROR_NOT_READY;
      if (!has_ended) ::usleep(50);
    }
  }
  if (stream != nullptr) driver_.cuStreamDestroy(stream);
  if (!has_ended)
    log::explain("GPU " + std::to_string(ordinal_) +
                 ": a kernel behind those that a library loaded did not end in 0.1 s");
}

Result<void> Gpu::make_event() {
  events_.reserve(made_events_ + 2);  // for this one, too, and the fence, when they come back
  CUevent event = nullptr;
  TUTTI_DO(check(driver_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "an event"));
  events_.push_back(event);
  ++made_events_;
  return {};
}

// As many as there are ever steps at once, and for so many threads that wait with a mark.
Result<void> Gpu::make_events() {
  constexpr std::size_t kThreads = 64;
  while (made_events_ < lanes_.size() * kMostInFlight + kThreads) TUTTI_DO(make_event());
  return {};
}

Result<CUevent> Gpu::take_event() {
  if (events_.empty()) TUTTI_DO(make_event());
  const CUevent event = events_.back();
  events_.pop_back();
  return event;
}

}  // namespace tutti::device::cuda
