// How long messages come where both ways are open: judged from figures that are told, and counted
// rightly whatever becomes of a message.
#include "p2p/ways.h"

#include <cmath>

#include "worlds.h"

using namespace tutti;
using namespace tutti::test;
using p2p::Ways;

namespace {

constexpr std::uint64_t kLong = std::uint64_t{1} << 20;
constexpr int kUncounted = Pace::turns_unsettled(kLong);

// One message at a time, of which each way takes so many ns.
struct Pair {
  Ways ways;
  std::int64_t now = 1000, costs[2] = {80'000, 80'000};

  Ways::Way go(std::uint64_t bytes, bool well = true) {
    const Ways::Way way = ways.begin(bytes, now);
    now += costs[way];
    ways.end(way, well, now);
    return way;
  }
  int gets(std::uint64_t bytes, int messages, bool well = true) {
    int gets = 0;
    for (int i = 0; i < messages; ++i) gets += go(bytes, well) == Ways::get ? 1 : 0;
    return gets;
  }
};

FakeOptions judged() {
  FakeOptions options;
  options.gets = options.gets_are_judged = true;
  options.get_from = 2000;
  return options;
}

}  // namespace

TEST_CASE("the faster way is kept, for each size by itself", "[p2p][ways]") {
  Pair pair;
  pair.costs[Ways::get] = 40'000;
  pair.gets(kLong, 40 + kUncounted);
  CHECK(pair.gets(kLong, 640) >= 620);
  pair.costs[Ways::get] = 200'000;
  pair.gets(16 * kLong, 40);
  CHECK(pair.gets(16 * kLong, 640) <= 20);
  pair.costs[Ways::get] = 40'000;
  CHECK(pair.gets(kLong, 64) >= 62);  // one judge's verdict is not another's
  CHECK(pair.gets(16 * kLong, 32) <= 2);
}

TEST_CASE("messages that are under way together are judged as one", "[p2p][ways]") {
  Pair pair;
  const auto window = [&](std::int64_t frames_ns, std::int64_t get_ns) {
    const Ways::Way way = pair.ways.begin(kLong, pair.now);
    for (int more = 0; more < 8; ++more) CHECK(pair.ways.begin(kLong, pair.now) == way);
    pair.now += way == Ways::frames ? frames_ns : get_ns;
    for (int more = 0; more < 9; ++more) pair.ways.end(way, true, pair.now);
    return way == Ways::get ? 1 : 0;
  };
  int gets = 0;
  for (int i = 0; i < 100 + kUncounted; ++i) gets += window(900'000, 500'000);
  CHECK(gets > 80);
}

TEST_CASE("of many messages that are under way together few try another way, and are timed alone",
          "[p2p][ways]") {
  for (const bool frames_win : {false, true}) {
    Ways ways(Ways::get, 4096, 4 * kLong);
    std::int64_t now = 1000;
    int all_in_frames = 0;
    for (int window = 0; window < 60; ++window) {
      const bool is_found = ways.kept(kLong) == Ways::frames;
      int in_frames = 0;
      for (int message = 0; message < 40; ++message)
        in_frames += ways.begin(kLong, now) == Ways::frames ? 1 : 0;
      CHECK((in_frames == 0 || in_frames == (is_found ? 40 : 4)));
      now += in_frames * (frames_win ? 1'000 : 2'000'000);
      for (int message = 0; message < in_frames; ++message) ways.end(Ways::frames, true, now);
      now += (40 - in_frames) * 20'000;
      for (int message = in_frames; message < 40; ++message) ways.end(Ways::get, true, now);
      all_in_frames += in_frames;
    }
    CHECK(all_in_frames > 4);
    CHECK(ways.kept(kLong) == (frames_win ? Ways::frames : Ways::get));
  }
}

TEST_CASE("a stretch too long to be judged is not judged by the few that try another way",
          "[p2p][ways]") {
  constexpr std::uint64_t kBytes = std::uint64_t{64} << 10;
  constexpr int kWindow = 128;
  Ways ways(Ways::get, 4096, kLong);
  std::int64_t now = 1000;
  for (int alone = 0; alone < 40; ++alone) {
    const Ways::Way way = ways.begin(kBytes, now);
    now += way == Ways::get ? 12'000 : 20'000;
    ways.end(way, true, now);
  }
  for (int window = 0; window < 2500; ++window) {
    int in_frames = 0;
    for (int i = 0; i < kWindow; ++i) in_frames += ways.begin(kBytes, now) == Ways::frames ? 1 : 0;
    REQUIRE(in_frames <= static_cast<int>(kLong / kBytes));
    now += in_frames * 6'500;
    for (int i = 0; i < in_frames; ++i) ways.end(Ways::frames, true, now);
    now += (kWindow - in_frames) * 2'000;
    for (int i = in_frames; i < kWindow; ++i) ways.end(Ways::get, true, now);
  }
}

TEST_CASE("while reading is tried no message is said to need no offer", "[p2p][ways]") {
  constexpr std::uint64_t kBytes = kLong / 4;
  Ways ways(Ways::get, 4096, kLong);
  std::int64_t now = 1000;
  int trials = 0;
  for (int window = 0; window < 3000; ++window) {
    std::vector<Ways::Way> went;
    for (int i = 0; i < 6; ++i) went.push_back(ways.begin(kBytes, now));
    const bool is_trial = ways.kept(kBytes) == Ways::frames && went.front() == Ways::get;
    trials += is_trial ? 1 : 0;
    if (is_trial) CHECK(ways.skip(kBytes) == 0);
    for (const Ways::Way way : went) now += way == Ways::get ? 40'000 : 10'000;
    for (const Ways::Way way : went) ways.end(way, true, now);
  }
  CHECK(trials > 1);
}

TEST_CASE("messages of other sizes, and one stretch without an end, say nothing", "[p2p][ways]") {
  Pair pair;
  pair.costs[Ways::get] = 40'000;
  REQUIRE(pair.gets(kLong, 100 + kUncounted) > 80);
  for (int i = 0; i < 100; ++i) {
    pair.ways.begin(kLong, pair.now);
    CHECK(pair.ways.begin(8 * kLong, pair.now) == Ways::frames);
    CHECK(pair.ways.begin(kLong, pair.now) == Ways::get);
    pair.now += 1'000'000'000;
    for (const Ways::Way way : {Ways::get, Ways::frames, Ways::get})
      pair.ways.end(way, true, pair.now);
  }
  pair.ways.begin(kLong, pair.now);
  for (int i = 0; i < 1000; ++i) {  // something always is under way
    pair.ways.begin(kLong, pair.now);
    pair.now += 1'000'000'000;
    pair.ways.end(Ways::get, true, pair.now);
  }
  CHECK(pair.ways.begin(kLong, pair.now) == Ways::get);
  for (int more = 0; more < 2; ++more) pair.ways.end(Ways::get, true, pair.now);
  CHECK(pair.gets(kLong, 64) >= 62);
}

TEST_CASE("a message that ends badly says nothing of its way", "[p2p][ways]") {
  Pair pair;
  pair.costs[Ways::get] = 1;
  pair.gets(kLong, 100, false);
  CHECK(pair.gets(kLong, 1) == 0);
}

TEST_CASE("the way that is first is kept where nothing else is known", "[p2p][ways]") {
  Pair pair{Ways(Ways::get, 4096)};
  CHECK(pair.gets(8, 7) == 7);
  pair.costs[Ways::get] = 40'000;
  CHECK(pair.gets(8, 700) >= 680);
  pair.costs[Ways::get] = 300'000;
  pair.gets(9000, 40);
  CHECK(pair.gets(9000, 600) <= 10);
  CHECK(std::lround(pair.ways.worth(9000, Ways::frames) / 1000) == 80);
  CHECK(std::lround(pair.ways.worth(9000, Ways::get) / 1000) == 300);
  CHECK(pair.ways.kept(8) == Ways::get);
  CHECK(pair.ways.kept(9000) == Ways::frames);
}

TEST_CASE("short messages are judged by the time of each, whatever their lengths", "[p2p][ways]") {
  Pair pair{Ways(Ways::get, 4096)};
  pair.costs[Ways::frames] = 60'000;
  for (int i = 0; i < 40; ++i) pair.go(i % 2 == 0 ? 8 : 4000);
  CHECK(pair.ways.kept(8) == Ways::frames);
}

TEST_CASE("messages that come in frames anyway are passed over until it is time to look again",
          "[p2p][ways]") {
  Pair pair{Ways(Ways::get, 4096)};
  CHECK(pair.ways.skip(8) == 0);
  pair.costs[Ways::get] = 100'000;
  int offered = 0, gets = 0, skipped = 0;
  for (; offered + skipped < 3000; ++offered) {
    gets += pair.go(8) == Ways::get ? 1 : 0;
    skipped += static_cast<int>(pair.ways.skip(8));
  }
  CHECK(offered < 150);
  CHECK(gets > 30);
  pair.costs[Ways::get] = 20'000;  // and then it is seen that the other way is quicker
  for (int i = 0; i < 40; ++i) {
    pair.go(8);
    pair.ways.skip(8);
  }
  CHECK(pair.ways.kept(8) == Ways::get);
  CHECK(pair.ways.skip(8) == 0);
}

TEST_CASE("of each size so many messages need no offer", "[p2p][ways]") {
  p2p::Unasked unasked;
  unasked.set(100, 2);
  unasked.set(9000, ~0U);
  CHECK(unasked.has(4000));
  CHECK(unasked.has(9000));
  CHECK_FALSE(unasked.has(20'000));
  CHECK_FALSE(unasked.has(p2p::kJudgedBelow));
  unasked.take(8);
  CHECK(unasked.has(8));
  unasked.take(8);
  unasked.take(8);
  CHECK_FALSE(unasked.has(8));
  for (std::uint32_t i = 0; i < Judge::kTryAgainAtMost; ++i) unasked.take(9000);
  CHECK_FALSE(unasked.has(9000));
  unasked.set(~std::uint64_t{0}, 5);
  CHECK_FALSE(unasked.has(~std::uint64_t{0}));
}

TEST_CASE("a pair tries both ways, and messages that end otherwise do not stop it", "[p2p][ways]") {
  enum class Turn { whole, truncated, cancelled, together };
  for (const Turn turn : {Turn::whole, Turn::truncated, Turn::cancelled, Turn::together})
    for (const int delay : {0, 3}) {
      INFO("turn: " << static_cast<int>(turn) << " delay " << delay);
      FakeOptions options = judged();
      options.get_delay = delay;
      Worlds worlds(2, options);
      auto data = pattern(kLong, 1);
      std::vector<std::byte> into(kLong), shorter(kLong - 5'000);
      const auto pass = [&](std::uint32_t context, int messages, std::vector<std::byte>& memory) {
        std::vector<Pending*> all;
        for (int i = 0; i < messages; ++i) {
          all.push_back(worlds[1].recv(0, {context, 0, i, 0}, plain(memory)));
          all.push_back(worlds[0].send(Mode::standard, 1, {context, 0, i, 0}, plain(data)));
        }
        if (context != 1) {
          worlds.rounds(2);
          for (const int rank : {0, 1}) worlds[rank].cancel(context, Code::proc_aborted);
        }
        REQUIRE(worlds.until([&] {
          return std::all_of(all.begin(), all.end(), [](Pending* each) { return each->done; });
        }));
        const Code code = all.front()->status.code;
        for (std::size_t i = 0; i < all.size(); ++i) worlds[i % 2 == 0 ? 1 : 0].release(all[i]);
        return code;
      };
      for (std::uint32_t i = 0; i < kUncounted + Judge::kFew; ++i) {
        const std::uint32_t context = turn == Turn::cancelled ? 10 + i : 1;
        const Code code =
            pass(context, turn == Turn::together ? 3 : 1, turn == Turn::truncated ? shorter : into);
        CHECK((turn == Turn::cancelled ||
               code == (turn == Turn::truncated ? Code::truncate : Code::ok)));
      }
      REQUIRE(worlds.net().gets() == 0);
      const auto pass_whole = [&] {
        std::fill(into.begin(), into.end(), std::byte{0});
        REQUIRE(pass(1, 1, into) == Code::ok);
        REQUIRE(into == data);
      };
      // What was not told of must be made up for before the trial.
      std::uint32_t before = 0;
      for (; worlds.net().gets() == 0 && before < 100; ++before) pass_whole();
      REQUIRE(before <= (turn == Turn::whole ? 1 : kUncounted + Judge::kFew + 1));
      for (std::uint32_t i = 1; i < Judge::kTrial; ++i) pass_whole();
      REQUIRE(worlds.net().gets() == Judge::kTrial);
      REQUIRE(worlds.net().regions() == 0);
      REQUIRE(worlds.net().remotes() == 0);
    }
}
