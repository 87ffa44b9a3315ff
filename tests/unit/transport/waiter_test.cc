// Waiting ends in sleep, sleep ends by a frame, and whoever sleeps does not look meanwhile.
#include <atomic>
#include <mutex>

#include "rig.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// Counts how often a wait lets go of it.
struct CountingGate final : Waiter::Gate {
  int opened = 0, let_ins = 0;
  int release() override {
    ++opened;
    return 3;
  }
  void retake(int depth) override { CHECK(depth == 3); }
  void let_in() override { ++let_ins; }
};

// A mutex in the place of the gate.
struct MutexGate final : Waiter::Gate {
  std::mutex& mutex;
  explicit MutexGate(std::mutex& guards) : mutex(guards) {}
  int release() override {
    mutex.unlock();
    return 1;
  }
  void retake(int) override { mutex.lock(); }
  void let_in() override { retake(release()); }
};

bool is_asleep(Rig& rig, int rank) {
  const auto& wireup = *rig[rank].wireup;
  return wireup.segment().local(static_cast<unsigned>(wireup.local_rank())).sleep.load() != 0;
}

// Waits as the rooms above do, until `holds`.
template <class Holds>
void wait(End& end, Waiter& waiter, Holds&& holds, Waiter::Gate* gate = nullptr) {
  while (!holds()) {
    if (end.progress() > 0)
      waiter.busy();
    else
      waiter.pause(gate);
  }
}

// Links whose sleepers are woken in different ways: by futex, by doorbell, by descriptor.
std::vector<std::string> wake_ways() {
  std::vector<std::string> ways{"shm", "shm,tcp", "tcp", "ucx"};
  std::erase_if(ways, [](const std::string& way) {
    const std::string last = way.substr(way.find(',') == std::string::npos ? 0 : 4);
    Rig rig({0, 0, 1}, knobs_with({{"TUTTI_LINK", way}}));
    return rig[0].transport(last) == nullptr;
  });
  return ways;
}

}  // namespace

TEST_CASE("a sleeping rank is woken by each of many frames", "[waiter]") {
  for (const std::string& way : wake_ways()) {
    INFO("links " << way);
    const std::string name = way.substr(0, 3);
    Rig rig({0, 0, 1}, knobs_with({{"TUTTI_LINK", way}, {"TUTTI_POLL_US", "0"}}));
    constexpr std::size_t kFrames = 300;
    std::atomic<std::size_t> seen{0};
    rig.link(name, 0, 1);
    std::thread sleeper([&] {
      auto waiter = std::make_unique<Waiter>(rig[1].around(), rig[1].opened.transports);
      auto& frames = rig[1].sink.frames;
      wait(rig[1], *waiter, [&] {
        seen = frames.size();
        return frames.size() == kFrames;
      });
    });
    for (std::size_t i = 0; i < kFrames; ++i) {
      const FrameHeader header = header_for(i);
      while (!rig[0].links[1]->try_post({&header, nullptr, 0, nullptr})) rig[0].progress();
      const std::int64_t limit = now_ns() + 60'000'000'000;
      while (seen <= i) {
        rig[0].progress();
        std::this_thread::yield();
        REQUIRE(now_ns() < limit);
      }
      // Half of the frames find the rank asleep, half on its way there.
      while (i % 2 == 0 && !is_asleep(rig, 1)) std::this_thread::yield();
    }
    sleeper.join();
  }
}

TEST_CASE("a rank that waits sleeps between any two looks, and wakes by itself", "[waiter]") {
  for (const std::string& way : wake_ways()) {
    INFO("links " << way);
    Rig rig({0, 0, 1}, knobs_with({{"TUTTI_LINK", way}, {"TUTTI_POLL_US", "0"}}));
    post(rig, rig.link(way.substr(0, 3), 0, 1), 0, {});
    rig.until([&] { return rig[1].sink.frames.size() == 1; });
    auto waiter = std::make_unique<Waiter>(rig[1].around(), rig[1].opened.transports);
    CountingGate gate;
    // Awake it gives way at each look or lets others in; the first sleep is when it said so.
    while (!is_asleep(rig, 1)) waiter->pause(&gate);
    const int before = gate.opened;
    constexpr int kSleeps = 3;
    for (int looks = 0; looks < kSleeps; ++looks) {
      REQUIRE(is_asleep(rig, 1));
      waiter->pause(&gate);  // sleeps as long as it may
      CHECK(gate.opened == before + looks + 1);
      CHECK_FALSE(is_asleep(rig, 1));
      rig[1].progress();
      waiter->pause(&gate);  // says that it will again
    }
    CHECK(gate.opened == before + kSleeps);
  }
}

TEST_CASE("who waits for what wakes nobody sleeps shortly, while others sleep long", "[waiter]") {
  Rig rig({0, 0}, knobs_with({{"TUTTI_LINK", "shm"}, {"TUTTI_POLL_US", "0"}}));
  constexpr int kSleeps = 200;
  const auto sleep_once = [&](int rank, Waiter& waiter) {
    while (!is_asleep(rig, rank)) waiter.pause(nullptr);
    waiter.pause(nullptr);
    rig[rank].progress();
  };
  Waiter waiter(rig[0].around(), rig[0].opened.transports);
  auto other = std::make_unique<Waiter>(rig[1].around(), rig[1].opened.transports);
  std::atomic<bool> is_over = false;
  int sleeps_of_other = 0;
  std::thread beside([&] {
    for (; !is_over; ++sleeps_of_other) sleep_once(1, *other);
  });
  waiter.begin_unsignalled();
  CHECK(waiter.sleeps_shortly());
  for (int i = 0; i < kSleeps; ++i) sleep_once(0, waiter);
  waiter.end_unsignalled();
  CHECK_FALSE(waiter.sleeps_shortly());
  is_over = true;
  other->wake_self();
  beside.join();
  CHECK(sleeps_of_other < kSleeps / 4);
}

TEST_CASE("nudge wakes a rank that waits for something else than a frame", "[waiter]") {
  for (const std::string& way : wake_ways()) {
    INFO("links " << way);
    Rig rig({0, 0, 1}, knobs_with({{"TUTTI_LINK", way}, {"TUTTI_POLL_US", "0"}}));
    std::atomic<int> turn{0};
    std::thread sleeper([&] {
      auto waiter = std::make_unique<Waiter>(rig[1].around(), rig[1].opened.transports);
      for (int i = 1; i < 400; i += 2) {
        wait(rig[1], *waiter, [&] { return turn.load(std::memory_order_acquire) == i; });
        waiter->busy();
        turn.store(i + 1, std::memory_order_release);
      }
    });
    const std::int64_t limit = now_ns() + 60'000'000'000;
    const Waker waker(*rig[0].wireup, 1);
    for (int i = 0; i < 400; i += 2) {
      turn.store(i + 1, std::memory_order_release);
      waker.nudge();
      while (turn.load(std::memory_order_acquire) != i + 2 && i < 398) {
        std::this_thread::yield();
        REQUIRE(now_ns() < limit);
      }
      while (i % 4 == 0 && i < 398 && !is_asleep(rig, 1)) std::this_thread::yield();
    }
    sleeper.join();
  }
}

TEST_CASE("threads that wait in one rank all get on, whoever makes the progress", "[waiter]") {
  Rig rig({0, 0}, knobs_with({{"TUTTI_POLL_US", "0"}}));
  auto waiter = std::make_unique<Waiter>(rig[1].around(), rig[1].opened.transports);
  std::mutex mutex;
  MutexGate gate(mutex);
  constexpr std::size_t kRounds = 100;
  std::vector<std::thread> threads;
  std::atomic<std::size_t> done{0};
  for (std::size_t which = 0; which < 3; ++which)
    threads.emplace_back([&, which] {
      for (std::size_t round = 0; round < kRounds; ++round) {
        const std::lock_guard lock(mutex);
        // Thread `which` waits for its own frame of the round.
        wait(
            rig[1], *waiter, [&] { return rig[1].sink.frames.size() > round * 3 + which; }, &gate);
        ++done;
      }
    });
  const std::int64_t limit = now_ns() + 60'000'000'000;
  Link& link = rig.link("shm", 0, 1);
  for (std::size_t i = 0; i < 3 * kRounds; ++i) {
    const FrameHeader header = header_for(i);
    while (!link.try_post({&header, nullptr, 0, nullptr})) std::this_thread::yield();
    while (done <= i) {
      std::this_thread::yield();
      REQUIRE(now_ns() < limit);
    }
    while (i % 5 == 0 && i + 1 < 3 * kRounds && !is_asleep(rig, 1)) std::this_thread::yield();
  }
  for (auto& thread : threads) thread.join();
}

TEST_CASE("wake_self ends a wait from another thread", "[waiter]") {
  Rig rig({0, 0}, knobs_with({{"TUTTI_POLL_US", "0"}}));
  auto waiter = std::make_unique<Waiter>(rig[1].around(), rig[1].opened.transports);
  std::atomic<bool> stop{false};
  std::thread sleeper([&] { wait(rig[1], *waiter, [&] { return stop.load(); }); });
  while (!is_asleep(rig, 1)) std::this_thread::yield();
  stop = true;
  waiter->wake_self();
  sleeper.join();
}

TEST_CASE("who may not wait gives way after looking for a while, and never sleeps", "[waiter]") {
  Rig rig({0, 0}, knobs_with({{"TUTTI_LINK", "shm"}, {"TUTTI_POLL_US", "0"}}));
  auto waiter = std::make_unique<Waiter>(rig[0].around(), rig[0].opened.transports);
  CountingGate gate;
  int looks = 1;
  while (!waiter->pause_awake(&gate)) ++looks;
  CHECK(gate.opened == 1);           // other ranks had the core
  CHECK(gate.let_ins == looks - 1);  // and other threads the gate, before
  CHECK(looks >= 2);
  for (int i = 0; i < 1000; ++i) CHECK(waiter->pause_awake(&gate));  // again at each further look
  CHECK_FALSE(is_asleep(rig, 0));
  waiter->busy();
  CHECK_FALSE(waiter->pause_awake(&gate));
  CHECK(gate.opened == 1001);
}

TEST_CASE("who is to look for an hour neither gives way nor sleeps", "[waiter]") {
  Rig rig({0, 0}, knobs_with({{"TUTTI_LINK", "shm"}, {"TUTTI_POLL_US", "3600000000"}}));
  auto waiter = std::make_unique<Waiter>(rig[0].around(), rig[0].opened.transports);
  CountingGate gate;
  for (int i = 0; i < 50'000; ++i) {
    waiter->pause(&gate);
    REQUIRE_FALSE(waiter->pause_awake(&gate));
  }
  CHECK(gate.opened == 0);
  CHECK(gate.let_ins == 100'000);
  CHECK_FALSE(is_asleep(rig, 0));
}
