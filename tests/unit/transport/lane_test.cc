// Long frames of a lane: what the reader does with one that is not whole yet. The writer here has
// always written all; how much of it is shown is turned back by hand.
#include "transport/shm/lane.h"

#include <sys/uio.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "rig.h"

using namespace tutti;             // NOLINT(google-build-using-namespace): a test
using namespace tutti::test;       // NOLINT(google-build-using-namespace)
using namespace tutti::transport;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t kBytes = 40'000;

struct Lane {
  shm::LaneGeometry geometry{.lines = 8, .units = 8192};
  struct alignas(kCacheLine) Line {
    std::byte bytes[kCacheLine];
  };
  std::vector<Line> memory =
      std::vector<Line>(shm::kCounterLines + geometry.lines + geometry.units);
  shm::Writer writer{bytes(), geometry};
  shm::Reader reader{bytes(), geometry, 3};
  Recorder sink;

  std::byte* bytes() { return reinterpret_cast<std::byte*>(memory.data()); }
  // Of the frame that is written next.
  shm::LaneLine& line(std::size_t number) {
    return reinterpret_cast<shm::LaneLine&>(memory[shm::kCounterLines + number]);
  }
  void write(std::size_t length, std::size_t seed) {
    const auto data = pattern(length, seed);
    REQUIRE(writer.try_write(header_for(seed), data.data(), data.size()));
  }
  void show(std::size_t number, std::size_t shown) {
    line(number).ring.shown.store(static_cast<std::uint32_t>(shown));
  }
  std::uint64_t consumed() {
    return reinterpret_cast<shm::LaneCounters*>(bytes())->consumed.load();
  }
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
  lane.sink.places = true;
  lane.write(kBytes, 1);
  lane.show(0, 5'000);
  CHECK(lane.reader.deliver(lane.sink) == Got::part);
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
  lane.sink.places = true;
  lane.write(kBytes, 1);
  lane.show(0, 5'000);
  CHECK(lane.reader.deliver(lane.sink) == Got::part);
  lane.line(0).control.store(lane.line(0).control.load() + 20'000);
  lane.line(0).ring.at = 7'000;
  lane.show(0, kBytes + 20'000);
  CHECK(lane.reader.deliver(lane.sink) == Got::frame);
  CHECK(lane.sink.frames.at(0).payload == pattern(kBytes, 1));
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
  lane.sink.places = true;
  lane.write(kBytes, 1);
  lane.show(0, 5'000);
  CHECK(lane.reader.deliver(lane.sink) == shm::Reader::Got::part);
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

namespace {

// A writer's memory that is our own. What happens while it is read can be told.
struct OwnMemory final : shm::WriterMemory {
  bool can_read = true;
  int reads = 0;
  std::function<void()> meanwhile = [] {};
  bool read(std::uint64_t from, std::byte* into, std::size_t bytes) override {
    ++reads;
    iovec here{into, bytes}, there{reinterpret_cast<void*>(from), bytes};
    const bool is_read = can_read && ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) ==
                                         static_cast<ssize_t>(bytes);
    meanwhile();
    return is_read;
  }
};

// A frame that its writer has shown before any of it is in the ring, and is copying still: the
// writer here has written all by then, so the line is turned back by hand.
struct ClaimableLane : Lane {
  OwnMemory memory_of_writer;
  std::vector<std::byte> data = pattern(kBytes, 1);

  explicit ClaimableLane(shm::ClaimsWhen when) {
    sink.places = true;
    reader = shm::Reader(bytes(), geometry, 3, shm::Claims(when, &memory_of_writer));
  }
  std::atomic<std::uint32_t>& shown() { return line(0).ring.shown; }
  void write_claimable() {
    REQUIRE(writer.try_write(header_for(1), data.data(), data.size()));
    CHECK(line(0).ring.source == reinterpret_cast<std::uint64_t>(data.data()));
    shown() = 0;
  }
  std::uint32_t wanted() { return reinterpret_cast<shm::LaneCounters*>(bytes())->wanted.load(); }
};

}  // namespace

TEST_CASE("a frame of which nothing is there yet is read from its writer", "[lane]") {
  using Got = shm::Reader::Got;
  ClaimableLane lane(shm::ClaimsWhen::always);
  lane.write_claimable();
  std::uint32_t during = 0;
  lane.memory_of_writer.meanwhile = [&] { during = lane.shown(); };
  CHECK(lane.reader.deliver(lane.sink) == Got::frame);
  CHECK(during == shm::kClaimed);
  CHECK(lane.shown() == shm::kTaken);
  REQUIRE(lane.sink.frames.size() == 1);
  CHECK(lane.sink.frames[0].placed);
  CHECK(lane.sink.frames[0].payload == lane.data);
  CHECK(lane.consumed() != 0);
}

TEST_CASE("a claim that its writer did not wait for is void", "[lane]") {
  using Got = shm::Reader::Got;
  ClaimableLane lane(shm::ClaimsWhen::always);
  lane.write_claimable();
  lane.memory_of_writer.meanwhile = [&] {
    lane.shown() = 10'000;                                        // out of patience
    std::fill(lane.data.begin(), lane.data.end(), std::byte{9});  // and its caller writes again
  };
  CHECK(lane.reader.deliver(lane.sink) == Got::nothing);
  CHECK(lane.reader.deliver(lane.sink) == Got::part);
  CHECK(lane.sink.frames.empty());
  lane.show(0, kBytes);
  CHECK(lane.reader.deliver(lane.sink) == Got::frame);
  CHECK(lane.sink.frames.at(0).payload == pattern(kBytes, 1));
}

TEST_CASE("a writer's memory that cannot be read is not asked for again", "[lane]") {
  using Got = shm::Reader::Got;
  ClaimableLane lane(shm::ClaimsWhen::always);
  CHECK(lane.wanted() != 0);
  lane.memory_of_writer.can_read = false;
  lane.write_claimable();
  CHECK(lane.reader.deliver(lane.sink) == Got::nothing);
  CHECK(lane.shown() == 0);
  CHECK(lane.wanted() == 0);
  lane.show(0, kBytes);
  CHECK(lane.reader.deliver(lane.sink) == Got::frame);
  CHECK(lane.sink.frames.at(0).payload == pattern(kBytes, 1));
  CHECK(lane.memory_of_writer.reads == 1);
}

TEST_CASE("a frame that the sink wants nowhere is not claimed", "[lane]") {
  using Got = shm::Reader::Got;
  ClaimableLane lane(shm::ClaimsWhen::always);
  lane.sink.places = false;
  lane.write_claimable();
  CHECK(lane.reader.deliver(lane.sink) == Got::nothing);
  CHECK(lane.memory_of_writer.reads == 0);
  lane.show(0, kBytes);
  CHECK(lane.reader.deliver(lane.sink) == Got::frame);
  CHECK(lane.sink.frames.at(0).payload == pattern(kBytes, 1));
}

TEST_CASE("frames that are there when they are seen are no turns of the judge", "[lane]") {
  ClaimableLane lane(shm::ClaimsWhen::judged);
  for (std::size_t i = 0; i < 100; ++i) {
    lane.write(kBytes, i);
    REQUIRE(lane.reader.deliver(lane.sink) == shm::Reader::Got::frame);
  }
  CHECK(lane.wanted() == 0);
}

// Both ends at once, the writer's caller writing anew into its buffer after each.
TEST_CASE("whoever is first, a frame comes as it was sent", "[lane]") {
  ClaimableLane lane(GENERATE(shm::ClaimsWhen::always, shm::ClaimsWhen::judged));
  constexpr std::size_t kFrames = 400;
  std::thread writer([&] {
    for (std::size_t i = 0; i < kFrames; ++i) {
      lane.data = pattern(kBytes + i % 3 * 10'000, i);
      while (!lane.writer.try_write(header_for(i), lane.data.data(), lane.data.size()))
        std::this_thread::yield();
    }
  });
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kFrames;) {
    if (!lane.reader.has_frame() || lane.reader.deliver(lane.sink) != shm::Reader::Got::frame) {
      std::this_thread::yield();
      continue;
    }
    wrong += lane.sink.frames.back().payload != pattern(kBytes + i % 3 * 10'000, i) ? 1 : 0;
    lane.sink.frames.clear();
    ++i;
  }
  writer.join();
  CHECK(wrong == 0);
}
