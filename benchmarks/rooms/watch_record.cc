// What the watch record costs a call: entering, saying what it is about, leaving; and the same
// with a recorder (--stats, --trace).
//
// An upper bound of what an 8 B message pays: here the stores and nothing else are timed, one
// after the other, while in a call they fill gaps. Half a round trip has one send and one receive.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/clock.h"
#include "watch/recorder.h"
#include "watch/watch.h"

using namespace tutti;

namespace {

constexpr int kCalls = 1'000'000;
constexpr int kTimes = 31;

// The loop itself is not to be optimised away, nor its stores merged.
inline void settle() {
  asm volatile("" ::: "memory");
}

template <class Body>
double ns_per_call(Body body) {
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    const std::int64_t began = now_ns();
    for (int k = 0; k < kCalls; ++k) {
      body(k);
      settle();
    }
    times.push_back(static_cast<double>(now_ns() - began) / kCalls);
  }
  std::sort(times.begin(), times.end());
  return times[kTimes / 2];
}

}  // namespace

int main() {
  alignas(64) static wireup::WatchRecord record{};
  watch::Recorder calls(record, false, [](bool, std::string_view) {});
  watch::Recorder events(record, true, [](bool, std::string_view) {});
  const auto about = [](int k) { watch::detail(record, {0, 1, k, 8, 0}); };
  const double nothing = ns_per_call([](int) {});
  const double entered = ns_per_call([](int) { const watch::Scope scope(record, 7); });
  const double detailed = ns_per_call([about](int k) {
    const watch::Scope scope(record, 7);
    about(k);
  });
  const auto recorded = [about](watch::Recorder& recorder) {
    return ns_per_call([about, &recorder](int k) {
      const watch::Scope scope(record, 7);
      const std::int64_t began = now_ns();
      about(k);
      recorder.end(7, began);
    });
  };
  std::printf("ns per call, median of %d times %d calls\n", kTimes, kCalls);
  std::printf("  %-44s %6.2f\n", "record: enter and leave", entered - nothing);
  std::printf("  %-44s %6.2f\n", "record: enter, what it is about, leave", detailed - nothing);
  std::printf("  %-44s %6.2f\n", "the same with --stats", recorded(calls) - nothing);
  std::printf("  %-44s %6.2f\n", "the same with --trace", recorded(events) - nothing);
  return 0;
}
