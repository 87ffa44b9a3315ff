// Ranks as threads: n worlds over one or several "hosts", one body run by each.
//
// The body must not use Catch's assertions (they are not for many threads): it calls expect(),
// whose first failure is reported by run_ranks on the main thread.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "catch.h"
#include "knobs.h"
#include "world/world.h"

namespace tutti::test {

class Findings {
 public:
  void add(std::string what) {
    const std::lock_guard lock(mutex_);
    ++count_;
    if (first_.empty()) first_ = std::move(what);
  }
  int count() const { return count_; }
  const std::string& first() const { return first_; }

 private:
  std::mutex mutex_;
  int count_ = 0;
  std::string first_;
};

struct Rank {
  world::World& world;
  comm::Communicator& comm;  // of the whole world
  int rank, size;
  Findings& findings;
  void expect(bool good, const std::string& what) const {
    if (!good) findings.add("rank " + std::to_string(rank) + ": " + what);
  }
};

using Body = std::function<void(const Rank&)>;

inline void run_ranks(const std::vector<int>& hosts, const Body& body,
                      const Knobs& knobs = Knobs::defaults(),
                      world::ThreadLevel level = world::ThreadLevel::single,
                      std::uint32_t cores = 0) {  // of each host; 0: as there are
  Findings findings;
  auto wireups = wireup::in_threads(hosts);
  for (const auto& wireup : wireups)
    if (cores > 0) wireup->segment().header().cores = cores;
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < hosts.size(); ++r)
    threads.emplace_back([&, r] {
      auto opened = world::World::open(std::move(wireups[r]), knobs, level, 0);
      if (!opened) return findings.add("open: " + opened.error().text);
      world::World& world = **opened;
      if (const auto met = world.make_world_comm(); !met)
        return findings.add("meet: " + met.error().text);
      comm::Communicator& comm = world.world_comm();
      body(Rank{world, comm, comm.rank(), comm.size(), findings});
      comm::Reason why;
      if (const auto ended = world.finish(true, why); !ended)
        findings.add("part: " + ended.error().text + why.text);
    });
  for (std::thread& thread : threads) thread.join();
  INFO(findings.first());
  REQUIRE(findings.count() == 0);
}

inline std::vector<int> one_host(int ranks) {
  return std::vector<int>(static_cast<std::size_t>(ranks), 0);
}

}  // namespace tutti::test
