// The gate: one thread at a time, however many come; each of them gets in, and in its turn.
//
// No case judges a time: they wait until something is so, for as long as it takes.
#include "world/gate.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "catch.h"

using tutti::world::Gate;

namespace {

void in_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

void until(const std::function<bool()>& holds) {
  while (!holds()) std::this_thread::yield();
}

// Threads that call without end, as long as it lives.
class Busy {
 public:
  Busy(Gate& gate, int count) {
    for (int i = 0; i < count; ++i)
      threads_.emplace_back([this, &gate] {
        while (!is_over_) {
          gate.enter();
          gate.leave();
        }
      });
  }
  ~Busy() {
    is_over_ = true;
    for (std::thread& each : threads_) each.join();
  }

 private:
  std::atomic<bool> is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

TEST_CASE("threads pass the gate one at a time, nested calls and waits included") {
  constexpr int kThreads = 4, kTurns = 5000;
  Gate gate;
  long count = 0;  // plain: the gate guards it
  in_threads(kThreads, [&](int) {
    for (int i = 0; i < kTurns; ++i) {
      gate.enter();
      ++count;
      gate.enter();
      if (i % 8 == 0) gate.let_in();
      if (i % 16 == 0) gate.retake(gate.release());
      ++count;
      gate.leave();
      ++count;
      gate.leave();
    }
  });
  CHECK(count == 3L * kThreads * kTurns);
  CHECK(gate.entries() >= std::uint64_t{kThreads} * kTurns);
  CHECK(gate.in_line() == 0);
}

TEST_CASE("threads in line come in as they came, those that sleep there too") {
  constexpr int kThreads = 40;  // more than one word of sleepers has bits
  for (const bool sleeps : {false, true}) {
    Gate gate;
    std::vector<int> order;  // plain: the gate guards it
    std::vector<std::thread> threads;
    gate.enter();
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        gate.enter();
        order.push_back(i);
        gate.leave();
      });
      until([&] { return gate.in_line() == static_cast<std::uint32_t>(i + 1); });
    }
    if (sleeps) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(order.empty());
    gate.leave();
    for (std::thread& each : threads) each.join();
    REQUIRE(order.size() == kThreads);
    for (int i = 0; i < kThreads; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
  }
}

TEST_CASE("a thread that calls once gets in while others call without end") {
  for (const int others : {1, 3}) {
    Gate gate;
    Busy busy(gate, others);
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t before = gate.entries();
      until([&] { return gate.entries() >= before + 20; });
      gate.enter();
      gate.leave();
    }
    SUCCEED("it came in fifty times");
  }
}

TEST_CASE("threads that call without end all get their turns") {
  constexpr int kThreads = 3, kTurns = 20;
  Gate gate;
  int last = -1;                     // who was inside before; plain: the gate guards it
  std::vector<int> turns(kThreads);  // of calls in a row; the same
  const auto all_had_theirs = [&] {
    for (const int each : turns)
      if (each < kTurns) return false;
    return true;
  };
  in_threads(kThreads, [&](int me) {
    for (bool is_over = false; !is_over;) {
      gate.enter();
      if (std::exchange(last, me) != me) ++turns[static_cast<std::size_t>(me)];
      is_over = all_had_theirs();
      gate.leave();
    }
  });
  CHECK(all_had_theirs());
}

TEST_CASE("a thread that polls inside the gate lets in one that waits, whatever its depth") {
  Gate gate;
  int others = 0;  // plain: the gate guards it
  gate.enter();
  gate.enter();
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      gate.enter();
      ++others;
      gate.leave();
    });
    until([&] { return gate.in_line() == static_cast<std::uint32_t>(i + 1); });
  }
  // Who has no core just then is passed over, so once may not be enough.
  until([&] {
    gate.let_in();
    return others == 3;
  });
  gate.leave();
  CHECK(gate.step_out());  // once inside, as before
  for (std::thread& each : threads) each.join();
  REQUIRE(gate.try_enter());
  gate.leave();
}

TEST_CASE("around a function of the user's the gate is free, unless it is called inside a call") {
  Gate gate;
  CHECK_FALSE(gate.step_out());  // nobody is inside
  gate.enter();
  gate.enter();
  CHECK_FALSE(gate.step_out());
  gate.leave();
  REQUIRE(gate.step_out());
  bool was_in = false;
  std::thread([&] {
    gate.enter();
    was_in = true;
    gate.leave();
  }).join();
  CHECK(was_in);
  gate.enter();
  std::thread([&] { CHECK_FALSE(gate.try_enter()); }).join();
  gate.leave();
}

TEST_CASE("who only tries comes in when nobody is inside or in line") {
  Gate gate;
  REQUIRE(gate.try_enter());
  std::thread other([&] {
    CHECK_FALSE(gate.try_enter());
    gate.enter();
    gate.leave();
  });
  until([&] { return gate.in_line() == 1; });
  gate.leave();
  other.join();
  REQUIRE(gate.try_enter());
  gate.leave();
}
