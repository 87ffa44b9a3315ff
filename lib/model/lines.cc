// Closed forms of meetings by lines.
#include "model/lines.h"

#include <algorithm>
#include <vector>

namespace tutti::model {
namespace {

// One exchange of a line: on an EPYC between cores that share a last-level cache, and that do not
// (record 0048); between packages it is assumed.
constexpr double kSharedUs = 0.08;
constexpr double kApartUs = 0.28;
constexpr double kPackagesUs = 0.5;
// Who looks at many lines waits for them together: each adds this share of its exchange to the
// longest one's (64 lines took 0.46 us where one took 0.14: 0.036).
constexpr double kTogether = 0.05;

class Scan {
 public:
  void hear(double line) {
    sum_ += line;
    longest_ = std::max(longest_, line);
  }
  double us() const { return longest_ + kTogether * (sum_ - longest_); }

 private:
  double sum_ = 0, longest_ = 0;
};

}  // namespace

double line_us(const BoundAt& one, const BoundAt& other) {
  if (one.package != other.package) return kPackagesUs;
  return one.cache == other.cache ? kSharedUs : kApartUs;
}

double meeting_us(std::span<const BoundAt> places, std::span<const int> above) {
  const std::size_t size = places.size();
  std::vector<Scan> scans(size);
  std::vector<double> begins(size);  // when the last of those below has spoken
  std::vector<std::size_t> tops;
  double all_spoken = 0;
  for (std::size_t m = size; m-- > 0;) {  // whoever hears a member stands before it
    const double speaks = begins[m] + scans[m].us();
    if (above[m] < 0) {
      tops.push_back(m);
      all_spoken = std::max(all_spoken, speaks);
      continue;
    }
    const auto to = static_cast<std::size_t>(above[m]);
    scans[to].hear(line_us(places[m], places[to]));
    begins[to] = std::max(begins[to], speaks);
  }
  double last = 0;
  for (std::size_t m = 0; m < size; ++m) {
    Scan scan;
    for (const std::size_t top : tops)
      if (top != m) scan.hear(line_us(places[m], places[top]));
    last = std::max(last, scan.us());
  }
  return all_spoken + last;
}

}  // namespace tutti::model
