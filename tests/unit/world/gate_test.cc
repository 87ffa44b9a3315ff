// The gate: one thread at a time, however many come, and each of them gets in.
#include "world/gate.h"

#include <chrono>
#include <thread>
#include <vector>

#include "catch.h"

using tutti::world::Gate;

namespace {

template <class Body>
void in_threads(int count, const Body& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body);
  for (std::thread& thread : threads) thread.join();
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
