// What daemons say of their ranks' calls is compared.
#include "job/observation.h"

#include <chrono>
#include <cstring>
#include <thread>

#include "catch.h"
#include "seen.h"
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
  Observation observation{
      loop,
      request,
      course,
      terminal,
      {[this](const control::Look& look) {
         asked.push_back(look);
         return hosts;
       },
       [](int) { return false; }, [] {}, [] { return true; },
       [this](status::ExitStatus, const std::string&) { ++mismatches; }, [] {}}};
  Watched() {
    request.plan.hosts.resize(1);
    request.plan.ranks.resize(kRanks);
    course.state = State::running;
    course.rank_ended.resize(kRanks);
    course.ranks_left = kRanks;
  }
  // The loop goes on until it asks the hosts again; what they are asked.
  control::Look next_look() {
    const std::size_t before = asked.size();
    const std::function<void()> wait = [&] {
      if (asked.size() > before) return loop.stop();
      loop.after(std::chrono::milliseconds(1), wait);
    };
    wait();
    loop.run();
    return asked.back();
  }
};

control::SeenRank in_a_barrier(int rank, std::uint64_t calls) {
  control::SeenRank seen = in_collective(rank, "MPI_Barrier", calls);
  seen.calls = calls;
  return seen;
}

control::SeenCall bcast(int root, int rank) {
  control::SeenCall call;
  call.context = 1;
  call.number = 7;
  watch::Fingerprint print;
  print.collective = 1;
  print.root = static_cast<std::uint32_t>(root);
  call.fingerprint = watch::pack_fingerprint(print);
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

TEST_CASE("a look is not given up for the next one", "[observation]") {
  Watched one;
  one.request.spec.hang_report_s = 0.001;
  one.observation.start();
  bool has_all = false;
  one.observation.report_at_limit([&] { has_all = true; });
  one.loop.after(std::chrono::milliseconds(200), [&] { one.loop.stop(); });
  one.loop.run();
  one.observation.take(0, control::Seen{one.asked[0].number, {}, {}});
  CHECK(has_all);
}

TEST_CASE("a standstill after another one is reported, too, however late a host answers",
          "[observation]") {
  constexpr std::chrono::milliseconds kSpan{20};
  Watched one;
  one.hosts = {0, 1};
  one.request.spec.hang_report_s = std::chrono::duration<double>(kSpan).count();
  one.observation.start();
  const auto answer = [&](std::uint64_t calls) {
    const std::uint64_t number = one.next_look().number;
    one.observation.take(0, control::Seen{number, {in_a_barrier(0, calls)}, {}});
    std::this_thread::sleep_for(2 * kSpan);
    one.observation.take(1, control::Seen{number, {computing(1)}, {}});
  };
  // Of the rank that is missing a report wants the stack.
  const auto is_reported = [&] {
    const control::Look last = one.asked.back();
    if (last.stacks.empty()) return false;
    for (const int host : one.hosts) one.observation.take(host, control::Seen{last.number, {}, {}});
    return last.stacks == std::vector<int>{1};
  };
  answer(1);
  answer(1);
  CHECK(is_reported());
  answer(1);
  CHECK_FALSE(is_reported());
  answer(2);
  CHECK(is_reported());
}
