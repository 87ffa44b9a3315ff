// Payloads that their receiver keeps: how long they stay, and when their room is the writer's
// again.
#include <algorithm>
#include <random>

#include "every_link.h"
#include "lane_memory.h"
#include "rounds.h"
#include "transport/shm/lane.h"

using namespace tutti;             // NOLINT(google-build-using-namespace): a test
using namespace tutti::test;       // NOLINT(google-build-using-namespace)
using namespace tutti::transport;  // NOLINT(google-build-using-namespace)
using Got = shm::Reader::Got;

namespace {

constexpr std::size_t kLong = 40'000;
constexpr std::uint32_t kUnits = 625;  // of such a frame
constexpr std::size_t kHalf = 6;       // so many of them are at most half of the ring

struct Lane final : LaneMemory, Lender {
  shm::Writer writer{bytes(), geometry};
  shm::Reader reader{bytes(), geometry, 3, this};
  Recorder sink;
  std::uint64_t sent = 0;

  Lane() : LaneMemory(64) { sink.borrows = true; }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() { sink.kept.clear(); }

  bool write(std::size_t length) {
    const auto data = pattern(length, sent);
    if (!write_to(writer, sent, data)) return false;
    ++sent;
    return true;
  }
  void read() {
    while (reader.has_frame()) REQUIRE(reader.deliver(sink) == Got::frame);
  }
  // Units that are the writer's again.
  std::uint32_t given_back() { return static_cast<std::uint32_t>(counters().consumed.load()); }
  void take_back(std::uint64_t number) override {
    REQUIRE(number >> 32 == 3);
    reader.take_back(static_cast<std::uint32_t>(number));
  }
};

bool is_whole(const Kept& kept) {
  const auto wanted = pattern(kept.payload.size(), kept.number);
  return std::equal(wanted.begin(), wanted.end(), kept.payload.begin());
}

}  // namespace

TEST_CASE("long frames are lent, of half of a ring at most, and short ones never", "[loan]") {
  Lane lane;
  for (std::size_t i = 0; i < kHalf; ++i) REQUIRE(lane.write(kLong));
  lane.read();
  CHECK(lane.sink.kept.size() == kHalf);
  CHECK(lane.given_back() == 0);
  lane.sink.places = GENERATE(false, true);
  REQUIRE(lane.write(kLong));
  REQUIRE(lane.write(8 << 10));
  REQUIRE(lane.write(10));
  lane.read();
  CHECK(lane.sink.kept.size() == kHalf);
  REQUIRE(lane.sink.frames.size() == kHalf + 3);
  CHECK(lane.sink.frames[kHalf].placed == lane.sink.places);
  for (const Received& each : lane.sink.frames)
    CHECK(each.payload == pattern(each.payload.size(), each.header.length));
  CHECK(lane.given_back() == 0);
  lane.sink.kept.clear();
  CHECK(lane.given_back() == (kHalf + 1) * kUnits + 128);
  REQUIRE(lane.write(8 << 10));
  lane.read();
  CHECK(lane.sink.kept.empty());
  CHECK(lane.given_back() == (kHalf + 1) * kUnits + 256);
}

TEST_CASE("room is given back in the order of the frames, whichever loan ends first", "[loan]") {
  Lane lane;
  for (const std::size_t bytes : {kLong, std::size_t{1000}, kLong, kLong})
    REQUIRE(lane.write(bytes));
  lane.read();
  auto& kept = lane.sink.kept;
  REQUIRE(kept.size() == 3);
  kept[1].loan.end();
  CHECK(lane.given_back() == 0);
  kept[0].loan.end();
  CHECK(lane.given_back() == 2 * kUnits + 16);
  REQUIRE(lane.write(1000));  // behind the one that is left
  lane.read();
  CHECK(lane.given_back() == 2 * kUnits + 16);
  kept[2].loan.end();
  CHECK(lane.given_back() == 3 * kUnits + 32);
}

TEST_CASE("a lane whose ring is held up goes on with what needs no ring", "[loan]") {
  Lane lane;
  REQUIRE(lane.write(kLong));
  lane.read();
  while (lane.write(kLong)) {
    REQUIRE(lane.sent <= 8192 / kUnits);
    lane.sink.borrows = false;
    lane.read();
  }
  CHECK(lane.sent == 8192 / kUnits);
  CHECK(lane.counters().starving.load() == 1);
  for (int i = 0; i < 200; ++i) {
    REQUIRE(lane.write(20));
    lane.read();
  }
  CHECK(lane.sink.frames.size() == lane.sent);
  REQUIRE(is_whole(lane.sink.kept[0]));
  lane.sink.kept.clear();
  CHECK(lane.write(kLong));
}

TEST_CASE("what is lent stays as it is while its lane goes round and round", "[loan]") {
  const auto seed = static_cast<unsigned>(GENERATE(range(0, rounds(20))));
  std::mt19937 random(seed);
  Lane lane;
  std::size_t most = 0, loans = 0;
  for (int step = 0; step < 4000; ++step) {
    lane.sink.places = random() % 2 == 0;
    lane.sink.borrows = random() % 4 != 0;
    lane.write(random() % 3 == 0 ? random() % 9000 : 8193 + random() % 50'000);
    const std::size_t before = lane.sink.kept.size();
    if (random() % 2 == 0) lane.read();
    auto& kept = lane.sink.kept;
    loans += kept.size() - before;
    std::size_t bytes = 0;
    for (const Kept& each : kept) bytes += each.payload.size();
    most = std::max(most, bytes);
    while (!kept.empty() && random() % 3 == 0) {
      const auto at = kept.begin() + static_cast<std::ptrdiff_t>(random() % kept.size());
      REQUIRE(is_whole(*at));
      kept.erase(at);
    }
  }
  lane.read();
  CHECK(loans > 300);
  CHECK(most <= 8192 * shm::kUnit / 2);
  CHECK(most > 8192 * shm::kUnit / 4);
  for (const Kept& each : lane.sink.kept) REQUIRE(is_whole(each));
  REQUIRE(lane.sink.frames.size() == lane.sent);
  for (std::size_t i = 0; i < lane.sent; ++i) {
    const Received& each = lane.sink.frames[i];
    REQUIRE(each.header.length == i);
    REQUIRE(each.payload == pattern(each.payload.size(), i));
  }
  lane.sink.kept.clear();
  for (int i = 0; i < 12; ++i) REQUIRE(lane.write(kLong));  // all of the ring is free
}

TEST_CASE("a loan may end while frames are handed over, and none of these is given back before",
          "[loan]") {
  Lane lane;
  const std::size_t bytes = GENERATE(10U, 1000U, 40'000U);
  const bool borrows = GENERATE(true, false);
  REQUIRE(lane.write(kLong));
  lane.read();
  const std::uint64_t lines = lane.counters().consumed.load() >> 32;
  lane.sink.borrows = borrows;
  lane.sink.also = [&](const Received&) {
    for (Kept& each : lane.sink.kept) each.loan.end();
    CHECK(lane.given_back() == kUnits);
    CHECK(lane.counters().consumed.load() >> 32 == lines);
  };
  REQUIRE(lane.write(bytes));
  lane.read();
  CHECK(lane.given_back() == kUnits + (bytes > shm::kInlineBytes ? (bytes + 63) / 64 : 0));
  CHECK(lane.counters().consumed.load() >> 32 == lines + 1);
}

TEST_CASE("what is lent stays when its peer is given up, or not believed", "[loan]") {
  Lane lane;
  const bool is_believed = GENERATE(true, false);
  if (!is_believed) lane.sink.believes = 1;
  REQUIRE(lane.write(kLong));
  REQUIRE(lane.write(kLong));
  CHECK(lane.reader.deliver(lane.sink) == Got::frame);
  CHECK(lane.reader.deliver(lane.sink) == (is_believed ? Got::frame : Got::unbelieved));
  lane.reader.give_up();
  for (const Kept& each : lane.sink.kept) CHECK(is_whole(each));
  CHECK(lane.given_back() == 0);
  lane.sink.kept.clear();
  CHECK(!lane.reader.has_frame());
}

// What a rank that ran wild may have left in the segment.
TEST_CASE("frames that say that they take no room are not lent without end", "[loan]") {
  Lane lane;
  auto* const lines =
      reinterpret_cast<shm::LaneLine*>(lane.bytes() + shm::kCounterLines * kCacheLine);
  std::uint32_t written = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    lane.counters().consumed.store(std::uint64_t{i} << 32 | written);
    REQUIRE(lane.write(kLong));
    written = std::exchange(lines[i % 64].ring.end, 0);
    CHECK(lane.reader.deliver(lane.sink) == Got::frame);
  }
  CHECK(lane.sink.kept.size() == 32);
}

TEST_CASE("links lend long frames, or give no loan; peers that end leave what is lent", "[loan]") {
  for_every_link([](const std::string& name) {
    Rig rig = Rig::over(name, 2);
    const int to = target(name);
    rig[to].sink.borrows = true;
    Link& link = rig.link(name, 0, to);
    // Of which a lane holds all that are kept here, and what comes behind them.
    const std::size_t largest =
        std::min<std::size_t>(rig[0].transport(name)->traits(rig.peer(0, to)).max_frame, 64 << 10);
    auto& frames = rig[to].sink.frames;
    auto& kept = rig[to].sink.kept;
    for (std::size_t i = 0; i < 200; ++i) {
      post(rig, link, i, pattern(i % 10 == 0 ? largest : 100, i));
      if (i % 20 == 19 && !kept.empty()) kept.erase(kept.begin());
    }
    rig.until([&] { return frames.size() == 200; });
    for (std::size_t i = 0; i < 200; ++i) REQUIRE(frames[i].header.length == i);
    REQUIRE(kept.empty() == (name != "shm"));
    if (to != 0) {
      rig[0].links.clear();
      rig.drop(0);
    }
    for (const Kept& each : kept) REQUIRE(is_whole(each));
    kept.clear();
  });
}

TEST_CASE("a writer that sleeps before a full lane is woken when a loan ends", "[loan]") {
  Rig rig = Rig::over("shm", 2);
  if (rig[0].transport("shm") == nullptr) return;
  rig[1].sink.borrows = true;
  Link& link = rig.link("shm", 0, 1);
  const auto data = pattern(rig[0].transport("shm")->traits(rig.peer(0, 1)).max_frame, 0);
  const FrameHeader header = header_for(0);
  FrameView frame{&header, data.data(), data.size()};
  frame.is_piece = true;  // all in the ring
  while (link.try_post(frame) || rig[1].progress() > 0) REQUIRE(rig[1].sink.frames.size() < 1000);
  REQUIRE_FALSE(link.try_post(frame));
  auto& sleep = rig[0].wireup->segment().local(0).sleep;
  sleep.store(static_cast<std::uint32_t>(wireup::SleepState::futex));
  rig[1].sink.kept.erase(rig[1].sink.kept.begin());
  CHECK(sleep.load() == static_cast<std::uint32_t>(wireup::SleepState::awake));
  CHECK(link.try_post(frame));
}
