// A context is cancelled in the middle of everything: all of it ends, the rest goes on.
#include <deque>
#include <random>

#include "worlds.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::uint32_t kCancelled = 8, kAlive = 10;
constexpr int kRanks = 3;

// Random messages among the ranks in one context; every send has its receive, or not.
struct Traffic {
  struct Pair {
    std::vector<std::byte> sent, received;
    Pending *send = nullptr, *receive = nullptr;
  };
  Traffic(Worlds& among, std::uint32_t in, unsigned seed)
      : worlds(among), context(in), random(seed) {}

  std::size_t bytes() {
    const std::size_t choices[] = {random() % 100, random() % 3000, random() % 30'000};
    return choices[random() % 3];
  }
  void send(Pair& pair, int from, int to, int tag) {
    const Mode mode = random() % 4 == 0 ? Mode::synchronous : Mode::standard;
    pair.send = worlds[from].send(mode, to, {context, from, tag, 0}, plain(pair.sent));
  }
  void receive(Pair& pair, int from, int to, int tag) {
    pair.receive = worlds[to].recv(from, {context, from, tag, 0}, plain(pair.received));
  }
  // One of them may be missing.
  void step(int tag, bool is_whole) {
    Pair& pair = pairs.emplace_back();
    pair.sent = pattern(bytes(), random());
    pair.received.resize(pair.sent.size());
    const int from = static_cast<int>(random() % kRanks);
    const int to = static_cast<int>((static_cast<unsigned>(from) + 1 + random() % 2) % kRanks);
    const bool receives_first = random() % 2 == 0;
    const unsigned which = is_whole ? 2 : random() % 4;  // 0: send only, 1: receive only
    if (receives_first && which != 0) receive(pair, from, to, tag);
    if (which != 1) send(pair, from, to, tag);
    worlds.rounds(static_cast<int>(random() % 3));
    if (!receives_first && which != 0) receive(pair, from, to, tag);
  }
  template <class Good>
  bool all(const Good& good) const {
    return std::all_of(pairs.begin(), pairs.end(), [&](const Pair& pair) {
      return (pair.send == nullptr || good(*pair.send)) &&
             (pair.receive == nullptr || good(*pair.receive));
    });
  }
  bool all_done() const {
    return all([](const Pending& request) { return request.done; });
  }
  bool all_arrived() const {
    return std::all_of(pairs.begin(), pairs.end(),
                       [](const Pair& pair) { return pair.received == pair.sent; });
  }

  Worlds& worlds;
  const std::uint32_t context;
  std::mt19937 random;
  std::deque<Pair> pairs;
};

// A bulk link beside it, or none.
std::vector<FakeOptions> bulk_of(unsigned seed) {
  if (seed % 4 < 2) return {};
  FakeOptions bulk;
  bulk.name = "bulk";
  bulk.seed = seed;
  bulk.bulk_from = 2500;
  bulk.longest_delay = 4;
  bulk.capacity = 5;
  bulk.late_done = seed % 3 == 0;
  return {bulk};
}

FakeOptions options_of(unsigned seed) {
  FakeOptions options;
  options.seed = seed;
  options.longest_delay = static_cast<int>(seed % 3);
  options.capacity = 5;
  options.gets = seed % 2 == 0;
  options.get_from = 2048;
  options.gets_are_judged = seed % 4 == 0;
  options.get_delay = 4;
  options.places = seed % 3 != 0;
  options.late_done = seed % 5 == 0;
  return options;
}

}  // namespace

TEST_CASE("a cancelled context ends with its code, others go on", "[p2p][cancel]") {
  for (unsigned seed = 0; seed < 120; ++seed) {
    INFO("seed " << seed);
    Worlds worlds(kRanks, options_of(seed), knobs_with({{"TUTTI_UNEXPECTED_BYTES", "65536"}}),
                  bulk_of(seed));
    Traffic doomed(worlds, kCancelled, seed), alive(worlds, kAlive, seed + 1000);
    for (int i = 0; i < 30; ++i) doomed.step(i, false), alive.step(i, true);
    // Each rank learns of it at a time of its own, and some go on posting meanwhile.
    for (int rank = 0; rank < kRanks; ++rank) {
      worlds[rank].cancel(kCancelled, Code::proc_aborted);
      worlds.rounds(static_cast<int>(doomed.random() % 6));
      doomed.step(100 + rank, false);
    }
    REQUIRE(worlds.until([&] { return doomed.all_done() && alive.all_done(); }));
    CHECK(doomed.all([](const Pending& request) {
      return request.status.code == Code::ok || request.status.code == Code::proc_aborted;
    }));
    CHECK(alive.all([](const Pending& request) { return request.status.code == Code::ok; }));
    CHECK(alive.all_arrived());
    worlds.rounds(60);
    for (int rank = 0; rank < kRanks; ++rank) {
      CHECK(worlds[rank].counters().unexpected_now == 0);
      CHECK(worlds[rank].counters().posted_now == 0);
      CHECK(worlds.core(rank).kept_bytes() == 0);
      CHECK_FALSE(worlds[rank].is_used(kCancelled));
    }
  }
}

TEST_CASE("a peer that dies while a context is cancelled", "[p2p][cancel]") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    Worlds worlds(kRanks, options_of(seed), Knobs::defaults(), bulk_of(seed));
    Traffic doomed(worlds, kCancelled, seed);
    for (int i = 0; i < 30; ++i) doomed.step(i, false);
    worlds.lose(2);
    worlds.rounds(static_cast<int>(seed % 4));
    for (int rank = 0; rank < 2; ++rank) worlds[rank].cancel(kCancelled, Code::other);
    worlds.rounds(200);
    for (int rank = 0; rank < 2; ++rank) CHECK_FALSE(worlds[rank].is_used(kCancelled));
  }
}

namespace {

// A long message from rank 0 to 1 that neither has ended, though data have come.
struct UnderWay {
  UnderWay() {
    worlds.rounds(6);
    REQUIRE_FALSE(send->done);
    REQUIRE(into[0] == data[0]);
  }
  void until_done() {
    REQUIRE(worlds.until([&] { return send->done && receive->done; }));
  }
  static FakeOptions narrow() {
    FakeOptions options;
    options.capacity = 2;
    return options;
  }
  Worlds worlds{2, narrow()};
  std::vector<std::byte> data = pattern(200'000, 1);
  std::vector<std::byte> into = std::vector<std::byte>(data.size());
  Pending* const receive = worlds[1].recv(0, {kCancelled, 0, 1, 0}, plain(into));
  Pending* const send = worlds[0].send(Mode::standard, 1, {kCancelled, 0, 1, 0}, plain(data));
};

}  // namespace

TEST_CASE("a transfer cancelled by its sender ends at its receiver too", "[p2p][cancel]") {
  UnderWay message;
  message.worlds[0].cancel(kCancelled, Code::proc_aborted);
  message.until_done();
  CHECK(message.send->status.code == Code::proc_aborted);
  CHECK(message.receive->status.code == Code::proc_aborted);
}

TEST_CASE("a receive that its sender goes on to fill ends with its code", "[p2p][cancel]") {
  UnderWay message;
  message.worlds[1].cancel(kCancelled, Code::proc_aborted);
  message.until_done();
  CHECK(message.receive->status.code == Code::proc_aborted);
}

TEST_CASE("an offer to a cancelled context ends at its sender", "[p2p][cancel]") {
  Worlds worlds(2);
  auto data = pattern(50'000, 1);
  worlds[1].cancel(kCancelled, Code::other);
  Pending* const send = worlds[0].send(Mode::standard, 1, {kCancelled, 0, 1, 0}, plain(data));
  auto few = pattern(10, 2);
  Pending* const asking = worlds[0].send(Mode::synchronous, 1, {kCancelled, 0, 1, 0}, plain(few));
  REQUIRE(worlds.until([&] { return send->done && asking->done; }));
  CHECK(send->status.code == Code::other);
  CHECK(asking->status.code == Code::other);
}

TEST_CASE("late messages of a cancelled context are dropped, and cost nothing", "[p2p][cancel]") {
  // Credit comes back as if each had been received.
  const auto delayed = [](bool is_cancelled) {
    Worlds worlds(2, {}, knobs_with({{"TUTTI_UNEXPECTED_BYTES", "65536"}}));
    auto data = pattern(1000, 1);
    std::vector<std::byte> into(1000);
    worlds[0].release(worlds[0].recv(1, {kAlive, 1, 0, 0}, plain(into)));  // looks at its link
    if (is_cancelled) worlds[0].cancel(kCancelled, Code::other);
    for (int i = 0; i < 1000; ++i) {
      if (!is_cancelled) worlds[0].release(worlds[0].recv(1, {kCancelled, 1, i, 0}, plain(into)));
      worlds[1].release(worlds[1].send(Mode::standard, 0, {kCancelled, 1, i, 0}, plain(data)));
      worlds.rounds(2);
    }
    CHECK(worlds[0].counters().unexpected_now == 0);
    CHECK(worlds.core(0).kept_bytes() == 0);
    return worlds[1].counters().sends_delayed;
  };
  CHECK(delayed(true) == delayed(false));
}

TEST_CASE("what is posted in a cancelled context ends at once", "[p2p][cancel]") {
  Worlds worlds(2);
  auto data = pattern(100, 1);
  worlds[0].cancel(kCancelled, Code::proc_aborted);
  const Envelope envelope{kCancelled, 1, 5, 0};
  const Pending* const receive = worlds[0].recv(1, envelope, plain(data));
  const Pending* const send = worlds[0].send(Mode::standard, 1, {kCancelled, 0, 5, 0}, plain(data));
  CHECK((receive->done && receive->status.code == Code::proc_aborted));
  CHECK((send->done && send->status.code == Code::proc_aborted));
  CHECK(worlds[0].recv_now(kAnySource, {kCancelled, kAnySource, 5, 0}, plain(data)).code ==
        Code::proc_aborted);
  Status status;
  CHECK(worlds[0].probe(1, envelope, &status));
  CHECK(status.code == Code::proc_aborted);
}

TEST_CASE("what a matched probe took from a cancelled context ends with its code",
          "[p2p][cancel]") {
  for (const std::size_t bytes : {std::size_t{10}, std::size_t{30'000}}) {
    CAPTURE(bytes);
    Worlds worlds(2);
    auto data = pattern(bytes, 1);
    const Envelope envelope{kCancelled, 0, 5, 0};
    Pending* const sent = worlds[0].send(Mode::standard, 1, envelope, plain(data));
    p2p::KeptMessage* taken = nullptr;
    Status status;
    REQUIRE(
        worlds.until([&] { return (taken = worlds[1].take(0, envelope, &status)) != nullptr; }));
    worlds[1].cancel(kCancelled, Code::proc_aborted);
    REQUIRE(worlds.until([&] { return sent->done; }));  // an offer is answered though nobody asks
    CHECK(sent->status.code == (bytes > 1000 ? Code::proc_aborted : Code::ok));
    std::vector<std::byte> into(bytes);
    Pending* const received = worlds[1].recv_taken(taken, plain(into));
    REQUIRE(received->done);
    CHECK(received->status.code == Code::proc_aborted);
    CHECK(into == std::vector<std::byte>(bytes));
    worlds[0].release(sent);
    worlds[1].release(received);
  }
}

TEST_CASE("what a matched probe took and nobody receives is freed at the end", "[p2p][cancel]") {
  Worlds worlds(2);
  auto data = pattern(10, 1);
  const Envelope envelope{kAlive, 0, 5, 0};
  worlds[0].release(worlds[0].send(Mode::standard, 1, envelope, plain(data)));
  Status status;
  REQUIRE(worlds.until([&] { return worlds[1].take(0, envelope, &status) != nullptr; }));
  CHECK(status.code == Code::ok);
  worlds.end(1);  // the leak checker looks
}
