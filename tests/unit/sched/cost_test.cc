// The simulated machine, on schedules whose time is easy to work out.
#include "catch.h"
#include "sched/sched.h"

using namespace tutti::sched;

namespace {

Slice in(Count offset, Count count) {
  return {Space::in, offset, count};
}
Slice out(Count offset, Count count) {
  return {Space::out, offset, count};
}

MachineModel simple() {
  MachineModel machine;
  machine.inside_latency_us = 1;
  machine.inside_us_per_unit = 0.5;
  machine.between_latency_us = 10;
  machine.between_us_per_unit = 2;
  machine.fold_us_per_unit = 0.25;
  machine.copy_us_per_unit = 0.1;
  machine.gap_share = 0.25;
  return machine;
}

std::vector<Schedule> one_message(Count count) {
  Builder a;
  a.send(in(0, count), 1);
  Builder b;
  b.recv(out(0, count), 0);
  std::vector<Schedule> ranks;
  ranks.push_back(a.finish());
  ranks.push_back(b.finish());
  return ranks;
}

double time_of(const std::vector<Schedule>& ranks, const MachineModel& machine) {
  const auto line = cost(ranks, machine);
  REQUIRE(line);
  return line->total_us;
}

}  // namespace

TEST_CASE("a message takes latency and bytes of its link", "[sched][cost]") {
  MachineModel machine = simple();
  CHECK(time_of(one_message(8), machine) == Approx(1 + 8 * 0.5));
  const std::vector<int> apart{0, 1};
  machine.host_of = apart;
  CHECK(time_of(one_message(8), machine) == Approx(10 + 8 * 2.0));
}

TEST_CASE("each message keeps its ports busy for a share of the latency", "[sched][cost]") {
  Builder a, b;
  for (Count i = 0; i < 3; ++i) {
    a.send(in(8 * i, 8), 1);
    b.recv(out(8 * i, 8), 0);
  }
  std::vector<Schedule> ranks;
  ranks.push_back(a.finish());
  ranks.push_back(b.finish());
  MachineModel machine = simple();
  CHECK(time_of(ranks, machine) == Approx(1 + 3 * 8 * 0.5 + 2 * 0.25));
  machine.gap_share = 0;
  CHECK(time_of(ranks, machine) == Approx(1 + 3 * 8 * 0.5));
}

TEST_CASE("a fold runs after its message, on its rank's processor", "[sched][cost]") {
  Builder a;
  a.send(in(0, 8), 1);
  Builder b;
  b.copy(in(0, 8), out(0, 8));
  b.recv_reduce(out(0, 8), 0);
  std::vector<Schedule> ranks;
  ranks.push_back(a.finish());
  ranks.push_back(b.finish());
  CHECK(time_of(ranks, simple()) == Approx(1 + 8 * 0.5 + 8 * 0.25));
}

TEST_CASE("messages out of one port go one after another", "[sched][cost]") {
  Builder root;
  root.send(in(0, 100), 1);
  root.send(in(0, 100), 2);
  std::vector<Schedule> ranks;
  ranks.push_back(root.finish());
  for (int rank = 1; rank <= 2; ++rank) {
    Builder leaf;
    leaf.recv(out(0, 100), 0);
    ranks.push_back(leaf.finish());
  }
  const double time = time_of(ranks, simple());
  CHECK(time > 2 * 100 * 0.5);
  CHECK(time < 2 * 100 * 0.5 + 3);
}

TEST_CASE("a chain in segments is quicker than whole messages", "[sched][cost]") {
  const auto chain = [](Count segment) {
    std::vector<Schedule> ranks;
    for (int rank = 0; rank < 6; ++rank) {
      Builder b(segment);
      if (rank > 0) b.recv(out(0, 1000), rank - 1);
      if (rank < 5) b.send(rank == 0 ? in(0, 1000) : out(0, 1000), rank + 1);
      ranks.push_back(b.finish());
    }
    return ranks;
  };
  CHECK(time_of(chain(50), simple()) * 2 < time_of(chain(0), simple()));
}

TEST_CASE("schedules that never end have no cost", "[sched][cost]") {
  Builder b;
  b.recv(out(0, 1), 1);
  std::vector<Schedule> ranks;
  ranks.push_back(b.finish());
  ranks.emplace_back();
  CHECK_FALSE(cost(ranks, simple()));
}

TEST_CASE("a picture has a lane a rank and an arrow a message", "[sched][draw]") {
  const auto picture = draw(one_message(4), simple(), "a < b");
  REQUIRE(picture);
  CHECK(picture->find("<svg") == 0);
  CHECK(picture->find("rank 1") != std::string::npos);
  CHECK(picture->find("4 units from rank 0 to rank 1") != std::string::npos);
  CHECK(picture->find("a &lt; b") != std::string::npos);
  CHECK(picture->find("nan") == std::string::npos);
}
