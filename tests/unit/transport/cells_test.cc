// Long frames in cells, which two ranks pass to and fro.
#include "transport/shm/cells.h"

#include <algorithm>
#include <array>
#include <random>

#include "lane_memory.h"
#include "rig.h"
#include "rounds.h"

using namespace tutti;             // NOLINT(google-build-using-namespace): a test
using namespace tutti::test;       // NOLINT(google-build-using-namespace)
using namespace tutti::transport;  // NOLINT(google-build-using-namespace)
using Got = shm::Reader::Got;

namespace {

constexpr std::size_t kFits = 20'000, kTooLong = 40'000;  // for a cell
constexpr std::size_t kCellBytes = 32 << 10;

// Two lanes with a cell each.
struct Pair {
  struct Memory : LaneMemory {
    Memory() : LaneMemory(64) {
      geometry.cell_bytes = kCellBytes;
      memory.resize((geometry.cell_at() + kCellBytes) / kCacheLine);
    }
    std::byte* cell() { return bytes() + geometry.cell_at(); }
    // Of the frame that was written so many frames ago: 1, the last one.
    shm::LaneLine& line(std::size_t number) {
      return reinterpret_cast<shm::LaneLine&>(memory[shm::kCounterLines + number % 64]);
    }
  };
  std::array<Memory, 2> lanes;  // from each to the other

  struct End final : Lender {
    End(Pair& in, std::size_t which) : pair(in), me(which) { sink.places = true; }
    End(const End&) = delete;
    End& operator=(const End&) = delete;
    ~End() { sink.kept.clear(); }
    void take_back(std::uint64_t number) override {
      reader.take_back(static_cast<std::uint32_t>(number));
    }
    bool write(std::size_t length, bool is_piece = false) {
      if (!write_to(writer, sent, pattern(length, sent), is_piece)) return false;
      ++sent;
      return true;
    }
    Got read() { return reader.has_frame() ? reader.deliver(sink) : Got::nothing; }

    Pair& pair;
    const std::size_t me;
    shm::Cells cells{{pair.lanes[0].cell(), pair.lanes[1].cell()}, static_cast<std::uint32_t>(me)};
    shm::Writer writer{pair.lanes[me].bytes(), pair.lanes[me].geometry, &cells};
    shm::Reader reader{pair.lanes[1 - me].bytes(), pair.lanes[me].geometry,
                       static_cast<int>(1 - me), this, &cells};
    Recorder sink;
    std::uint64_t sent = 0;
  };
  std::array<End, 2> ends{End{*this, 0}, End{*this, 1}};

  // Whether the frame that this end wrote so lies in a cell.
  bool is_in_cell(std::size_t end, std::uint64_t number) {
    return lanes[end].line(number).ring.at >= shm::kInCell;
  }
  std::uint32_t cell_of(std::size_t end, std::uint64_t number) {
    return lanes[end].line(number).ring.at & ~shm::kInCell;
  }
};

}  // namespace

TEST_CASE("an answer lies where the message lay, and the ring stays as it is", "[cells]") {
  Pair pair;
  for (std::uint64_t turn = 0; turn < 20; ++turn) {
    for (const std::size_t me : {0U, 1U}) {
      REQUIRE(pair.ends[me].write(kFits));
      REQUIRE(pair.is_in_cell(me, turn));
      CHECK(pair.cell_of(me, turn) == 0);
      REQUIRE(pair.ends[1 - me].read() == Got::frame);
      const Received& got = pair.ends[1 - me].sink.frames.back();
      CHECK(got.placed);
      REQUIRE(got.payload == pattern(kFits, turn));
    }
  }
  CHECK(static_cast<std::uint32_t>(pair.lanes[0].counters().consumed.load()) == 0);
}

TEST_CASE("in a stream, and where a frame is longer than a cell, frames go through the ring",
          "[cells]") {
  Pair pair;
  for (std::uint64_t i = 0; i < 5; ++i) REQUIRE(pair.ends[0].write(i == 0 ? kTooLong : kFits));
  for (std::uint64_t i = 0; i < 5; ++i) CHECK(pair.is_in_cell(0, i) == (i == 1));
  while (pair.ends[1].read() == Got::frame) {
  }
  REQUIRE(pair.ends[1].sink.frames.size() == 5);
  // Both are there now; the one that came last is used first.
  for (std::uint64_t i = 0; i < 3; ++i) REQUIRE(pair.ends[1].write(kFits));
  CHECK(pair.cell_of(1, 0) == 0);
  CHECK(pair.cell_of(1, 1) == 1);
  CHECK(!pair.is_in_cell(1, 2));
}

TEST_CASE("a cell has room for the longest frame", "[cells]") {
  for (const int ranks : {2, 6, 33}) {
    Rig rig = Rig::over("shm", ranks);
    const auto geometry = shm::LaneGeometry::of(rig[0].wireup->segment().header());
    CHECK(geometry.cell_bytes == geometry.max_frame());
  }
}

TEST_CASE("pieces of a longer message leave the cells alone", "[cells]") {
  Pair pair;
  for (std::uint64_t i = 0; i < 2; ++i) {
    REQUIRE(pair.ends[0].write(kFits, i == 0));
    CHECK(pair.is_in_cell(0, i) == (i == 1));
    REQUIRE(pair.ends[1].read() == Got::frame);
    CHECK(pair.ends[1].sink.frames.back().payload == pattern(kFits, i));
  }
}

TEST_CASE("a cell that is lent is nobody's until the loan ends", "[cells][loan]") {
  Pair pair;
  auto& [first, second] = pair.ends;
  second.sink.borrows = true;
  second.sink.lacks = GENERATE(0U, 2U);  // a sink without memory is offered it again
  REQUIRE(first.write(kFits));
  for (std::size_t i = 0; i < second.sink.lacks; ++i)
    REQUIRE_THROWS_AS(second.read(), std::bad_alloc);
  CHECK(!second.cells.has(0));
  second.sink.lacks = 0;
  REQUIRE(second.read() == Got::frame);
  REQUIRE(second.sink.kept.size() == 1);
  CHECK(!second.cells.has(0));
  REQUIRE(second.write(kFits));  // in its own one
  CHECK(pair.cell_of(1, 0) == 1);
  const auto wanted = pattern(kFits, 0);
  CHECK(std::ranges::equal(second.sink.kept[0].payload, wanted));
  second.sink.kept.clear();
  CHECK(second.cells.has(0));
  // A loan that ends while its frame is handed over.
  second.sink.also = [&](const Received&) { second.sink.kept.clear(); };
  REQUIRE(first.read() == Got::frame);
  REQUIRE(first.write(kFits));
  REQUIRE(second.read() == Got::frame);
  CHECK(second.cells.has(0));
  CHECK(second.cells.has(1));
}

// What a rank that ran wild may have left in the segment.
TEST_CASE("a frame in a cell that its writer cannot have is not believed", "[cells]") {
  Pair pair;
  auto& [first, second] = pair.ends;
  const auto spoil = GENERATE(
      +[](shm::LaneLine& line) { line.ring.at = shm::kInCell | 1; },  // the reader's
      +[](shm::LaneLine& line) { line.ring.at = shm::kInCell | 2; },
      +[](shm::LaneLine& line) { line.ring.at = 0xffffffff; },
      +[](shm::LaneLine& line) { line.control.store(line.control.load() + kCellBytes); });
  REQUIRE(first.write(kFits));
  spoil(pair.lanes[0].line(0));
  CHECK(second.read() == Got::unbelieved);
  CHECK(second.sink.frames.empty());
}

TEST_CASE("a cell that is said to come twice is had once", "[cells]") {
  shm::Cells cells({nullptr, nullptr}, 0);
  for (const std::uint32_t cell : {0U, 1U, 1U, 0U}) cells.came(cell);
  CHECK(cells.pass_on() == 1);
  CHECK(cells.pass_on() == 0);
  CHECK(!cells.has_any());
}

TEST_CASE("frames of all lengths come right in both directions, lent or not", "[cells]") {
  for (const unsigned seed : seeds(20)) {
    std::mt19937 random(seed);
    Pair pair;
    std::size_t in_cells = 0;
    for (int step = 0; step < 2000; ++step) {
      const std::size_t me = random() % 2;
      Pair::End& end = pair.ends[me];
      end.sink.places = random() % 2 == 0;
      end.sink.borrows = random() % 3 == 0;
      if (random() % 2 == 0) {
        if (end.write(random() % 3 == 0 ? random() % 9000 : 8193 + random() % 40'000))
          in_cells += pair.is_in_cell(me, end.sent - 1) ? 1 : 0;
      } else {
        end.read();
      }
      auto& kept = end.sink.kept;
      while (!kept.empty() && random() % 3 == 0) {
        REQUIRE(
            std::ranges::equal(kept[0].payload, pattern(kept[0].payload.size(), kept[0].number)));
        kept.erase(kept.begin());
      }
    }
    for (const std::size_t me : {0U, 1U}) {
      const auto& frames = pair.ends[me].sink.frames;
      for (std::size_t i = 0; i < frames.size(); ++i) {
        REQUIRE(frames[i].header.length == i);
        REQUIRE(frames[i].payload == pattern(frames[i].payload.size(), i));
      }
    }
    CHECK(in_cells > 50);
  }
}
