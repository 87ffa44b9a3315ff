// Schedules as text.
#include "catch.h"
#include "sched/sched.h"

using namespace tutti::sched;

TEST_CASE("a schedule is dumped a step a line, with the steps that follow", "[sched][text]") {
  Builder b(3);
  const Slice data{Space::out, 0, 7};
  b.copy({Space::in, 0, 7}, data);
  b.send(data, 1);
  b.recv_reduce(data, 2, true);
  CHECK(to_text(b.finish()) == "?");
}
