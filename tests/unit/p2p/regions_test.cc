// Messages that are read from their sender's memory: keys of any length, parts, and that no memory
// stays open to a peer, whatever became of the message.
#include "worlds.h"

using namespace tutti;
using namespace tutti::test;

namespace {

FakeOptions readable() {
  FakeOptions options;
  options.gets = true;
  options.get_from = 2000;
  return options;
}

void require_none_left(Worlds& worlds) {
  REQUIRE(worlds.net().regions() == 0);
  REQUIRE(worlds.net().remotes() == 0);
}

}  // namespace

TEST_CASE("a key of any length reaches the receiver, or the message is sent by frames",
          "[p2p][regions]") {
  constexpr std::size_t kBytes = 100'000, kMessages = 6;
  for (const std::size_t key_bytes : {24, 63, 64, 65, 1000, 4096, 4097, 50'000})
    for (const bool receive_first : {false, true})
      for (const bool has_room : {false, true}) {
        INFO("key of " << key_bytes << ", receive first " << receive_first << has_room);
        FakeOptions options = readable();
        options.key_bytes = key_bytes;
        // Room for two keys of 1000 bytes at a time.
        Worlds worlds(
            2, options,
            has_room ? Knobs::defaults() : knobs_with({{"TUTTI_UNEXPECTED_BYTES", "2400"}}));
        std::vector<std::vector<std::byte>> out, in;
        std::vector<Pending*> requests;
        for (std::size_t i = 0; i < kMessages; ++i) out.push_back(pattern(kBytes, i));
        in.resize(kMessages, std::vector<std::byte>(kBytes));
        const auto receive = [&] {
          for (std::size_t i = 0; i < kMessages; ++i)
            requests.push_back(worlds.recv(1, 0, static_cast<int>(i), in[i]));
        };
        if (receive_first) receive();
        for (std::size_t i = 0; i < kMessages; ++i)
          requests.push_back(worlds.send(0, 1, static_cast<int>(i), out[i]));
        if (!receive_first) {
          worlds.rounds(20);
          receive();
        }
        REQUIRE(worlds.until([&] {
          return std::all_of(requests.begin(), requests.end(), [](Pending* r) { return r->done; });
        }));
        REQUIRE(in == out);
        const bool is_short = key_bytes <= 65;
        const std::size_t told = key_bytes > options.max_frame ? 0
                                 : is_short || has_room        ? kMessages
                                 : key_bytes == 1000           ? 2
                                                               : 0;
        REQUIRE(worlds.net().gets() == told);
        require_none_left(worlds);
        // What the keys cost has come back: as many go by the same way again.
        for (Pending* each : requests) each->status = Status{};
        auto again = pattern(kBytes, 77);
        Pending* const send = worlds.send(0, 1, 9, again);
        Pending* const last = worlds.recv(1, 0, 9, in[0]);
        REQUIRE(worlds.until([&] { return send->done && last->done; }));
        REQUIRE(in[0] == again);
        REQUIRE(worlds.net().gets() == told + (told > 0 ? 1 : 0));
      }
}

TEST_CASE("a key that was paid for and recalled gives its credit back", "[p2p][regions]") {
  FakeOptions options = readable();
  options.key_bytes = 1000;
  Worlds worlds(2, options, knobs_with({{"TUTTI_UNEXPECTED_BYTES", "1200"}}));
  auto data = pattern(5000, 1);
  std::vector<std::byte> into(5000);
  for (int i = 0; i < 20; ++i) {
    Pending* const cancelled = worlds.send(0, 1, 1, data);
    REQUIRE(worlds.net().regions() == 1);
    worlds.rounds(3);
    worlds[0].cancel(cancelled);
    REQUIRE(worlds.until([&] { return cancelled->done; }));
    REQUIRE(cancelled->status.cancelled);
    worlds[0].release(cancelled);
    require_none_left(worlds);
  }
  Pending* const send = worlds.send(0, 1, 2, data);
  Pending* const receive = worlds.recv(1, 0, 2, into);
  REQUIRE(worlds.until([&] { return send->done && receive->done; }));
  REQUIRE(into == data);
  REQUIRE(worlds.net().gets() == 1);
}

TEST_CASE("a long message is read in parts, and others have their turn in between",
          "[p2p][regions]") {
  for (const int delay : {0, 3}) {
    FakeOptions options = readable();
    options.get_delay = delay;
    Worlds worlds(2, options);
    constexpr std::size_t kBytes = (std::size_t{5} << 20) + 17;
    auto data = pattern(kBytes, 1);
    std::vector<std::byte> into(kBytes);
    Pending* const receive = worlds.recv(1, 0, 1, into);
    Pending* const send = worlds.send(0, 1, 1, data);
    while (worlds.net().gets() == 0) worlds.progress();
    auto word = pattern(8, 2);
    std::vector<std::byte> word_into(8);
    Pending* const short_receive = worlds.recv(1, 0, 2, word_into);
    worlds.send(0, 1, 2, word);
    REQUIRE(worlds.until([&] { return short_receive->done; }));
    REQUIRE_FALSE(receive->done);
    REQUIRE(worlds.until([&] { return send->done && receive->done; }));
    REQUIRE((receive->status.code == Code::ok && into == data));
    REQUIRE(worlds.net().gets() == 6);
    require_none_left(worlds);
  }
}

TEST_CASE("a message whose memory cannot be read any further is sent from its start",
          "[p2p][regions]") {
  for (const int delay : {0, 3})
    for (const std::size_t fails_at : {std::size_t{0}, std::size_t{2} << 20}) {
      FakeOptions options = readable();
      options.get_delay = delay;
      options.get_fails_at = fails_at;
      Worlds worlds(2, options);
      constexpr std::size_t kBytes = (std::size_t{3} << 20) + 1;
      auto data = pattern(kBytes, 1);
      std::vector<std::byte> into(kBytes);
      Pending* const send = worlds.send(0, 1, 1, data);
      Pending* const receive = worlds.recv(1, 0, 1, into);
      REQUIRE(worlds.until([&] { return send->done && receive->done; }));
      REQUIRE((send->status.code == Code::ok && receive->status.code == Code::ok));
      REQUIRE(into == data);
      require_none_left(worlds);
    }
}

TEST_CASE("a peer that is lost leaves no region behind, whatever stage a message had reached",
          "[p2p][regions]") {
  for (int rounds = 0; rounds < 40; ++rounds)
    for (const int lost : {0, 1}) {
      INFO("lost: " << lost << " after " << rounds << " rounds");
      FakeOptions options = readable();
      options.get_delay = 4;
      options.longest_delay = 2;
      options.seed = static_cast<std::uint64_t>(rounds);
      constexpr std::size_t kBytes = std::size_t{4} << 20;
      auto data = pattern(kBytes, 1);
      std::vector<std::byte> into(kBytes);
      Worlds worlds(2, options);
      Pending* const receive = worlds.recv(1, 0, 1, into);
      Pending* const send = worlds.send(0, 1, 1, data);
      worlds.rounds(rounds);
      worlds.lose(lost);
      Pending* const mine = lost == 0 ? receive : send;
      REQUIRE(worlds.until([&] { return mine->done; }));
      // Of the dead rank the test still holds what it had.
      REQUIRE((lost == 0 ? worlds.net().remotes() : worlds.net().regions()) == 0);
    }
}

TEST_CASE("a world that ends gives up every region, and nobody writes to a receive any more",
          "[p2p][regions]") {
  FakeOptions options = readable();
  options.get_delay = 1'000'000;  // never
  constexpr std::size_t kBytes = 50'000;
  auto data = pattern(kBytes, 1);
  std::vector<std::byte> into(kBytes);
  Worlds worlds(2, options);
  worlds.send(0, 1, 1, data);
  worlds.send(0, 1, 2, data);  // nobody receives it
  worlds.recv(1, 0, 1, into);
  worlds.rounds(10);
  REQUIRE(worlds.net().regions() == 2);
  REQUIRE(worlds.net().remotes() == 1);
  for (const int rank : {1, 0}) worlds.end(rank);
  require_none_left(worlds);
}
