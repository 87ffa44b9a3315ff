// Waiting ends in sleep, sleep ends by a frame, and neither costs processor time.
#include <sys/resource.h>

#include <atomic>
#include <mutex>

#include "rig.h"

using namespace tutti;
using namespace tutti::test;

namespace {

double thread_cpu_ms() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

bool is_asleep(Rig& rig, int rank) {
  const auto& wireup = *rig[rank].wireup;
  return wireup.segment().local(static_cast<unsigned>(wireup.local_rank())).sleep.load() != 0;
}

// Waits as the rooms above do, until `holds`.
template <class Holds>
void wait(End& end, Waiter& waiter, Holds&& holds, const Waiter::Gate& gate = {}) {
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
      auto waiter = make_waiter(rig[1].around(), rig[1].opened.transports);
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

namespace {

// A job whose ranks 0 and 1 have met over links of that kind.
std::unique_ptr<Rig> met_over(const std::string& way) {
  auto rig = std::make_unique<Rig>(std::vector<int>{0, 0, 1}, knobs_with({{"TUTTI_LINK", way}}));
  post(*rig, rig->link(way.substr(0, 3), 0, 1), 0, {});
  rig->until([&] { return (*rig)[1].sink.frames.size() == 1; });
  return rig;
}

// Rank 1 waits for two seconds; the processor time that took. No assertions: runs in a thread.
double cost_of_waiting_ms(Rig& rig) {
  double used_ms = 0;
  std::atomic<bool> is_back{false};
  std::thread sleeper([&] {
    auto waiter = make_waiter(rig[1].around(), rig[1].opened.transports);
    const double before = thread_cpu_ms();
    wait(rig[1], *waiter, [&] { return rig[1].sink.frames.size() == 2; });
    used_ms = thread_cpu_ms() - before;
    is_back = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(2000));
  const FrameHeader header = header_for(1);
  while (!rig[0].links[1]->try_post({&header, nullptr, 0, nullptr})) rig[0].progress();
  while (!is_back) {
    rig[0].progress();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  sleeper.join();
  return used_ms;
}

}  // namespace

TEST_CASE("a rank that waits for two seconds uses no processor time", "[waiter]") {
  const auto ways = wake_ways();
  std::vector<double> used(ways.size());
  std::vector<std::unique_ptr<Rig>> rigs;
  for (const std::string& way : ways) rigs.push_back(met_over(way));
  std::vector<std::thread> jobs;
  for (std::size_t i = 0; i < ways.size(); ++i)
    jobs.emplace_back([&, i] { used[i] = cost_of_waiting_ms(*rigs[i]); });
  for (auto& job : jobs) job.join();
  for (std::size_t i = 0; i < ways.size(); ++i) {
    INFO("links " << ways[i]);
    REQUIRE(used[i] < 20);
  }
}

TEST_CASE("nudge wakes a rank that waits for something else than a frame", "[waiter]") {
  for (const std::string& way : wake_ways()) {
    INFO("links " << way);
    Rig rig({0, 0, 1}, knobs_with({{"TUTTI_LINK", way}, {"TUTTI_POLL_US", "0"}}));
    std::atomic<int> turn{0};
    std::thread sleeper([&] {
      auto waiter = make_waiter(rig[1].around(), rig[1].opened.transports);
      for (int i = 1; i < 400; i += 2) {
        wait(rig[1], *waiter, [&] { return turn.load(std::memory_order_acquire) == i; });
        waiter->busy();
        turn.store(i + 1, std::memory_order_release);
      }
    });
    const std::int64_t limit = now_ns() + 60'000'000'000;
    for (int i = 0; i < 400; i += 2) {
      turn.store(i + 1, std::memory_order_release);
      nudge(*rig[0].wireup, 1);
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
  auto waiter = make_waiter(rig[1].around(), rig[1].opened.transports);
  std::mutex mutex;
  Waiter::Gate gate;
  gate.self = &mutex;
  gate.release = [](void* self) { static_cast<std::mutex*>(self)->unlock(); };
  gate.retake = [](void* self) { static_cast<std::mutex*>(self)->lock(); };
  constexpr std::size_t kRounds = 100;
  std::vector<std::thread> threads;
  std::atomic<std::size_t> done{0};
  for (std::size_t which = 0; which < 3; ++which)
    threads.emplace_back([&, which] {
      for (std::size_t round = 0; round < kRounds; ++round) {
        const std::lock_guard lock(mutex);
        // Thread `which` waits for its own frame of the round.
        wait(
            rig[1], *waiter, [&] { return rig[1].sink.frames.size() > round * 3 + which; }, gate);
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
  auto waiter = make_waiter(rig[1].around(), rig[1].opened.transports);
  std::atomic<bool> stop{false};
  std::thread sleeper([&] { wait(rig[1], *waiter, [&] { return stop.load(); }); });
  while (!is_asleep(rig, 1)) std::this_thread::yield();
  stop = true;
  waiter->wake_self();
  sleeper.join();
}

TEST_CASE("who may not wait gives way, but only after looking for a while", "[waiter]") {
  for (const char* poll_us : {"0", "20000"}) {
    INFO("TUTTI_POLL_US " << poll_us);
    Rig rig({0, 0}, knobs_with({{"TUTTI_LINK", "shm"}, {"TUTTI_POLL_US", poll_us}}));
    auto waiter = make_waiter(rig[0].around(), rig[0].opened.transports);
    int opened = 0;
    const Waiter::Gate gate{[](void* self) { ++*static_cast<int*>(self); }, [](void*) {}, &opened};
    const auto begin = std::chrono::steady_clock::now();
    int looks = 1;
    while (!waiter->relent(gate)) ++looks;
    CHECK(opened == 1);  // other threads got in
    CHECK(looks >= 2);
    CHECK(std::chrono::steady_clock::now() - begin >=
          std::chrono::microseconds(std::stol(poll_us)));
    CHECK(waiter->relent(gate));  // and again at each further look
    CHECK_FALSE(is_asleep(rig, 0));
    waiter->busy();
    CHECK_FALSE(waiter->relent(gate));
    CHECK(opened == 2);
  }
}
