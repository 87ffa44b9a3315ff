// Ranks as threads over the real links of one host; and several threads in one rank.
#include <atomic>
#include <mutex>
#include <random>

#include "worlds.h"

using namespace tutti;
using namespace tutti::test;

TEST_CASE("eight ranks exchange messages of all sizes with each other", "[p2p][threads]") {
  constexpr int kRanks = 8;
  std::atomic<int> wrong{0};  // relaxed everywhere: read after the threads have ended
  in_ranks(kRanks, [&](int rank, Endpoint& endpoint) {
    std::mt19937 random(5);  // the same in all ranks: they agree on the sizes
    for (int round = 0; round < 12; ++round) {
      std::vector<std::vector<std::byte>> out, in;
      std::vector<Request*> requests;
      std::vector<std::size_t> sizes(kRanks * kRanks);
      for (std::size_t& each : sizes)
        each = random() % 3 == 0 ? random() % 200'000 : random() % 300;
      const auto size = [&](int from, int to) {
        return sizes[static_cast<std::size_t>(from * kRanks + to)];
      };
      for (int peer = 0; peer < kRanks; ++peer) {
        out.push_back(pattern(size(rank, peer), static_cast<unsigned>(rank * 100 + peer)));
        in.emplace_back(size(peer, rank));
      }
      for (int peer = 0; peer < kRanks; ++peer) {
        const auto at = static_cast<std::size_t>(peer);
        requests.push_back(endpoint.recv(peer, {2, peer, round, 0}, plain(in[at])));
        requests.push_back(
            endpoint.send(Mode::standard, peer, {2, rank, round, 0}, plain(out[at])));
      }
      for (Request* each : requests) {
        endpoint.wait(each);
        endpoint.release(each);
      }
      for (int peer = 0; peer < kRanks; ++peer)
        if (in[static_cast<std::size_t>(peer)] !=
            pattern(size(peer, rank), static_cast<unsigned>(peer * 100 + rank)))
          wrong.fetch_add(1, std::memory_order_relaxed);
    }
  });
  REQUIRE(wrong.load(std::memory_order_relaxed) == 0);
}

TEST_CASE("blocking sends and receives go round a ring", "[p2p][threads]") {
  constexpr int kRanks = 4;
  constexpr int kRounds = 300;
  in_ranks(kRanks, [&](int rank, Endpoint& endpoint) {
    const int left = (rank + kRanks - 1) % kRanks;
    const int right = (rank + 1) % kRanks;
    for (int round = 0; round < kRounds; ++round) {
      std::uint64_t token = static_cast<std::uint64_t>(round) * 10;
      const Envelope out{1, rank, round, 0};
      const auto pass = [&] {
        if (endpoint.try_send(right, out, &token, sizeof token)) return;
        Request* send = endpoint.send(Mode::standard, right, out, Buffer::plain(&token, 8));
        endpoint.wait(send);
        endpoint.release(send);
      };
      if (rank == 0) pass();
      const Status status = endpoint.recv_now(left, {1, left, round, 0}, Buffer::plain(&token, 8));
      TUTTI_CHECK(status.code == Code::ok && status.bytes == 8);
      TUTTI_CHECK(token == static_cast<std::uint64_t>(round * 10 + (rank + kRanks - 1) % kRanks));
      ++token;
      if (rank != 0) pass();
    }
  });
}

TEST_CASE("threads of one rank wait at the same time, each for its own message", "[p2p][threads]") {
  constexpr int kThreads = 4;
  constexpr int kRounds = 200;
  in_ranks(2, [&](int rank, Endpoint& endpoint) {
    std::mutex mutex;
    endpoint.set_gate({[](void* self) { static_cast<std::mutex*>(self)->unlock(); },
                       [](void* self) { static_cast<std::mutex*>(self)->lock(); }, &mutex});
    const auto body = [&](int thread) {
      for (int round = 0; round < kRounds; ++round) {
        auto data = pattern(round % 10 == 0 ? 100'000 : 16, static_cast<unsigned>(thread));
        std::vector<std::byte> into(data.size());
        const Envelope out{1, rank, thread, 0};
        const Envelope in{1, 1 - rank, thread, 0};
        const std::lock_guard lock(mutex);
        Request* send = endpoint.send(Mode::standard, 1 - rank, out, plain(data));
        const Status status = endpoint.recv_now(1 - rank, in, plain(into));
        endpoint.wait(send);
        endpoint.release(send);
        TUTTI_CHECK(status.code == Code::ok && into == data);
      }
    };
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) threads.emplace_back(body, thread);
    for (std::thread& each : threads) each.join();
    const std::lock_guard lock(mutex);
    endpoint.set_gate({});
  });
}
