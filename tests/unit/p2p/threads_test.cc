// Ranks as threads over the real links of one host; and several threads in one rank.
#include <atomic>
#include <mutex>
#include <random>

#include "worlds.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// A mutex in the place of the gate.
class MutexGate final : public transport::Waiter::Gate {
 public:
  explicit MutexGate(std::mutex& mutex) : mutex_(mutex) {}
  int release() override {
    mutex_.unlock();
    return 1;
  }
  void retake(int) override { mutex_.lock(); }
  void let_in() override { retake(release()); }

 private:
  std::mutex& mutex_;
};

// Everybody sends to everybody, themselves included, messages of agreed random sizes. Returns
// how many arrived wrong.
int exchange_all(const std::vector<int>& hosts, int rounds) {
  const int ranks = static_cast<int>(hosts.size());
  std::atomic<int> wrong{0};  // relaxed everywhere: read after the threads have ended
  in_ranks(hosts, [&](int rank, Endpoint& endpoint) {
    std::mt19937 random(5);  // the same in all ranks
    for (int round = 0; round < rounds; ++round) {
      std::vector<std::size_t> sizes(hosts.size() * hosts.size());
      for (std::size_t& each : sizes)
        each = random() % 3 == 0 ? random() % 200'000 : random() % 300;
      const auto message = [&](int from, int to) {
        return pattern(sizes[static_cast<std::size_t>(from * ranks + to)],
                       static_cast<unsigned>(from * 100 + to));
      };
      std::vector<std::vector<std::byte>> out, in;
      std::vector<Pending*> requests;
      for (int peer = 0; peer < ranks; ++peer) {
        out.push_back(message(rank, peer));
        in.emplace_back(message(peer, rank).size());
      }
      for (int peer = 0; peer < ranks; ++peer) {
        const auto at = static_cast<std::size_t>(peer);
        requests.push_back(endpoint.recv(peer, {2, peer, round, 0}, plain(in[at])));
        requests.push_back(
            endpoint.send(Mode::standard, peer, {2, rank, round, 0}, plain(out[at])));
      }
      for (Pending* each : requests) {
        endpoint.wait(each);
        endpoint.release(each);
      }
      for (int peer = 0; peer < ranks; ++peer)
        if (in[static_cast<std::size_t>(peer)] != message(peer, rank))
          wrong.fetch_add(1, std::memory_order_relaxed);
    }
  });
  return wrong.load(std::memory_order_relaxed);
}

}  // namespace

TEST_CASE("eight ranks exchange messages of all sizes with each other", "[p2p][threads]") {
  REQUIRE(exchange_all(std::vector<int>(8, 0), 12) == 0);
}

TEST_CASE("ranks of two hosts exchange messages of all sizes over mixed links", "[p2p][threads]") {
  REQUIRE(exchange_all({0, 0, 1, 1, 1}, 12) == 0);
}

TEST_CASE("a receive from any source hears ranks over every link", "[p2p][threads]") {
  constexpr int kEach = 200;
  const std::vector<int> hosts{0, 0, 1, 0, 1};
  in_ranks(hosts, [&](int rank, Endpoint& endpoint) {
    const int senders = static_cast<int>(hosts.size()) - 1;
    std::vector<int> next(hosts.size(), 0);
    for (int i = 0; i < (rank == 0 ? senders * kEach : kEach); ++i) {
      int number = i;
      if (rank != 0) {
        Pending* send =
            endpoint.send(Mode::standard, 0, {1, rank, i % 7, 0}, Buffer::plain(&number, 4));
        endpoint.wait(send);
        endpoint.release(send);
        continue;
      }
      const Status status =
          endpoint.recv_now(kAnySource, {1, kAnySource, kAnyTag, 0}, Buffer::plain(&number, 4));
      TUTTI_CHECK(status.code == Code::ok && status.tag == number % 7);
      // In order from each of them.
      TUTTI_CHECK(next[static_cast<std::size_t>(status.source)]++ == number);
    }
  });
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
        Pending* send = endpoint.send(Mode::standard, right, out, Buffer::plain(&token, 8));
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
    MutexGate gate(mutex);
    endpoint.set_gate(&gate);
    const auto body = [&](int thread) {
      for (int round = 0; round < kRounds; ++round) {
        auto data = pattern(round % 10 == 0 ? 100'000 : 16, static_cast<unsigned>(thread));
        std::vector<std::byte> into(data.size());
        const Envelope out{1, rank, thread, 0};
        const Envelope in{1, 1 - rank, thread, 0};
        const std::lock_guard lock(mutex);
        Pending* send = endpoint.send(Mode::standard, 1 - rank, out, plain(data));
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
    endpoint.set_gate(nullptr);
  });
}

TEST_CASE("a message to oneself wakes the thread that sleeps until it comes", "[p2p][threads]") {
  auto wireups = wireup::in_threads({0});
  auto opened = Endpoint::open(*wireups[0], Knobs::defaults());
  REQUIRE(opened.has_value());
  Endpoint& endpoint = **opened;
  std::mutex mutex;
  MutexGate gate(mutex);
  endpoint.set_gate(&gate);
  const auto awake = static_cast<std::uint32_t>(wireup::SleepState::awake);
  const std::atomic<std::uint32_t>& sleep = wireups[0]->segment().local(0).sleep;
  std::uint64_t into = 0;
  const std::uint64_t data = 77;
  std::thread sleeper([&] {
    const std::lock_guard lock(mutex);
    endpoint.recv_now(0, {1, 0, 5, 0}, Buffer::plain(&into, 8));
  });
  bool is_sent = false;
  while (!is_sent) {
    while (sleep.load() == awake) std::this_thread::yield();
    const std::lock_guard lock(mutex);
    if (sleep.load() == awake) continue;
    REQUIRE(endpoint.try_send(0, {1, 0, 5, 0}, &data, sizeof data) != 0);
    CHECK(sleep.load() == awake);
    is_sent = true;
  }
  sleeper.join();
  CHECK(into == data);
  endpoint.close();
}
