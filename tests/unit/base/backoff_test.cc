// Backoff: the phases follow each other, and begin anew. The clock is asked, never judged: phases
// last no time at all, or longer than any test.
#include "base/backoff.h"

#include "catch.h"

using tutti::Backoff;
using Next = tutti::Backoff::Next;

namespace {

constexpr std::int64_t kForEver_ns = std::int64_t{1} << 60;

void expect(Backoff& backoff, Next what, int times) {
  for (int i = 0; i < times; ++i) {
    INFO("the " << i << "th of " << times);
    REQUIRE(backoff.next() == what);
  }
}

}  // namespace

TEST_CASE("who waits looks at least so often before the clock is asked", "[backoff]") {
  Backoff backoff({0, 0, 8});
  expect(backoff, Next::look, 8);
  CHECK(backoff.read_ns() == 0);  // it was not
  backoff.restart();
  for (int i = 0; i < 3; ++i) {
    expect(backoff, Next::look, 8);
    expect(backoff, Next::sleep, 100);
    CHECK(backoff.sleeps() == 100);
    CHECK(backoff.read_ns() != 0);
    backoff.restart();
  }
}

TEST_CASE("who waits gives up the core, and then sleeps", "[backoff]") {
  Backoff yields({0, kForEver_ns, 2});
  expect(yields, Next::look, 2);
  expect(yields, Next::yield, 1000);
  CHECK(yields.sleeps() == 0);
  yields.change({0, 0, 2});
  expect(yields, Next::sleep, 10);
  CHECK(yields.sleeps() == 10);
  yields.restart();
  expect(yields, Next::look, 2);
}

TEST_CASE("who looks for ever never sleeps", "[backoff]") {
  Backoff backoff({kForEver_ns, kForEver_ns, 4});
  expect(backoff, Next::look, 100'000);
  CHECK(backoff.read_ns() != 0);  // the clock was asked
}
