// What `prun --check` finds on a host.
#include "daemon/examine.h"

#include <chrono>

#include "catch.h"

using namespace tutti::launch;
using namespace tutti::launch::daemon;

namespace {

const control::Finding* find(const control::Findings& findings, const std::string& what) {
  for (const control::Finding& one : findings.all)
    if (one.what == what) return &one;
  return nullptr;
}

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

TEST_CASE("clocks that are apart are told, in both directions, with a cure", "[examine]") {
  for (const std::int64_t apart_ms : {-90'000, 0, 90'000}) {
    control::Examine wish;
    wish.head_clock_ms = now_ms() + apart_ms;
    const control::Findings findings = examine_host(wish, {});
    const control::Finding* clock = find(findings, "clock");
    REQUIRE(clock != nullptr);
    CHECK((clock->grade == control::kRemark) == (apart_ms != 0));
    CHECK(clock->cure.empty() == (apart_ms == 0));
    if (apart_ms != 0)  // of this host to the head
      CHECK((clock->text.front() == '-') == (apart_ms > 0));
  }
}
