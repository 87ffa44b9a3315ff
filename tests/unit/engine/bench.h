// n endpoints as threads for tests of the engine: each runs a body with its endpoint.
#pragma once

#include <atomic>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "catch.h"
#include "engine/engine.h"
#include "wireup/wireup.h"

namespace tutti::bench {

struct Member {
  p2p::Endpoint& endpoint;
  engine::ScratchPool& scratch;
  int rank;
  std::vector<int> peers;

  engine::Binding binding(int tag) const {
    engine::Binding binding;
    binding.context = 41;
    binding.tag = tag;
    binding.fingerprint = 0x10000007;
    binding.rank = rank;
    binding.peers = peers;
    return binding;
  }
};

// Runs `body` on every member; it returns whether all was well.
inline void run_members(int members, const std::function<bool(const Member&)>& body) {
  auto wireups = wireup::in_threads(std::vector<int>(static_cast<std::size_t>(members), 0));
  std::atomic<int> good{0}, left{members};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < members; ++rank)
    threads.emplace_back([&, rank] {
      const Knobs knobs = Knobs::defaults();
      auto endpoint = p2p::Endpoint::open(*wireups[static_cast<std::size_t>(rank)], knobs);
      if (!endpoint) return void(left.fetch_sub(1));
      {
        engine::ScratchPool scratch;
        std::vector<int> peers(static_cast<std::size_t>(members));
        std::iota(peers.begin(), peers.end(), 0);
        good += body({**endpoint, scratch, rank, peers}) ? 1 : 0;
      }
      left.fetch_sub(1);
      while (left.load() > 0) {  // others may still need us to answer
        (*endpoint)->progress();
        std::this_thread::yield();
      }
      (*endpoint)->close();
    });
  for (std::thread& thread : threads) thread.join();
  REQUIRE(good == members);
}

inline std::shared_ptr<const engine::Program> program(sched::Builder& builder) {
  return std::make_shared<const engine::Program>(builder.finish());
}

}  // namespace tutti::bench
