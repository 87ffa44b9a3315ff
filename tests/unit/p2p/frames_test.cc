// Frames that nobody sends: what a stranger, a wild write or the network makes of a header. None of
// them is believed, none of them moves a byte, and its transport is told so.
#include "worlds.h"

using namespace tutti;
using namespace tutti::p2p;
using namespace tutti::test;
using transport::FrameHeader;

namespace {

FrameHeader message(Kind kind, std::uint64_t length) {
  FrameHeader header;
  header.context = 1;
  header.tag = 5;
  header.kind = static_cast<std::uint8_t>(kind);
  header.length = length;
  header.cookie = cookie_of(0, 77);
  return header;
}

bool bring(Worlds& worlds, const FrameHeader& header, std::vector<std::byte> payload) {
  return worlds.core(1).on_frame(0, header, payload);
}

// A receive in the middle of memory that nobody may touch.
struct Guarded {
  static constexpr std::size_t kGuard = 8192;
  explicit Guarded(std::size_t size) : bytes(size), memory(size + 2 * kGuard, std::byte{7}) {}
  Buffer buffer() {
    return Buffer::plain(memory.data() + kGuard, static_cast<types::Count>(bytes));
  }
  bool is_untouched(std::size_t from = 0) const {
    for (std::size_t i = 0; i < memory.size(); ++i)
      if ((i < kGuard || i >= kGuard + from) && memory[i] != std::byte{7}) return false;
    return true;
  }
  std::size_t bytes;
  std::vector<std::byte> memory;
};

}  // namespace

TEST_CASE("a message that is longer than a frame goes in pieces, and says so", "[p2p]") {
  const std::size_t most = FakeOptions{}.max_frame;
  for (const std::size_t bytes : {std::size_t{8}, most, most + 1, 3 * most}) {
    INFO(bytes << " bytes");
    Worlds worlds(2, {});
    auto data = pattern(bytes, 1);
    std::vector<std::byte> into(bytes);
    Pending* const receive = worlds.recv(1, 0, 5, into);
    Pending* const send = worlds.send(0, 1, 5, data);
    REQUIRE(worlds.until([&] { return send->done && receive->done; }));
    CHECK(into == data);
    CHECK(worlds.net().frames(true) == (bytes > most ? (bytes + most - 1) / most : 0));
    worlds[0].release(send);
    worlds[1].release(receive);
  }
}

TEST_CASE("parts of a granted message are believed in their order and inside it only",
          "[p2p][frames]") {
  constexpr std::uint64_t kTotal = 10'000;
  for (const std::size_t had : {std::size_t{0}, std::size_t{4096}}) {
    Worlds worlds(2);
    Guarded into(kTotal);
    Pending* const receive = worlds[1].recv(0, {1, 0, 5, 0}, into.buffer());
    REQUIRE(bring(worlds, message(Kind::offer, kTotal), {}));
    worlds.rounds(3);  // it is granted; the other side knows of nothing
    FrameHeader data;
    data.kind = static_cast<std::uint8_t>(Kind::data);
    data.cookie = static_cast<p2p::Transfer*>(receive)->id;
    if (had > 0) {
      REQUIRE(bring(worlds, data, std::vector<std::byte>(had, std::byte{1})));
      data.length = had;
    }
    const std::vector<std::byte> part(4096, std::byte{9});
    for (const std::uint64_t at :
         {std::uint64_t{0} - 4096, std::uint64_t{0} - 1, std::uint64_t{1} << 63, kTotal - 4095,
          kTotal, kTotal + 1, std::uint64_t{had == 0 ? 1U : 0U}, std::uint64_t{8192}}) {
      INFO("at " << at << ", had " << had);
      data.length = at;
      CHECK(worlds.core(1).place(0, data, part.size()) == nullptr);
      CHECK_FALSE(bring(worlds, data, part));
    }
    data.length = had;
    CHECK(worlds.core(1).place(0, data, kTotal - had + 1) == nullptr);
    CHECK_FALSE(bring(worlds, data, std::vector<std::byte>(kTotal - had + 1)));
    CHECK(into.is_untouched(had));
    CHECK_FALSE(receive->done);
    CHECK(bring(worlds, data, std::vector<std::byte>(kTotal - had, std::byte{1})));
    CHECK(receive->done);
    CHECK(into.is_untouched(kTotal));
    worlds[1].release(receive);
  }
}

TEST_CASE("an eager message says how long it is, or is not believed", "[p2p][frames]") {
  for (const bool waits : {false, true})
    for (const std::uint64_t said :
         {std::uint64_t{0}, std::uint64_t{99}, std::uint64_t{101}, std::uint64_t{1} << 40,
          std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
      INFO("said " << said << ", a receive waits " << waits);
      Worlds worlds(2);
      Guarded into(1000);
      Pending* const receive = waits ? worlds[1].recv(0, {1, 0, 5, 0}, into.buffer()) : nullptr;
      const FrameHeader header = message(Kind::eager, said);
      CHECK(worlds.core(1).place(0, header, 100) == nullptr);
      CHECK_FALSE(bring(worlds, header, std::vector<std::byte>(100)));
      CHECK(into.is_untouched());
      CHECK(worlds.core(1).kept_bytes() == 0);
      if (waits) CHECK_FALSE(receive->done);
    }
}

TEST_CASE("an offer of more than a buffer can have, or with a key too long, is not believed",
          "[p2p][frames]") {
  Worlds worlds(2);
  Guarded into(1000);
  Pending* const receive = worlds[1].recv(0, {1, 0, 5, 0}, into.buffer());
  CHECK_FALSE(bring(worlds, message(Kind::offer, std::uint64_t{1} << 63), {}));
  CHECK_FALSE(bring(worlds, message(Kind::offer, ~std::uint64_t{0}), {}));
  CHECK_FALSE(
      bring(worlds, message(Kind::offer, 10), std::vector<std::byte>(p2p::kMostKeyBytes + 1)));
  CHECK_FALSE(receive->done);
  CHECK(receive->status.code == Code::ok);
}

TEST_CASE("a message of a rank that the job has not, or of no known kind, is not believed",
          "[p2p][frames]") {
  Worlds worlds(2);
  std::vector<std::byte> into(8);
  Pending* const receive = worlds[1].recv(kAnySource, {1, kAnySource, kAnyTag, 0}, plain(into));
  for (const std::uint32_t source : {4U, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
    FrameHeader header = message(Kind::eager, 8);
    header.source = source;
    CHECK_FALSE(bring(worlds, header, std::vector<std::byte>(8)));
  }
  for (const int kind : {0, 15, 255}) {
    FrameHeader header = message(Kind::eager, 8);
    header.kind = static_cast<std::uint8_t>(kind);
    CHECK_FALSE(bring(worlds, header, std::vector<std::byte>(8)));
  }
  CHECK_FALSE(receive->done);
}

namespace {

// The sender of a partitioned message says how it cuts it.
struct Introduction {
  std::uint32_t stream;
  std::int32_t partitions;
  std::int64_t partition_bytes;
};

void introduce(Worlds& worlds, const Introduction& said) {
  constexpr std::uint32_t kIntroductions = 0xc000'0000U;
  FrameHeader header = message(Kind::eager, sizeof said);
  header.context = 2 | kIntroductions;
  std::vector<std::byte> bytes(sizeof said);
  std::memcpy(bytes.data(), &said, sizeof said);
  REQUIRE(bring(worlds, header, bytes));
}

}  // namespace

TEST_CASE("an introduction that makes no sense ends a partitioned message, and moves nothing",
          "[p2p][frames]") {
  for (const Introduction& said : {Introduction{3, -1, 8}, Introduction{3, 4, -8},
                                   Introduction{3, 1 << 30, std::int64_t{1} << 62},
                                   Introduction{3, 2, std::numeric_limits<std::int64_t>::max()}}) {
    INFO("partitions " << said.partitions << " of " << said.partition_bytes);
    Worlds worlds(2);
    Guarded into(800);
    Partitioned* const side = worlds[1].recv_partitioned(0, {2, 0, 5, 0}, {4, into.buffer()});
    Status ended;
    ended.bytes = -1;
    side->start([](void* status, const Status& is) { *static_cast<Status*>(status) = is; }, &ended);
    introduce(worlds, said);
    worlds.rounds(3);
    CHECK(ended.bytes == 0);
    CHECK(ended.code != Code::ok);
    CHECK(into.is_untouched());
    side->release();
  }
}

TEST_CASE("a sender that says it has any number of empty partitions takes no memory for them",
          "[p2p][frames]") {
  for (const Introduction& said : {Introduction{3, 1 << 20, 0}, Introduction{3, 1 << 20, 1}}) {
    Worlds worlds(2);
    Guarded into(800);
    Partitioned* const side = worlds[1].recv_partitioned(0, {2, 0, 5, 0}, {4, into.buffer()});
    int ends = 0;
    side->start([](void* count, const Status&) { ++*static_cast<int*>(count); }, &ends);
    introduce(worlds, said);
    worlds.rounds(3);
    CHECK(worlds[1].counters().posted_now > 0);
    CHECK(worlds[1].counters().posted_now < 20'000);
    CHECK(ends == 0);
    worlds.core(1).on_peer_gone(0, Error{Code::proc_aborted, "gone"});
    worlds.rounds(3);
    CHECK(ends == 1);
    CHECK(worlds[1].counters().posted_now == 0);
    side->release();
  }
}

TEST_CASE("partitions arrive, be they more than are asked for at a time, and empty or not",
          "[p2p][frames]") {
  constexpr int kMany = 49'000;
  for (const int bytes : {0, 1, 3}) {
    for (const int theirs : {1, 7, kMany}) {
      if (bytes * kMany % theirs != 0) continue;
      INFO(bytes << " bytes in each of " << kMany << ", received as " << theirs);
      Worlds worlds(2);
      std::vector<std::byte> from = pattern(static_cast<std::size_t>(bytes * kMany), 1);
      std::vector<std::byte> into(from.size());
      Partitioned* const sends = worlds[0].send_partitioned(1, {2, 0, 5, 0}, {kMany, plain(from)});
      Partitioned* const gets = worlds[1].recv_partitioned(0, {2, 0, 5, 0}, {theirs, plain(into)});
      for (int round = 0; round < 2; ++round) {
        int ends = 0;
        const auto count = [](void* all, const Status&) { ++*static_cast<int*>(all); };
        std::fill(into.begin(), into.end(), std::byte{0});
        sends->start(count, &ends);
        gets->start(count, &ends);
        // The last ones first: they come before anybody asks for them.
        for (int i = kMany; i-- > 1;) {
          sends->ready({i, 1});
          if (i % 1000 == 0) worlds.rounds(2);
        }
        worlds.rounds(20);
        CHECK_FALSE(gets->arrived(0));
        CHECK(ends == 0);
        sends->ready({0, 1});
        CHECK(worlds.until([&] { return ends == 2; }));
        CHECK(into == from);
        for (int i = 0; i < theirs; ++i) REQUIRE(gets->arrived(i));
      }
      sends->release();
      gets->release();
    }
  }
}
