// Long frames of a lane: what the reader does with one that is not whole yet. The writer here has
// always written all; how much of it is shown is turned back by hand.
#include "transport/shm/lane.h"

#include <cstring>
#include <random>

#include "lane_memory.h"
#include "rig.h"

using namespace tutti;             // NOLINT(google-build-using-namespace): a test
using namespace tutti::test;       // NOLINT(google-build-using-namespace)
using namespace tutti::transport;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t kBytes = 40'000;

struct Lane : LaneMemory {
  Lane() : LaneMemory(8) {}
  shm::Writer writer{bytes(), geometry};
  shm::Reader reader{bytes(), geometry, 3};
  Recorder sink;

  // Of the frame that is written next.
  shm::LaneLine& line(std::size_t number) {
    return reinterpret_cast<shm::LaneLine&>(memory[shm::kCounterLines + number]);
  }
  void write(std::size_t length, std::size_t seed) {
    const auto data = pattern(length, seed);
    REQUIRE(write_to(writer, seed, data));
  }
  void show(std::size_t number, std::size_t shown) {
    line(number).ring.shown.store(static_cast<std::uint32_t>(shown));
  }
  // A long frame is written, and so many bytes of it are taken to where the sink wants them.
  void take_first(std::size_t bytes) {
    sink.places = true;
    write(kBytes, 1);
    show(0, bytes);
    CHECK(reader.deliver(sink) == shm::Reader::Got::part);
  }
  std::uint64_t consumed() { return counters().consumed.load(); }
};

}  // namespace

TEST_CASE("a long frame is copied as it is shown, and given when all is there", "[lane]") {
  using Got = shm::Reader::Got;
  Lane lane;
  lane.sink.places = true;
  lane.write(kBytes, 1);
  lane.write(10, 2);
  lane.show(0, 10'000);
  REQUIRE(lane.reader.has_frame());
  CHECK(lane.reader.deliver(lane.sink) == Got::part);
  CHECK(lane.reader.deliver(lane.sink) == Got::nothing);
  lane.show(0, 39'999);
  CHECK(lane.reader.deliver(lane.sink) == Got::part);
  CHECK(lane.sink.frames.empty());
  CHECK(lane.consumed() == 0);
  lane.show(0, kBytes);
  CHECK(lane.reader.deliver(lane.sink) == Got::frame);
  REQUIRE(lane.sink.frames.size() == 1);
  CHECK(lane.sink.frames[0].placed);
  CHECK(lane.sink.frames[0].payload == pattern(kBytes, 1));
  CHECK(lane.consumed() != 0);
  CHECK(lane.reader.deliver(lane.sink) == Got::frame);
  CHECK(lane.sink.frames[1].payload == pattern(10, 2));
}

TEST_CASE("a long frame that the sink wants nowhere is given whole", "[lane]") {
  using Got = shm::Reader::Got;
  Lane lane;
  lane.write(kBytes, 1);
  lane.show(0, kBytes - 1);
  CHECK(lane.reader.deliver(lane.sink) == Got::nothing);
  CHECK(lane.reader.deliver(lane.sink) == Got::nothing);
  lane.show(0, kBytes);
  CHECK(lane.reader.deliver(lane.sink) == Got::frame);
  REQUIRE(lane.sink.frames.size() == 1);
  CHECK(!lane.sink.frames[0].placed);
  CHECK(lane.sink.frames[0].payload == pattern(kBytes, 1));
}

TEST_CASE("nothing is written beyond a long frame, whatever its line says", "[lane]") {
  using Got = shm::Reader::Got;
  Lane lane;
  lane.take_first(5'000);
  lane.show(0, 4'000);
  CHECK(lane.reader.deliver(lane.sink) == Got::nothing);
  lane.show(0, 10 * kBytes);
  CHECK(lane.reader.deliver(lane.sink) == Got::frame);
  CHECK(lane.sink.frames.at(0).payload == pattern(kBytes, 1));
}

// What a rank that ran wild may have left in the segment.
TEST_CASE("a long frame stays as long as it was when its place was asked for", "[lane]") {
  using Got = shm::Reader::Got;
  Lane lane;
  lane.take_first(5'000);
  lane.line(0).control.store(lane.line(0).control.load() + 20'000);
  lane.line(0).ring.at = 7'000;
  lane.show(0, kBytes + 20'000);
  CHECK(lane.reader.deliver(lane.sink) == Got::frame);
  CHECK(lane.sink.frames.at(0).payload == pattern(kBytes, 1));
}

TEST_CASE("a long frame of which a part was taken does not become a short one", "[lane]") {
  using Got = shm::Reader::Got;
  Lane lane;
  lane.take_first(5'000);
  lane.line(0).control.store((lane.line(0).control.load() >> 32 << 32) | 8);
  CHECK(lane.reader.deliver(lane.sink) == Got::unbelieved);
  CHECK(lane.sink.frames.empty());
}

TEST_CASE("a frame that does not lie in the ring is not believed", "[lane]") {
  using Got = shm::Reader::Got;
  const std::uint32_t bytes = GENERATE(5'000U, 40'000U);
  const auto spoil = GENERATE(
      +[](shm::LaneLine& line) { line.ring.at = 8'180; },
      +[](shm::LaneLine& line) { line.ring.at = 0xffffffff; },
      +[](shm::LaneLine& line) { line.control.store(line.control.load() | 0xffffffff); },
      +[](shm::LaneLine& line) { line.control.store(line.control.load() | 0x7fff8000); });
  Lane lane;
  lane.sink.places = true;
  lane.write(bytes, 1);
  spoil(lane.line(0));
  REQUIRE(lane.reader.has_frame());
  CHECK(lane.reader.deliver(lane.sink) == Got::unbelieved);
  CHECK(lane.sink.frames.empty());
  CHECK(!lane.reader.has_frame());
}

TEST_CASE("of a peer that is given up no frame is finished", "[lane]") {
  Lane lane;
  lane.take_first(5'000);
  lane.reader.give_up();
  lane.show(0, kBytes);
  CHECK(!lane.reader.has_frame());
  CHECK(lane.sink.frames.empty());
}

TEST_CASE("frames of all lengths go through a lane again and again", "[lane]") {
  Lane lane;
  std::size_t sent = 0;
  for (std::size_t bytes = 0; bytes <= lane.geometry.max_frame(); bytes += 1 + bytes / 7) {
    lane.sink.places = sent % 2 == 0;
    lane.write(bytes, sent++);
    while (lane.sink.frames.size() < sent) {
      REQUIRE(lane.reader.has_frame());
      lane.reader.deliver(lane.sink);
    }
    REQUIRE(lane.sink.frames.back().payload == pattern(bytes, sent - 1));
  }
}

// Its lines are control words of other frames in a later lap, as they might lie in a user's buffer.
TEST_CASE("payload that goes on in lines and looks like frames is none", "[lane]") {
  Lane lane;
  std::mt19937 random(1);
  const auto frame_of = [](std::uint32_t lap) { return std::uint64_t{lap} << 32 | 8; };
  for (std::uint64_t sent = 0; sent < 3000; ++sent) {
    // All laps to come, so that each line is that of the next one in turn.
    std::vector<std::byte> data(random() % 3 == 0 ? random() % 25 : 25 + random() % 448);
    const auto lap = static_cast<std::uint32_t>(sent / 4 + random() % 3);
    const std::uint64_t word = frame_of(lap);
    for (std::size_t at = 0; at + sizeof word <= data.size(); at += sizeof word)
      std::memcpy(data.data() + at, &word, sizeof word);
    if (!write_to(lane.writer, sent, data)) {
      FAIL("the lane is full, though nothing is in it");
    }
    REQUIRE(lane.reader.has_frame());
    REQUIRE(lane.reader.deliver(lane.sink) == shm::Reader::Got::frame);
    REQUIRE(lane.sink.frames.back().header.length == sent);
    REQUIRE(lane.sink.frames.back().payload == data);
    REQUIRE(!lane.reader.has_frame());
  }
}

TEST_CASE("a lane that is full of frames of some lines holds each until it is read", "[lane]") {
  Lane lane;
  std::uint64_t sent = 0, got = 0;
  std::mt19937 random(2);
  std::vector<std::size_t> lengths;
  for (int turn = 0; turn < 2000; ++turn) {
    for (;;) {
      const std::size_t bytes = random() % 473;
      const auto data = pattern(bytes, sent);
      if (!write_to(lane.writer, sent, data)) break;
      lengths.push_back(bytes);
      ++sent;
    }
    for (std::size_t some = 1 + random() % 5; some > 0 && lane.reader.has_frame(); --some, ++got) {
      REQUIRE(lane.reader.deliver(lane.sink) == shm::Reader::Got::frame);
      REQUIRE(lane.sink.frames.back().header.length == got);
      REQUIRE(lane.sink.frames.back().payload == pattern(lengths[got], got));
    }
  }
  CHECK(got > 2000);
}

// What a rank that ran wild may have left in the segment.
TEST_CASE("a frame whose payload would go on beyond the lines is not believed", "[lane]") {
  Lane lane;
  const std::uint32_t bytes = GENERATE(8 * 64U, 100'000U, 0x7fffffffU);
  lane.write(20, 1);
  lane.line(0).control.store((lane.line(0).control.load() >> 32 << 32) | bytes);
  CHECK(lane.reader.deliver(lane.sink) == shm::Reader::Got::unbelieved);
  CHECK(lane.sink.frames.empty());
}
