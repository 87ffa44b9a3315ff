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
  CHECK(to_text(b.finish()) ==
        "schedule scratch 0 reduces 1\n"
        "0 send in 0 3 to 1\n"
        "1 send in 3 3 to 1\n"
        "2 send in 6 1 to 1\n"
        "3 recv out 0 3 from 2 then 4\n"
        "4 reduce in 0 3 second into out 0 3\n"
        "5 recv out 3 3 from 2 then 6\n"
        "6 reduce in 3 3 second into out 3 3\n"
        "7 recv out 6 1 from 2 then 8\n"
        "8 reduce in 6 1 second into out 6 1\n");
}
