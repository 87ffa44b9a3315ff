// Schedules as text and back.
#include "catch.h"
#include "sched/sched.h"

using namespace tutti::sched;

namespace {

Schedule example() {
  Builder b(3);
  const Slice data{Space::out, 0, 7};
  b.copy({Space::in, 0, 7}, data);
  b.send(data, 1);
  b.recv_reduce(data, 1, false);
  b.recv_reduce(data, 2, true);
  b.send(data.part(1, 4), 2);
  return b.finish();
}

std::string refusal(const std::string& text) {
  const auto loaded = from_text(text);
  REQUIRE_FALSE(loaded);
  return loaded.error().text;
}

}  // namespace

TEST_CASE("a dumped schedule loads back equal", "[sched][text]") {
  const Schedule schedule = example();
  const auto loaded = from_text(to_text(schedule));
  REQUIRE(loaded);
  CHECK(*loaded == schedule);
}

TEST_CASE("a line that does not fit is named with its number", "[sched][text]") {
  CHECK(refusal("schedule scratch 0 reduces 0\n0 send in 0 4 from 1\n").find("line 2") !=
        std::string::npos);
  CHECK(refusal("schedule scratch x reduces 0\n").find("'x'") != std::string::npos);
  CHECK(refusal("schedule scratch 0 reduces 0\n0 jump in 0 4\n").find("'jump'") !=
        std::string::npos);
  CHECK(refusal("schedule scratch 0 reduces 0\n1 send in 0 4 to 1\n").find("step 0 expected") !=
        std::string::npos);
}

TEST_CASE("an edge to an earlier or missing step is refused", "[sched][text]") {
  CHECK(refusal("schedule scratch 0 reduces 0\n0 send in 0 4 to 1 then 0\n").find("later") !=
        std::string::npos);
  CHECK(refusal("schedule scratch 0 reduces 0\n0 send in 0 4 to 1 then 7\n").find("step 7") !=
        std::string::npos);
}
