// What daemons say of their ranks' calls is compared.
#include "job/observation.h"

#include <cstring>

#include "catch.h"
#include "watch/calls.h"
#include "wireup/protocol.h"

using namespace tutti;
using namespace tutti::launch;
using namespace tutti::launch::job;

namespace {

constexpr int kRanks = 2;

// A job of two ranks that runs.
struct Watched {
  control::Loop loop;
  JobRequest request;
  Course course;
  control::Terminal terminal{loop, [](int, int) {}};
  int mismatches = 0;
  std::vector<control::Look> asked;
  std::set<int> hosts{0};
  Observation observation{loop,
                          request,
                          course,
                          terminal,
                          {[this](const control::Look& look) {
                             asked.push_back(look);
                             return hosts;
                           },
                           [](int) { return false; }, [] {}, [] { return true; },
                           [this](const std::string&) { ++mismatches; }, [] {}}};
  Watched() {
    request.plan.hosts.resize(1);
    request.plan.ranks.resize(kRanks);
    course.state = State::running;
    course.rank_ended.resize(kRanks);
    course.ranks_left = kRanks;
  }
};

control::SeenCall bcast(int root, int rank) {
  control::SeenCall call;
  call.context = 1;
  call.number = 7;
  watch::Print print;
  print.collective = 1;
  print.root = static_cast<std::uint32_t>(root);
  call.fingerprint = watch::pack_print(print);
  call.root = root;
  call.ranks = {rank};
  return call;
}

control::Used said_call(int root, int rank) {
  const control::SeenCall call = bcast(root, rank);
  wireup::CallRecord record{};
  record.context = call.context;
  record.number = call.number;
  record.fingerprint = call.fingerprint;
  record.root = call.root;
  return {rank, static_cast<int>(wireup::RankSays::call),
          std::string(reinterpret_cast<const char*>(&record), sizeof record)};
}

}  // namespace

TEST_CASE("ranks whose calls differ are looked at again, or asked for their stacks",
          "[observation]") {
  Watched one;
  control::SeenRank seen;
  one.observation.take(0, control::Seen{0, {seen}, {bcast(0, 0), bcast(1, 1)}});
  REQUIRE(one.asked.size() == 1);
  CHECK(one.asked[0].all_calls);
  Watched other;
  other.observation.take(said_call(0, 0));
  other.observation.take(said_call(1, 1));
  CHECK(other.asked.size() == 2);  // for their stacks
}

TEST_CASE("a host that answers a look twice is not another that has not", "[observation]") {
  Watched one;
  one.hosts = {0, 1};
  bool has_all = false;
  one.observation.report_at_limit([&] { has_all = true; });
  REQUIRE(one.asked.size() == 1);
  const control::Seen answer{one.asked[0].number, {}, {}};
  one.observation.take(0, answer);
  one.observation.take(0, answer);
  CHECK_FALSE(has_all);
  one.observation.take(1, answer);
  CHECK(has_all);
}
