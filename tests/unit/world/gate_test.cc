// The gate: one thread at a time, however many come, and each of them gets in.
#include "world/gate.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "catch.h"

using tutti::world::Gate;

namespace {

template <class Body>
void in_threads(int count, const Body& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body);
  for (std::thread& thread : threads) thread.join();
}

void with_sides(Gate& gate) {
  gate.enter();
  gate.open_sides();
  gate.leave();
}

}  // namespace

TEST_CASE("threads pass the gate one at a time, nested calls and waits included") {
  constexpr int kThreads = 4, kTurns = 5000;
  Gate gate(true);
  long count = 0;  // plain: the gate guards it
  in_threads(kThreads, [&] {
    for (int i = 0; i < kTurns; ++i) {
      gate.enter();
      ++count;
      gate.enter();
      if (i % 8 == 0) gate.let_in();
      ++count;
      gate.leave();
      ++count;
      gate.leave();
    }
  });
  CHECK(count == 3L * kThreads * kTurns);
  CHECK(gate.turns() >= std::uint64_t{kThreads} * kTurns);
}

TEST_CASE("a thread that waits for the gate gets in while another calls without end") {
  Gate gate(true);
  bool was_in = false;  // guarded by the gate
  std::thread other([&] {
    gate.enter();
    was_in = true;
    gate.leave();
  });
  for (bool seen = false; !seen;) {
    gate.enter();
    seen = was_in;
    gate.leave();
  }
  other.join();
  CHECK(was_in);
}

TEST_CASE("a thread that comes now and then is let in though others call without end") {
  Gate gate(true);
  std::atomic<bool> is_over = false;
  std::vector<std::thread> busy;
  for (int i = 0; i < 2; ++i)
    busy.emplace_back([&] {
      while (!is_over) {
        gate.enter();
        gate.leave();
      }
    });
  long passed = 0;
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t before = gate.turns();
    while (gate.turns() < before + 20) std::this_thread::yield();
    gate.enter();
    ++passed;
    gate.leave();
  }
  is_over = true;
  for (std::thread& each : busy) each.join();
  CHECK(passed == 50);
}

TEST_CASE("a thread that computes between its calls does not wait a turn beside long calls") {
  Gate gate(true);
  std::atomic<bool> is_over = false;
  const auto work = [](std::int64_t for_ns) {
    for (const std::int64_t end = tutti::now_ns() + for_ns; tutti::now_ns() < end;) {
    }
  };
  std::thread other([&] {
    while (!is_over) {
      gate.enter();
      work(150'000);
      gate.leave();
    }
  });
  int long_waits = 0;  // with more than 8 calls of the other in between
  for (int i = 0; i < 60; ++i) {
    work(450'000);
    const std::uint64_t before = gate.turns();
    gate.enter();
    if (gate.turns() > before + 9) ++long_waits;
    gate.leave();
  }
  is_over = true;
  other.join();
  CHECK(long_waits < 30);
}

TEST_CASE("a thread that polls inside the gate lets in one that waits, whatever its depth") {
  Gate gate(true);
  bool was_in = false;
  gate.enter();
  gate.enter();
  std::thread other([&] {
    gate.enter();
    was_in = true;
    gate.leave();
  });
  while (!was_in) gate.let_in();
  gate.leave();
  gate.leave();
  other.join();
  REQUIRE(gate.try_enter());
  gate.leave();
}

TEST_CASE("who sleeps before a gate that is taken for long comes in when it is free") {
  Gate gate(true);
  int entered = 0;
  gate.enter();
  std::thread waiters([&] {
    in_threads(3, [&] {
      gate.enter();
      ++entered;
      gate.leave();
    });
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(entered == 0);
  gate.leave();
  waiters.join();
  CHECK(entered == 3);
}

TEST_CASE("by a side door one thread at a time comes in, and nobody while another is inside") {
  constexpr int kThreads = 4, kTurns = 20'000;
  Gate gate(true);
  with_sides(gate);
  long behind[2] = {0, 0};  // plain: each guarded by its door, both by the gate
  std::atomic<long> by_side = 0, by_gate = 0;
  std::atomic<int> next = 0;
  in_threads(kThreads, [&] {
    const auto door = static_cast<std::size_t>(next++ % 2);
    for (int i = 0; i < kTurns; ++i) {
      if (i % 16 != 0 && gate.try_side(door) == Gate::Side::in) {
        ++behind[door];
        gate.leave_side(door);
        ++by_side;
      } else {
        gate.enter();
        ++behind[0];
        ++behind[1];
        gate.leave();
        ++by_gate;
      }
    }
  });
  CHECK(by_side + by_gate == long{kThreads} * kTurns);
  CHECK(by_side > 0);
  CHECK(behind[0] + behind[1] == by_side + 2 * by_gate);
}

TEST_CASE("side doors are shut where there are none, inside, and while a thread is inside") {
  Gate gate(true);
  CHECK(gate.try_side(0) == Gate::Side::none);
  with_sides(gate);
  REQUIRE(gate.try_side(0) == Gate::Side::in);
  REQUIRE(gate.try_side(1) == Gate::Side::in);  // beside it
  std::atomic<bool> is_in = false;
  std::thread other([&] {
    gate.enter();
    is_in = true;
    CHECK(gate.try_side(2) == Gate::Side::shut);
    gate.leave();
  });
  gate.leave_side(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK_FALSE(is_in);
  gate.leave_side(1);
  other.join();
  CHECK(is_in);
  gate.enter();
  std::thread([&] { CHECK(gate.try_side(0) == Gate::Side::busy); }).join();
  gate.leave();
  REQUIRE(gate.try_side(0) == Gate::Side::in);
  gate.leave_side(0);
}

TEST_CASE("threads that meet at one side door take turns there, and all get in") {
  constexpr int kThreads = 3, kTurns = 30'000;
  Gate gate(true);
  with_sides(gate);
  long behind = 0;  // plain: guarded by the door
  in_threads(kThreads, [&] {
    for (int i = 0; i < kTurns;) {
      if (gate.try_side(2) != Gate::Side::in) continue;
      ++behind;
      ++i;
      gate.leave_side(2);
    }
  });
  CHECK(behind == long{kThreads} * kTurns);
}

TEST_CASE("side doors can be shut for a while") {
  Gate gate(true);
  with_sides(gate);
  REQUIRE(gate.try_side(3) == Gate::Side::in);
  REQUIRE(gate.try_side(4) == Gate::Side::in);
  gate.leave_side(3);
  gate.leave_side(4);
  gate.enter();
  gate.shut_sides();
  gate.leave();
  int turns = 0;
  for (; gate.try_side(3) == Gate::Side::shut; ++turns) {
    gate.enter();
    gate.leave();
  }
  CHECK(turns > 1000);
  CHECK(gate.try_side(3) == Gate::Side::none);
  with_sides(gate);
  REQUIRE(gate.try_side(3) == Gate::Side::in);
  gate.leave_side(3);
}
