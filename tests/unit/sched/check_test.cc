// What the checker reports, on small schedules made by hand.
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

// Two ranks; each has one unit and wants the fold of both.
std::vector<Contract> both_want_both() {
  return {{{{0, 1, 0}}, {{}}, {{0, 2, 0}}}, {{{1, 2, 0}}, {{}}, {{0, 2, 0}}}};
}

Schedule exchange(int peer, bool received_first) {
  Builder b;
  b.copy(in(0, 1), out(0, 1));
  b.send(out(0, 1), peer);
  b.recv_reduce(out(0, 1), peer, received_first);
  return b.finish();
}

std::string report(const std::vector<Schedule>& ranks, const std::vector<Contract>& contracts) {
  const auto checked = check(ranks, contracts, 1);
  return checked ? "" : checked.error().text;
}

bool mentions(const std::string& text, const char* part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an exchange in rank order is right", "[sched][check]") {
  CHECK(report({exchange(1, false), exchange(0, true)}, both_want_both()) == "");
}

TEST_CASE("a wrong order is seen, unless order does not matter", "[sched][check]") {
  const std::vector<Schedule> ranks{exchange(1, true), exchange(0, true)};
  auto contracts = both_want_both();
  CHECK(mentions(report(ranks, contracts), "wrong order"));
  for (Contract& contract : contracts) contract.ordered = false;
  CHECK(report(ranks, contracts) == "");
}

TEST_CASE("ranks that wait for ever are named", "[sched][check]") {
  Builder lonely;
  lonely.recv(out(0, 1), 1);
  const auto text = report({lonely.finish(), Schedule{}}, {{{}, {{}}, {}}, {{}, {}, {}}});
  CHECK(mentions(text, "rank 0, step 0"));
  CHECK(mentions(text, "for ever"));
}

TEST_CASE("sends that wait for each other's receive are stuck", "[sched][check]") {
  // Each sends from where it receives: the receive waits for the send, the send for its taker.
  const auto ring = [](int peer) {
    Builder b;
    b.send(out(0, 1), peer);
    b.recv(out(0, 1), peer);
    return b.finish();
  };
  const std::vector<Contract> contracts{{{}, {{0, 1, 0}}, {{1, 2, 0}}},
                                        {{}, {{1, 2, 0}}, {{0, 1, 0}}}};
  CHECK(mentions(report({ring(1), ring(0)}, contracts), "for ever"));
}

TEST_CASE("lengths that differ are reported with both numbers", "[sched][check]") {
  Builder a;
  a.send(in(0, 2), 1);
  Builder b;
  b.recv(out(0, 1), 0);
  const auto text =
      report({a.finish(), b.finish()}, {{{{0, 1, 0}, {0, 1, 1}}, {}, {}}, {{}, {{}}, {}}});
  CHECK(mentions(text, "sends 2 units"));
}

TEST_CASE("undefined units are not sent, copied or folded", "[sched][check]") {
  const auto alone = [](auto write) {
    Builder b;
    write(b);
    return report({b.finish()}, {{{}, {{}, {}}, {}}});
  };
  CHECK(mentions(alone([](Builder& b) { b.copy(out(0, 1), out(1, 1)); }), "undefined"));
  CHECK(mentions(alone([](Builder& b) { b.reduce(out(0, 1), out(1, 1)); }), "undefined"));
}

TEST_CASE("a result that never comes is undefined at the end", "[sched][check]") {
  CHECK(mentions(report({Schedule{}}, {{{}, {{}}, {{0, 1, 0}}}}), "undefined at the end"));
}

TEST_CASE("a contribution counted twice is seen", "[sched][check]") {
  Builder b;
  b.reduce(in(0, 1), out(0, 1));
  CHECK(mentions(report({b.finish()}, {{{{0, 1, 0}}, {{0, 1, 0}}, {{0, 1, 0}}}}),
                 "2 contributions instead of 1"));
}

TEST_CASE("steps outside their space or the team are refused", "[sched][check]") {
  Builder a;
  a.copy(in(0, 2), out(0, 2));
  CHECK(mentions(report({a.finish()}, {{{{0, 1, 0}}, {{}, {}}, {}}}), "outside its space"));
  Builder b;
  b.send(in(0, 1), 3);
  CHECK(mentions(report({b.finish()}, {{{{0, 1, 0}}, {}, {}}}), "outside the team"));
}

TEST_CASE("conflicting steps that no edge orders are seen in every run", "[sched][check]") {
  Builder b;
  b.copy(in(0, 1), out(0, 1));
  Schedule schedule = b.finish();
  Step again = schedule.steps[0];
  schedule.steps.push_back(again);
  CHECK(mentions(report({schedule}, {{{{0, 1, 0}}, {{}}, {{0, 1, 0}}}}), "nothing orders"));
}

TEST_CASE("a barrier that forgets a rank is seen", "[sched][check]") {
  // A circle of three where each only hears from its left neighbour.
  std::vector<Schedule> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    Builder b;
    const Slice token = b.scratch(2);
    b.send(token.part(0, 1), (rank + 1) % 3);
    b.recv(token.part(1, 1), (rank + 2) % 3);
    ranks.push_back(b.finish());
  }
  Contract barrier;
  barrier.barrier = true;
  CHECK(mentions(report(ranks, {barrier, barrier, barrier}), "without having heard of rank"));
}
