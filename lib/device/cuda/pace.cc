// What this GPU takes for copies to the host, measured once: before host memory is first gone
// through. Copies from the host are not timed, and take chunks of the same length.
#include "device/cuda/pace.h"

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/log.h"
#include "device/cuda/current.h"
#include "device/cuda/gpu.h"

namespace tutti::device::cuda {
namespace {

constexpr int kRounds = 3;  // the quickest counts
static_assert(kChunks.back() <= Staging::kMostChunk);

// A stream for that.
class CopyTiming {
 public:
  explicit CopyTiming(const Driver& driver) : driver_(driver) {
    int least = 0, greatest = 0;
    if (driver_.cuCtxGetStreamPriorityRange(&least, &greatest) != CUDA_SUCCESS ||
        driver_.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, greatest) !=
            CUDA_SUCCESS)
      stream_ = nullptr;
  }
  ~CopyTiming() {
    if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
  }
  CopyTiming(const CopyTiming&) = delete;
  CopyTiming& operator=(const CopyTiming&) = delete;
  // 0: the driver refused.
  std::int64_t copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) const {
    std::int64_t best = 0;
    for (int round = 0; round < kRounds; ++round) {
      const std::int64_t began = now_ns();
      if (stream_ == nullptr || driver_.cuMemcpyAsync(to, from, bytes, stream_) != CUDA_SUCCESS ||
          driver_.cuStreamSynchronize(stream_) != CUDA_SUCCESS)
        return 0;
      const std::int64_t took = std::max<std::int64_t>(now_ns() - began, 1);
      best = best == 0 ? took : std::min(best, took);
    }
    return best;
  }

 private:
  const Driver& driver_;
  CUstream stream_ = nullptr;
};

}  // namespace

std::size_t chunk_by(const std::array<std::int64_t, kChunks.size()>& took) {
  constexpr double kNearly = 0.9;
  const auto rate = [&](std::size_t i) {  // bytes a ns
    return static_cast<double>(kChunks[i]) / static_cast<double>(took[i]);
  };
  double best = 0;
  for (std::size_t i = 0; i < kChunks.size(); ++i) best = std::max(best, rate(i));
  std::size_t shortest = 0;
  while (rate(shortest) < kNearly * best) ++shortest;
  return kChunks[shortest];
}

Result<void> Gpu::take_spare() {
  if (spare_ != 0) return {};
  return check(driver_.cuMemAlloc(&spare_, kSpare), "cuMemAlloc of 1 MiB");
}

// Where nothing can be measured the usual figures stand.
Result<void> Gpu::measure() {
  TUTTI_DO(take_spare());
  const CopyTiming timing(driver_);
  const auto host = reinterpret_cast<CUdeviceptr>(staging_.memory());
  std::array<std::int64_t, kChunks.size()> took{};
  for (std::size_t i = 0; i < kChunks.size(); ++i) {
    took[i] = timing.copy(host, spare_, kChunks[i]);
    if (took[i] == 0) return {};
  }
  pace_.chunk = chunk_by(took);
  if (log::explains())
    log::explain("GPU " + std::to_string(ordinal_) + " copies to the host in chunks of " +
                 std::to_string(pace_.chunk >> 10) + " KiB");
  return {};
}

Result<void> Gpu::open_staging() {
  const Current current(driver_, context_);
  TUTTI_DO(staging_.open());
  if (const auto measured = measure(); !measured && log::explains())
    log::explain("GPU " + std::to_string(ordinal_) +
                 ": nothing was measured: " + measured.error().text);
  staging_.cut(pace_.chunk);
  return {};
}

types::CopyPace Gpu::pace() {
  if (!staging_.is_open() && !has_tried_) {
    has_tried_ = true;
    if (const auto opened = open_staging(); !opened && log::explains())
      log::explain("GPU " + std::to_string(ordinal_) + ": " + opened.error().text);
  }
  return pace_;
}

}  // namespace tutti::device::cuda
