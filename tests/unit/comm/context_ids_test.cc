// Members agree on numbers of communicators, whatever each of them has in use.
#include "comm/context_ids.h"

#include <barrier>
#include <mutex>
#include <thread>

#include "catch.h"

namespace {

using namespace tutti;
using comm::ContextIds;

// What an allreduce is to ranks, for members that are threads.
class Table {
 public:
  explicit Table(int members) : barrier_(members) {}
  Code maximum(ContextIds::Values& values) {
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < std::size(values); ++i)
        best_[i] = fresh_ ? values[i] : std::max(best_[i], values[i]);
      fresh_ = false;
    }
    barrier_.arrive_and_wait();
    for (std::size_t i = 0; i < std::size(values); ++i) values[i] = best_[i];
    barrier_.arrive_and_wait();
    fresh_ = true;  // all have read; every thread writes the same value
    barrier_.arrive_and_wait();
    return Code::ok;
  }

 private:
  std::barrier<> barrier_;
  std::mutex mutex_;
  ContextIds::Values best_ = {};
  std::atomic<bool> fresh_{true};
};

std::uint64_t g_last_birth = 0;

std::vector<std::uint32_t> agree(std::vector<ContextIds>& members) {
  Table table(static_cast<int>(members.size()));
  std::vector<std::uint32_t> agreed(members.size());
  std::vector<std::uint64_t> births(members.size());
  std::vector<std::thread> threads;
  for (std::size_t m = 0; m < members.size(); ++m)
    threads.emplace_back([&, m] {
      const auto number = members[m].agree(
          {0, 0}, [&table](ContextIds::Values& values) { return table.maximum(values); }, [] {});
      agreed[m] = number ? number->context : ~0U;
      births[m] = number ? number->birth : 0;
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::uint64_t birth : births) CHECK(birth == births[0]);
  g_last_birth = births[0];
  return agreed;
}

}  // namespace

TEST_CASE("members with nothing in use agree on the first number", "[comm][contexts]") {
  std::vector<ContextIds> members(3);
  CHECK(agree(members) == std::vector<std::uint32_t>{0, 0, 0});
}

TEST_CASE("a number must be free on every member", "[comm][contexts]") {
  std::vector<ContextIds> members(3);
  for (const std::uint32_t c : {0U, 4U, 6U}) members[0].take(c);
  for (const std::uint32_t c : {0U, 2U}) members[1].take(c);
  for (const std::uint32_t c : {8U}) members[2].take(c);
  CHECK(agree(members) == std::vector<std::uint32_t>{10, 10, 10});
}

TEST_CASE("a number comes back, a birth does not", "[comm][contexts]") {
  std::vector<ContextIds> members(3);
  std::uint64_t before = 0;
  for (int i = 0; i < 5; ++i) {
    // The first is in every other one only.
    std::vector<ContextIds> some(members.begin() + i % 2, members.end());
    CHECK(agree(some) == std::vector<std::uint32_t>(some.size(), 0));
    CHECK(g_last_birth > before);
    before = g_last_birth;
    for (ContextIds& member : some) member.give(0);
    std::copy(some.begin(), some.end(), members.begin() + i % 2);
  }
}

TEST_CASE("a number that was given back is taken again", "[comm][contexts]") {
  std::vector<ContextIds> members(2);
  for (ContextIds& member : members) {
    member.take(0);
    member.take(2);
    member.give(0);
  }
  CHECK(agree(members) == std::vector<std::uint32_t>{0, 0});
}

TEST_CASE("members without a number left that is free on all of them say so", "[comm][contexts]") {
  std::vector<ContextIds> members(2);
  for (std::int64_t i = 0; i < ContextIds::kMost; ++i)
    members[static_cast<std::size_t>(i % 2)].take(static_cast<std::uint32_t>(i) * 2);
  CHECK(agree(members) == std::vector<std::uint32_t>{~0U, ~0U});
  REQUIRE(members[0].take_alone());
  // One of them comes back.
  members[1].give(2 * 1001);
  CHECK(agree(members) == std::vector<std::uint32_t>{2 * 1001, 2 * 1001});
}

TEST_CASE("who is alone has as many numbers as there are", "[comm][contexts]") {
  ContextIds ids;
  for (std::int64_t i = 0; i < ContextIds::kMost; ++i) REQUIRE(ids.take_alone());
  const auto none = ids.take_alone();
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::other);
  ids.give(42);
  const auto again = ids.take_alone();
  REQUIRE(again);
  CHECK(again->context == 42);
}
