// What `prun --check` finds on a host.
#include "daemon/examine.h"

#include <chrono>

#include "catch.h"

using namespace tutti::launch;

namespace {

const Finding* find(const Findings& findings, const std::string& what) {
  for (const Finding& one : findings.all)
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
    Examine wish;
    wish.head_clock_ms = now_ms() + apart_ms;
    const Findings findings = examine_host(wish);
    const Finding* clock = find(findings, "clock");
    REQUIRE(clock != nullptr);
    CHECK((clock->grade == kRemark) == (apart_ms != 0));
    CHECK(clock->cure.empty() == (apart_ms == 0));
    if (apart_ms != 0)  // of this host to the head
      CHECK((clock->text.front() == '-') == (apart_ms > 0));
  }
}
