// Measured on machines of two to four cores; the wire's rate bounds what a link is said to carry.
#include "model/costs.h"

#include <algorithm>
#include <iterator>

namespace tutti::model {
namespace {

struct Row {
  std::string_view kind;
  double latency_us;
  double gigabytes;       // a second, where the wire's rate is not known
  double most_gigabytes;  // a second, on any wire: what one core moves
};

constexpr Row kRows[] = {
    {"tcp", 15, 1.2, 4}, {"rdma", 2, 10, 50}, {"shm", 0.12, 40, 40}, {"self", 0.05, 50, 50}};

constexpr double kFoldGigabytes = 10;
constexpr double kBitsPerByte = 8;

}  // namespace

LinkClass cost_of_link(std::string_view kind, double wire_gbits) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& each) { return each.kind == kind; });
  if (row == std::end(kRows)) row = kRows;
  const double rate =
      wire_gbits > 0 ? std::min(wire_gbits / kBitsPerByte, row->most_gigabytes) : row->gigabytes;
  return {row->latency_us, 1e-3 / rate};
}

double cost_of_fold() {
  return 1e-3 / kFoldGigabytes;
}

}  // namespace tutti::model
