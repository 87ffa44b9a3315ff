// Several endpoints in one test: driven by one thread over the fake transport (Worlds), or
// one thread each over the real one (in_ranks).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "catch.h"
#include "fake_transport.h"
#include "knobs.h"
#include "p2p/core.h"
#include "p2p/p2p.h"
#include "wireup/wireup.h"

namespace tutti::test {

using p2p::Endpoint;
using p2p::Envelope;
using p2p::kAnySource;
using p2p::kAnyTag;
using p2p::Mode;
using p2p::Pending;
using p2p::Status;
using types::Buffer;

inline constexpr std::int64_t kPatience_ns = 60'000'000'000;

// What rank `from` sends to `to` as message number `number`.
inline std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t number) {
  std::vector<std::byte> data(bytes);
  std::uint64_t state = number * 0x9e3779b97f4a7c15U + 1;
  for (std::byte& each : data) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    each = static_cast<std::byte>(state >> 56);
  }
  return data;
}

inline Buffer plain(std::vector<std::byte>& data) {
  return Buffer::plain(data.data(), static_cast<types::Count>(data.size()));
}

// n endpoints over a fake net, one thread.
class Worlds {
 public:
  explicit Worlds(int ranks, const FakeOptions& options = {}, Knobs knobs = Knobs::defaults(),
                  const std::vector<FakeOptions>& bulk = {})
      : net_(ranks, options),
        wireups_(wireup::in_threads(std::vector<int>(static_cast<std::size_t>(ranks), 0))) {
    for (const FakeOptions& each : bulk) bulk_.push_back(std::make_unique<FakeNet>(ranks, each));
    for (int rank = 0; rank < ranks; ++rank) {
      const auto opener = [this, rank](const transport::Surroundings& around) {
        transport::Opened opened;
        opened.transports.push_back(net_.open(rank, around.sink));
        for (const auto& each : bulk_) opened.transports.push_back(each->open(rank, around.sink));
        return opened;
      };
      auto opened = Endpoint::open_over(*wireups_[static_cast<std::size_t>(rank)], knobs, opener);
      REQUIRE(opened.has_value());
      endpoints_.push_back(std::move(*opened));
    }
  }

  Endpoint& operator[](int rank) { return *endpoints_[static_cast<std::size_t>(rank)]; }
  p2p::Core& core(int rank) { return (*this)[rank].core(); }
  // From now on this rank is dead: nothing passes, it does nothing more.
  void lose(int rank) {
    net_.lose(rank);
    for (const auto& each : bulk_) each->lose(rank);
    lost_ = rank;
  }

  // This rank's endpoint is destroyed, as it is.
  void end(int rank) { endpoints_[static_cast<std::size_t>(rank)].reset(); }
  FakeNet& net() { return net_; }
  FakeNet& bulk(std::size_t which = 0) { return *bulk_[which]; }

  int progress() {
    int events = 0;
    for (int rank = 0; rank < static_cast<int>(endpoints_.size()); ++rank)
      if (rank != lost_) events += (*this)[rank].progress();
    return events;
  }
  // False when it did not become true within the patience.
  bool until(const std::function<bool()>& condition) {
    const std::int64_t deadline = now_ns() + kPatience_ns;
    while (!condition()) {
      if (now_ns() > deadline) return false;
      progress();
    }
    return true;
  }
  void rounds(int count) {
    for (int i = 0; i < count; ++i) progress();
  }

  Pending* send(int from, int to, int tag, std::vector<std::byte>& data,
                Mode mode = Mode::standard) {
    return (*this)[from].send(mode, to, {1, from, tag, 0}, plain(data));
  }
  Pending* recv(int at, int from, int tag, std::vector<std::byte>& data) {
    return (*this)[at].recv(from, {1, from, tag, 0}, plain(data));
  }

 private:
  int lost_ = -1;
  FakeNet net_;
  std::vector<std::unique_ptr<FakeNet>> bulk_;
  std::vector<std::unique_ptr<wireup::Wireup>> wireups_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

// Runs body(rank, endpoint) in a thread per rank; hosts[i] is the host of rank i.
inline void in_ranks(const std::vector<int>& hosts, const std::function<void(int, Endpoint&)>& body,
                     const Knobs& knobs = Knobs::defaults()) {
  auto wireups = wireup::in_threads(hosts);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < static_cast<int>(hosts.size()); ++rank)
    threads.emplace_back([&, rank] {
      auto opened = Endpoint::open(*wireups[static_cast<std::size_t>(rank)], knobs);
      TUTTI_CHECK(opened.has_value(), opened.error().text);
      body(rank, **opened);
      (*opened)->close();
    });
  for (std::thread& each : threads) each.join();
}

// All on one host.
inline void in_ranks(int ranks, const std::function<void(int, Endpoint&)>& body,
                     const Knobs& knobs = Knobs::defaults()) {
  in_ranks(std::vector<int>(static_cast<std::size_t>(ranks), 0), body, knobs);
}

}  // namespace tutti::test
