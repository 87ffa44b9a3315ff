// A peer is lost at any moment: what needs it ends with an error, the rest goes on.
#include <random>

#include "worlds.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// Ranks 0 and 1 in the middle of random traffic with each other.
struct Traffic {
  Traffic(Worlds& among, unsigned seed) : worlds(among), random(seed) { memory.reserve(100); }

  std::vector<std::byte>& take_memory() {
    return memory.emplace_back(random() % 3 == 0 ? 20'000 : random() % 1500);
  }
  void step(int i) {
    std::vector<std::byte>& data = take_memory();
    const Mode mode = random() % 2 == 0 ? Mode::synchronous : Mode::standard;
    requests.push_back(i % 2 == 0 ? worlds.send(0, 1, i / 4, data, mode)
                                  : worlds.recv(0, 1, i / 4, data));
    if (random() % 3 != 0) {
      std::vector<std::byte>& theirs = take_memory();
      if (i % 2 == 0)
        worlds.recv(1, 0, i / 4, theirs);
      else
        worlds.send(1, 0, i / 4, theirs);
    }
    worlds.rounds(static_cast<int>(random() % 3));
  }
  bool all_done() const {
    return std::all_of(requests.begin(), requests.end(), [](Pending* r) { return r->done; });
  }

  Worlds& worlds;
  std::mt19937 random;
  std::vector<std::vector<std::byte>> memory;
  std::vector<Pending*> requests;  // of rank 0
};

void require_gone(Worlds& worlds, int rank) {
  std::vector<std::byte> data(10);
  REQUIRE_FALSE(worlds[0].try_send(rank, {1, 0, 0, 0}, data.data(), data.size()));
  Pending* send = worlds.send(0, rank, 99, data);
  Pending* receive = worlds.recv(0, rank, 99, data);
  REQUIRE((send->done && send->status.code == Code::proc_aborted));
  REQUIRE((receive->done && receive->status.code == Code::proc_aborted));
  Status status;
  REQUIRE(worlds[0].probe(rank, {1, rank, 99, 0}, &status));
  REQUIRE(status.code == Code::proc_aborted);
}

}  // namespace

TEST_CASE("every request to or from a lost peer ends, whatever it was doing", "[p2p][lost]") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    FakeOptions options;
    options.seed = seed;
    options.longest_delay = 2;
    options.capacity = 5;
    options.gets = seed % 2 == 0;
    options.get_from = 2048;
    options.gets_are_judged = seed % 4 == 0;
    options.get_delay = 4;
    options.places = seed % 3 != 0;
    INFO("seed " << seed);
    Worlds worlds(3, options);
    Traffic traffic(worlds, seed);
    for (int i = 0; i < 40; ++i) traffic.step(i);
    worlds.lose(1);
    REQUIRE(worlds.until([&] { return traffic.all_done(); }));
    for (Pending* each : traffic.requests) {
      const Code code = each->status.code;
      REQUIRE((code == Code::ok || code == Code::proc_aborted || code == Code::truncate));
      worlds[0].release(each);
    }
    require_gone(worlds, 1);
    // The other peer is not concerned.
    auto alive = pattern(5000, 1);
    std::vector<std::byte> into(5000);
    Pending* there = worlds.send(2, 0, 1, alive);
    Pending* here = worlds.recv(0, 2, 1, into);
    REQUIRE(worlds.until([&] { return there->done && here->done; }));
    REQUIRE(into == alive);
  }
}

TEST_CASE("what a lost peer had sent in full can still be received", "[p2p][lost]") {
  Worlds worlds(2);
  auto data = pattern(200, 1);
  Pending* send = worlds.send(1, 0, 3, data);
  REQUIRE(send->done);
  worlds.rounds(3);
  worlds.lose(1);
  worlds.rounds(3);
  std::vector<std::byte> into(200);
  Pending* receive = worlds.recv(0, 1, 3, into);
  REQUIRE(worlds.until([&] { return receive->done; }));
  REQUIRE(receive->status.code == Code::ok);
  REQUIRE(into == data);
}

TEST_CASE("a peer that ended is lost when its ordered link says so, not another transport",
          "[p2p][lost]") {
  FakeOptions ordered, other;
  ordered.longest_delay = 30;
  other.name = "other";
  for (const bool is_routed : {false, true}) {
    INFO("routed before: " << is_routed);
    Worlds worlds(2, ordered, Knobs::defaults(), {other});
    std::vector<std::byte> into(200), none(1), any(1);
    std::vector<std::vector<std::byte>> sent;
    for (int i = 0; i < 10; ++i) {
      sent.push_back(pattern(200, static_cast<std::uint64_t>(i)));
      REQUIRE(worlds.send(1, 0, i, sent.back())->done);
    }
    Pending* receive = is_routed ? worlds.recv(0, 1, 0, into) : nullptr;
    // From now on both transports are asked in each round.
    worlds[0].release(worlds[0].recv(kAnySource, {2, kAnySource, 0, 0}, plain(any)));
    worlds.bulk().tell_ended(1);  // the messages come up to 30 rounds later
    worlds[0].progress();
    worlds[0].progress();
    for (int i = 0; i < 10; ++i) {
      if (receive == nullptr) receive = worlds.recv(0, 1, i, into);
      REQUIRE(worlds.until([&] { return receive->done; }));
      REQUIRE(receive->status.code == Code::ok);
      REQUIRE(into == sent[static_cast<std::size_t>(i)]);
      receive = nullptr;
    }
    Pending* const late = worlds.recv(0, 1, 99, none);
    worlds.rounds(10);
    REQUIRE_FALSE(late->done);
    worlds.net().tell_ended(1);
    REQUIRE(worlds.until([&] { return late->done; }));
    REQUIRE(late->status.code == Code::proc_aborted);
    require_gone(worlds, 1);
  }
}

// Each transport knows of it; the one that would carry its messages has to say so.
TEST_CASE("a peer that ended before it was linked is lost, whichever links are named",
          "[p2p][lost]") {
  for (const std::string links : {"auto", "shm", "tcp", "shm,tcp", "tcp,shm"})
    for (const int host : {0, 1}) {
      if (host == 1 && links == "shm") continue;  // does not reach
      INFO(links << ", host " << host);
      auto wireups = wireup::in_threads({0, host, host});
      auto opened = Endpoint::open(*wireups[0], knobs_with({{"TUTTI_LINK", links}}));
      REQUIRE(opened.has_value());
      Endpoint& endpoint = **opened;
      std::vector<std::byte> into(8);
      Pending* const from_it = endpoint.recv(1, {1, 1, 0, 0}, plain(into));
      for (auto& each : wireups)
        each->segment().rank(1).gone.store(1, std::memory_order_release);  // as daemons do
      endpoint.wait(from_it);
      CHECK(from_it->status.code == Code::proc_aborted);
      CHECK(endpoint.loss_text().find("rank 1") != std::string::npos);
      endpoint.release(from_it);
    }
}

TEST_CASE("a receive from any source outlives one of its sources", "[p2p][lost]") {
  Worlds worlds(3);
  std::vector<std::byte> into(8);
  Pending* receive = worlds[0].recv(kAnySource, {1, kAnySource, kAnyTag, 0}, plain(into));
  worlds.lose(1);
  worlds.rounds(20);
  REQUIRE_FALSE(receive->done);
  auto data = pattern(8, 2);
  worlds.send(2, 0, 4, data);
  REQUIRE(worlds.until([&] { return receive->done; }));
  REQUIRE(receive->status.source == 2);
  REQUIRE(into == data);
}

TEST_CASE("a receive from a rank out of reach leaves the other receives alone", "[p2p][lost]") {
  const auto body = [](int rank, Endpoint& endpoint) {
    if (rank != 0) return;
    std::vector<std::byte> data(8);
    std::vector<Pending*> own;
    for (int tag = 0; tag < 3; ++tag) own.push_back(endpoint.recv(0, {1, 0, tag, 0}, plain(data)));
    for (int i = 0; i < 2; ++i) {  // what they leave in the pool is still linked to the third
      endpoint.cancel(own[static_cast<std::size_t>(i)]);
      endpoint.release(own[static_cast<std::size_t>(i)]);
    }
    Pending* const lost = endpoint.recv(1, {1, 1, 0, 0}, plain(data));
    TUTTI_CHECK(lost->done && lost->status.code != Code::ok);
    TUTTI_CHECK(endpoint.counters().posted_now == 1);
    const Pending* const third = own[2];
    endpoint.send(Mode::standard, 0, {1, 0, 2, 0}, plain(data));
    while (!third->done) endpoint.progress();
  };
  in_ranks({0, 1}, body, knobs_with({{"TUTTI_LINK", "shm"}}));
}

// Goodbye is the last that comes of a peer, so it answers nothing any more: offers, what waits for
// its match, and what is asked back.
TEST_CASE("what waits for the answer of a peer that leaves ends", "[p2p][lost]") {
  Worlds worlds(2);
  auto data = pattern(20'000, 1);
  auto small = pattern(8, 2);
  std::vector<Pending*> sends{worlds.send(0, 1, 0, data), worlds.send(0, 1, 1, data),
                              worlds.send(0, 1, 2, small, Mode::synchronous)};
  REQUIRE(worlds.until([&] { return worlds[1].counters().unexpected_now == 3; }));
  worlds[1].close();
  worlds[0].cancel(sends[1]);  // nobody is there to hear of it
  REQUIRE(worlds.until([&] { return sends[0]->done && sends[1]->done && sends[2]->done; }));
  CHECK(sends[0]->status.code == Code::proc_aborted);
  CHECK(sends[1]->status.cancelled);
  CHECK(sends[2]->status.code == Code::proc_aborted);
  for (Pending* each : sends) worlds[0].release(each);
  sends = {worlds.send(0, 1, 3, data), worlds.send(0, 1, 4, small, Mode::synchronous)};
  for (Pending* each : sends) {
    REQUIRE(each->done);
    CHECK(each->status.code == Code::proc_aborted);
    worlds[0].release(each);
  }
}

TEST_CASE("sends that wait for room end with the peer that leaves", "[p2p][lost]") {
  FakeOptions options;
  options.capacity = 2;
  Worlds worlds(2, options);
  auto data = pattern(500, 1);
  worlds.send(1, 0, 0, data);
  REQUIRE(worlds.until([&] { return worlds[0].counters().unexpected_now == 1; }));
  worlds[1].close();
  std::vector<Pending*> sends;
  for (int i = 0; i < 6; ++i) sends.push_back(worlds.send(0, 1, i, data));
  const auto all_done = [&] {
    worlds[0].progress();
    return std::all_of(sends.begin(), sends.end(), [](Pending* each) { return each->done; });
  };
  const std::int64_t deadline = now_ns() + kPatience_ns;
  while (!all_done() && now_ns() < deadline) {
  }
  CHECK(all_done());
}

TEST_CASE("of a peer that no link ever reached is told why", "[p2p][lost]") {
  FakeOptions options;
  options.is_reachable = false;
  Worlds worlds(2, options);
  std::vector<std::byte> data(10);
  Pending* const send = worlds.send(0, 1, 0, data);
  REQUIRE((send->done && send->status.code != Code::ok));
  REQUIRE_FALSE(worlds[0].loss_text().empty());
  worlds[0].release(send);
}
