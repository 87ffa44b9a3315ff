// Frames of another room's kinds, as windows and files will send them.
#include <string>

#include "worlds.h"

using namespace tutti;
using namespace tutti::p2p;
using namespace tutti::test;
using transport::FrameHeader;

namespace {

constexpr Kinds kRoom{40, 3};

// A room: keeps what comes, has memory for long frames, and refuses what makes no sense.
class Room final : public FrameHandler {
 public:
  Room() : memory(8192) {}
  bool on_frame(int from, const FrameHeader& header, std::span<std::byte> payload) override {
    if (header.length != payload.size()) return false;
    heard.push_back({from, header});
    placed += payload.data() == memory.data() ? 1 : 0;
    bytes.assign(payload.begin(), payload.end());
    return true;
  }
  std::byte* place(int, const FrameHeader& header, std::size_t size) override {
    return header.length == size && size <= memory.size() ? memory.data() : nullptr;
  }
  void on_peer_lost(int peer, Code why) override { lost.emplace_back(peer, why); }

  struct Heard {
    int from;
    FrameHeader header;
  };
  std::vector<Heard> heard;
  std::vector<std::pair<int, Code>> lost;
  std::vector<std::byte> bytes, memory;
  int placed = 0;
};

FrameHeader frame(int kind, std::size_t bytes, std::uint64_t cookie = 0) {
  FrameHeader header;
  header.kind = static_cast<std::uint8_t>(kind);
  header.length = bytes;
  header.cookie = cookie;
  return header;
}

}  // namespace

TEST_CASE("a room registers its kinds, and only those that are free", "[p2p][foreign]") {
  FrameTable table;
  Room one, two, three;
  REQUIRE(table.add(kRoom, one).has_value());
  CHECK(table.find(39) == nullptr);
  CHECK(table.find(40) == &one);
  CHECK(table.find(42) == &one);
  CHECK(table.find(43) == nullptr);
  for (const Kinds taken : {Kinds{40, 1}, Kinds{38, 3}, Kinds{42, 200}, Kinds{1, 255}}) {
    const auto added = table.add(taken, two);
    REQUIRE_FALSE(added.has_value());
    CHECK(added.error().text.find("is taken") != std::string::npos);
  }
  for (const Kinds none : {Kinds{0, 1}, Kinds{0, 0}, Kinds{50, 0}, Kinds{250, 7}})
    CHECK_FALSE(table.add(none, two).has_value());
  CHECK_FALSE(table.add({60, 1}, one).has_value());  // it has kinds
  CHECK(table.find(60) == nullptr);
  REQUIRE(table.add({43, 213}, two).has_value());
  CHECK(table.find(255) == &two);
  int handlers = 0;
  table.each([&handlers](FrameHandler&) { ++handlers; });
  CHECK(handlers == 2);
  table.remove(one);
  CHECK(table.find(41) == nullptr);
  CHECK(table.find(43) == &two);
  CHECK(table.add(kRoom, three).has_value());
}

TEST_CASE("p2p's own kinds are registered like any other's", "[p2p][foreign]") {
  Worlds worlds(2);
  Room room;
  CHECK_FALSE(worlds[0].frames().add({31, 2}, room).has_value());
  CHECK_FALSE(worlds[0].frames().add({1, 1}, room).has_value());
  CHECK(worlds[0].frames().add({32, 1}, room).has_value());
}

TEST_CASE("frames of a registered kind reach their room, among messages", "[p2p][foreign]") {
  for (const bool places : {false, true}) {
    FakeOptions options;
    options.longest_delay = 2;
    options.capacity = 4;
    options.places = places;
    Worlds worlds(3, options);
    Room room;
    REQUIRE(worlds[1].frames().add(kRoom, room).has_value());
    std::uint64_t posted = 0;
    for (int i = 0; i < 200; ++i) {
      auto data = pattern(i % 3 == 0 ? 3000 : 8, static_cast<std::uint64_t>(i));
      std::vector<std::byte> into(data.size());
      Pending* const send = worlds.send(0, 1, i, data);
      auto part = pattern(i % 2 == 0 ? 4096 : 5, posted);
      Endpoint::Posted said = Endpoint::Posted::full;
      REQUIRE(worlds.until([&] {
        said = worlds[0].post_frame(1, frame(40 + i % 3, part.size(), posted), part);
        return said != Endpoint::Posted::full;
      }));
      REQUIRE(said == Endpoint::Posted::yes);
      ++posted;
      Pending* const receive = worlds.recv(1, 0, i, into);
      REQUIRE(
          worlds.until([&] { return send->done && receive->done && room.heard.size() == posted; }));
      REQUIRE(into == data);
      REQUIRE(room.bytes == part);
      REQUIRE(room.heard.back().from == 0);
      REQUIRE(room.heard.back().header.cookie == posted - 1);  // in their order, and each once
      worlds[0].release(send);
      worlds[1].release(receive);
    }
    CHECK(room.placed == (places ? 100 : 0));
  }
}

TEST_CASE("kinds that nobody registered, or does no more, are refused", "[p2p][foreign]") {
  Worlds worlds(2);
  Room room;
  std::vector<std::byte> part(8);
  for (const int kind : {0, 15, 31, 32, 39, 43, 255}) {
    CHECK_FALSE(worlds.core(1).on_frame(0, frame(kind, part.size()), part));
    CHECK(worlds.core(1).place(0, frame(kind, 4096), 4096) == nullptr);
  }
  REQUIRE(worlds[1].frames().add(kRoom, room).has_value());
  CHECK(worlds.core(1).on_frame(0, frame(41, part.size()), part));
  CHECK_FALSE(worlds.core(1).on_frame(0, frame(41, part.size() + 1), part));  // the room says no
  CHECK(worlds.core(1).place(0, frame(41, 4096), 4096) == room.memory.data());
  worlds[1].frames().remove(room);
  CHECK_FALSE(worlds.core(1).on_frame(0, frame(41, part.size()), part));
  CHECK(worlds.core(1).place(0, frame(41, 4096), 4096) == nullptr);
  CHECK(room.heard.size() == 1);
}

TEST_CASE("a room's frames carry credit back, like all others", "[p2p][foreign]") {
  Worlds worlds(2);
  Room room;
  REQUIRE(worlds[1].frames().add(kRoom, room).has_value());
  auto data = pattern(100, 1);
  std::vector<std::byte> into(100);
  Pending* const send = worlds.send(1, 0, 1, data);
  Pending* const receive = worlds.recv(0, 1, 1, into);
  REQUIRE(worlds.until([&] { return send->done && receive->done; }));
  REQUIRE(worlds[0].post_frame(1, frame(40, 0), {}) == Endpoint::Posted::yes);
  REQUIRE(worlds.until([&] { return room.heard.size() == 1; }));
  CHECK(room.heard.front().header.aux == cost_of(100));
}

TEST_CASE("a room hears of each peer that is lost, and sends it nothing more", "[p2p][foreign]") {
  Worlds worlds(3);
  Room room;
  REQUIRE(worlds[0].frames().add(kRoom, room).has_value());
  REQUIRE(worlds[0].post_frame(1, frame(40, 0), {}) == Endpoint::Posted::yes);
  Room other;
  REQUIRE(worlds[1].frames().add(kRoom, other).has_value());
  worlds.lose(1);
  REQUIRE(worlds.until([&] { return !room.lost.empty(); }));
  worlds.rounds(10);
  CHECK(room.lost == std::vector<std::pair<int, Code>>{{1, Code::proc_aborted}});
  CHECK(worlds[0].post_frame(1, frame(40, 0), {}) == Endpoint::Posted::lost);
  CHECK(worlds[0].post_frame(2, frame(40, 0), {}) != Endpoint::Posted::lost);
}
