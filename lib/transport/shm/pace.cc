// Timing stretches of long frames, and the copy that passes the caches by.
#include "transport/shm/pace.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tutti::transport::shm {
namespace {

// Streaming stores go to memory and back: below this gain a payload is not worth the trip.
constexpr double kTripNs = 1000;
constexpr int kTryAgainAfter = 64;  // stretches, times the square of the gain
constexpr int kTryAgainAtMost = 4096;

}  // namespace

void Pace::stream_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__SSE2__)
  const std::size_t lines = bytes / 64;
  for (std::size_t i = 0; i < lines; ++i, to += 64, from += 64) {
    const auto* source = reinterpret_cast<const __m128i*>(from);
    auto* target = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(source);
    const __m128i b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2);
    const __m128i d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  std::memcpy(to, from, bytes % 64);
  _mm_sfence();  // streaming stores are not ordered by the release that follows
#else
  std::memcpy(to, from, bytes);
#endif
}

void Pace::begin_stretch() {
  began_ns_ = now_ns();
}

void Pace::end_stretch() {
  const std::int64_t now = now_ns();
  const auto took = static_cast<double>(std::max<std::int64_t>(1, now - began_ns_));
  const double rate = static_cast<double>(longest_) * kStretch / took;
  double& known = rate_[streams_longest_ ? 1 : 0];
  const bool fell = rate < known / 2;
  // A stretch is slow for many reasons (the reader is elsewhere), fast for one only.
  known = rate > known ? rate : known * 0.75 + rate * 0.25;
  if (fell) stretches_left_ = std::min(stretches_left_, 8);
  choose();
  frames_ = 1;
  began_ns_ = now;
}

void Pace::choose() {
#if defined(__SSE2__)
  const bool better_streams = rate_[1] > rate_[0];
  if (rate_[1] == 0) {  // not tried yet
    streams_longest_ = tries_ = true;
    return;
  }
  const double gain = better_streams ? rate_[1] / rate_[0] : rate_[0] / rate_[1];
  if (tries_ || stretches_left_ == 0) {
    const double wait = kTryAgainAfter * gain * gain;
    stretches_left_ = wait < kTryAgainAtMost ? static_cast<int>(wait) : kTryAgainAtMost;
    tries_ = !tries_;
  } else {
    --stretches_left_;
  }
  streams_longest_ = better_streams != tries_;
  const double saved_per_byte = better_streams ? 1 / rate_[0] - 1 / rate_[1] : 0;
  streams_from_ = saved_per_byte * static_cast<double>(longest_) > kTripNs
                      ? static_cast<std::size_t>(kTripNs / saved_per_byte)
                      : std::numeric_limits<std::size_t>::max();
#endif
}

}  // namespace tutti::transport::shm
