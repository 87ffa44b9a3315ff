// Links as windows will use them: memory is exposed once and imported once by each peer, puts
// overtake each other until they are flushed, and locks and counters are words that atomics change
// while their owner does nothing.
#include <array>
#include <set>
#include <thread>

#include "base/check.h"
#include "fake_transport.h"
#include "rig.h"
#include "types/types.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::size_t kRanks = 3;
constexpr std::size_t kWords = 12;

FakeOptions writable(std::uint64_t seed) {
  FakeOptions options;
  options.seed = seed;
  options.gets = options.puts = true;
  options.get_delay = 1;
  options.put_delay = 5;
  options.longest_delay = 2;
  options.late_done = seed % 2 == 0;
  return options;
}

types::Buffer buffer_of(std::uint64_t& word) {
  return types::Buffer::plain(&word, sizeof word);
}

// Each rank's words, and all others' as that rank reaches them.
class Windows {
 public:
  explicit Windows(const FakeOptions& options) : net(kRanks, options) {
    for (std::size_t me = 0; me < kRanks; ++me) {
      ends[me] = net.open(static_cast<int>(me), &sinks[me]);
      auto region = ends[me]->expose({words[me].data(), sizeof words[me]});
      REQUIRE(region.has_value());
      regions[me] = std::move(*region);
    }
    for (std::size_t me = 0; me < kRanks; ++me)
      for (std::size_t peer = 0; peer < kRanks; ++peer) {
        const Peer to{static_cast<int>(peer), 0, 0, false};
        REQUIRE((ends[me]->traits(to).puts && ends[me]->traits(to).atomics));
        links[me][peer] = std::move(*ends[me]->connect(to, {}));
        auto remote = links[me][peer]->import(regions[peer]->key());
        REQUIRE(remote.has_value());
        remotes[me][peer] = std::move(*remote);
      }
  }
  Result<void> put(std::size_t me, std::size_t peer, std::size_t at, std::uint64_t& word,
                   Done* done) {
    return links[me][peer]->put(*remotes[me][peer], at * sizeof word, buffer_of(word), done);
  }
  void progress() {
    for (auto& end : ends) end->progress();
  }

  FakeNet net;
  std::array<Recorder, kRanks> sinks;
  std::array<std::array<std::uint64_t, kWords>, kRanks> words{};
  std::array<std::unique_ptr<Transport>, kRanks> ends;
  std::array<std::unique_ptr<Region>, kRanks> regions;
  std::array<std::array<std::unique_ptr<Link>, kRanks>, kRanks> links;
  std::array<std::array<std::unique_ptr<Remote>, kRanks>, kRanks> remotes;
};

// What one rank does in another's window, waiting, while that one does nothing.
class Visitor {
 public:
  Visitor(Windows& windows, std::size_t me, std::size_t peer)
      : end_(*windows.ends[me]),
        link_(*windows.links[me][peer]),
        remote_(*windows.remotes[me][peer]) {}

  template <class Word>
  Word atomic(std::size_t at, const Atomic& what) {
    Word before{};
    await([&](Done* done) {
      return link_.atomic(remote_, at * sizeof(std::uint64_t), what, {&before, sizeof before},
                          done);
    });
    return before;
  }
  std::uint64_t get(std::size_t at) {
    std::uint64_t word = 0;
    await([&](Done* done) { return link_.get(remote_, at * sizeof word, buffer_of(word), done); });
    return word;
  }
  void put(std::size_t at, std::uint64_t word) {
    await([&](Done* done) { return link_.put(remote_, at * sizeof word, buffer_of(word), done); });
  }
  void flush() {
    await([&](Done* done) { return link_.flush(done); });
  }

 private:
  template <class Begin>
  void await(const Begin& begin) {
    CountedDone done;
    TUTTI_CHECK(begin(&done).has_value(), "it begins");
    while (done.fired == 0) {
      end_.progress();
      std::this_thread::yield();
    }
    TUTTI_CHECK(done.fired == 1 && done.ok, "it ends well, and once");
  }

  Transport& end_;
  Link& link_;
  Remote& remote_;
};

}  // namespace

TEST_CASE("a fence: what was put is there when its flush was told, and not before", "[windows]") {
  int was_early = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Windows windows(writable(seed));
    constexpr std::size_t kEach = kWords / kRanks;
    std::array<std::array<CountedDone, kRanks>, kRanks> flushed;
    std::array<std::array<std::uint64_t, kEach * kRanks>, kRanks> from{};
    CountedDone put;
    for (std::size_t me = 0; me < kRanks; ++me)
      for (std::size_t peer = 0; peer < kRanks; ++peer) {
        for (std::size_t i = 0; i < kEach; ++i) {
          std::uint64_t& word = from[me][peer * kEach + i];
          word = seed << 32 | me << 16 | peer << 8 | i;
          REQUIRE(windows.put(me, peer, me * kEach + i, word, &put).has_value());
        }
        REQUIRE(windows.links[me][peer]->flush(&flushed[me][peer]).has_value());
      }
    const auto is_there = [&](std::size_t me, std::size_t peer) {
      for (std::size_t i = 0; i < kEach; ++i)
        if (windows.words[peer][me * kEach + i] != (seed << 32 | me << 16 | peer << 8 | i))
          return false;
      return true;
    };
    // A word to each peer whose part is there; who has heard all reads.
    std::array<std::array<bool, kRanks>, kRanks> told{};
    const auto tell = [&](std::size_t me, std::size_t peer) {
      const FrameHeader header = header_for(me);
      was_early += is_there(me, peer) ? 0 : 1;
      if (flushed[me][peer].fired == 0 || told[me][peer]) return;
      REQUIRE((flushed[me][peer].fired == 1 && flushed[me][peer].ok));
      told[me][peer] = windows.links[me][peer]->try_post({&header, nullptr, 0, nullptr});
    };
    std::set<std::size_t> have_read;
    while (have_read.size() < kRanks) {
      windows.progress();
      for (std::size_t me = 0; me < kRanks; ++me) {
        for (std::size_t peer = 0; peer < kRanks; ++peer) tell(me, peer);
        if (windows.sinks[me].frames.size() < kRanks || have_read.count(me) == 1) continue;
        have_read.insert(me);
        for (std::size_t other = 0; other < kRanks; ++other) REQUIRE(is_there(other, me));
      }
    }
    REQUIRE(put.fired == kRanks * kRanks * kEach);
  }
  REQUIRE(was_early > 100);  // else the flushes proved nothing
}

TEST_CASE("a lock in a window: nobody loses another's change, its owner does nothing",
          "[windows]") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Windows windows(writable(seed));
    constexpr std::size_t kLock = 3, kCount = 5;
    constexpr std::uint64_t kTurns = 40;
    std::vector<std::thread> threads;
    for (const std::size_t me : {std::size_t{1}, std::size_t{2}})
      threads.emplace_back([&windows, me] {
        Visitor visitor(windows, me, 0);
        for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
          while (visitor.atomic<std::uint64_t>(kLock, {Atomic::Kind::compare_swap, me, 0}) != 0) {
          }
          visitor.put(kCount, visitor.get(kCount) + 1);
          visitor.flush();
          TUTTI_CHECK(visitor.atomic<std::uint64_t>(kLock, {Atomic::Kind::swap, 0, 0}) == me,
                      "the lock is still ours");
        }
      });
    for (std::thread& each : threads) each.join();
    CHECK(windows.words[0][kCount] == 2 * kTurns);
    CHECK(windows.words[0][kLock] == 0);
  }
}

TEST_CASE("a counter in a window: each of its values is drawn once", "[windows]") {
  Windows windows(writable(1));
  constexpr std::size_t kLong = 0, kShort = 1;
  constexpr std::uint32_t kDraws = 50;
  windows.words[0][kShort] = std::uint64_t{7} << 32;  // the short one's neighbour
  std::array<std::vector<std::uint64_t>, kRanks> drawn;
  std::vector<std::thread> threads;
  for (std::size_t me = 0; me < kRanks; ++me)
    threads.emplace_back([&windows, &drawn, me] {
      Visitor visitor(windows, me, 0);
      for (std::uint32_t i = 0; i < kDraws; ++i) {
        drawn[me].push_back(visitor.atomic<std::uint64_t>(kLong, {Atomic::Kind::add, 1}));
        visitor.atomic<std::uint32_t>(kShort, {Atomic::Kind::add, 0xffff'ffff});
      }
    });
  for (std::thread& each : threads) each.join();
  std::set<std::uint64_t> all;
  for (const auto& each : drawn) all.insert(each.begin(), each.end());
  CHECK(all.size() == kRanks * kDraws);
  CHECK(*all.rbegin() == kRanks * kDraws - 1);
  CHECK(windows.words[0][kShort] ==
        (std::uint64_t{7} << 32 | ((std::uint64_t{0} - kRanks * kDraws) & 0xffff'ffff)));
}

TEST_CASE("what cannot arrive its flush tells; what nobody wants any more touches nothing",
          "[windows]") {
  Windows windows(writable(1));
  std::uint64_t word = 77;
  CountedDone put, flushed, never;
  REQUIRE(windows.put(1, 0, 2, word, &put).has_value());
  windows.regions[0].reset();
  REQUIRE(windows.links[1][0]->flush(&flushed).has_value());
  while (flushed.fired == 0) windows.progress();
  CHECK_FALSE(flushed.ok);
  CHECK(windows.words[0][2] == 0);
  // Its next flush is of what comes after.
  CountedDone again;
  REQUIRE(windows.put(1, 2, 2, word, &put).has_value());
  REQUIRE(windows.links[1][2]->flush(&again).has_value());
  while (again.fired == 0) windows.progress();
  CHECK(again.ok);
  CHECK(windows.words[2][2] == 77);
  std::uint64_t before = 5;
  REQUIRE(windows.links[1][2]
              ->atomic(*windows.remotes[1][2], 0, {Atomic::Kind::add, 1}, {&before, sizeof before},
                       &never)
              .has_value());
  windows.remotes[1][2].reset();
  for (int i = 0; i < 20; ++i) windows.progress();
  CHECK((never.fired == 0 && before == 5 && windows.words[2][0] == 0));
}
