// Messages whose memory the ordered link moves itself, out of a device and into one, as a UCX does
// that knows both: every frame out of and into it, in order, placed or not; and copies that fail.
#include <random>

#include "machines.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::size_t kBytes = 50'000;

// Three ranks, a device each, over a link that moves their memory.
struct Movers {
  explicit Movers(FakeOptions link = {}, const FakeDeviceOptions& device = {}) {
    link.moves = kinds_of(MemoryKind::host) | kinds_of(MemoryKind::cuda);
    link.seen = [this](const void* address) { return open(address); };
    machines = std::make_unique<Machines>(3, MemoryVariant{"", link, device});
  }
  std::byte* open(const void* address) const {
    for (int rank = 0; rank < 3; ++rank)
      if (machines->device(rank).owns(address)) return machines->device(rank).seen(address);
    FAIL("an address of no device was handed to the link");
    return nullptr;
  }
  Pending* send(int from, int to, int tag, const Buffer& buffer) {
    return machines->worlds[from].send(Mode::standard, to, {1, from, tag, 0}, buffer);
  }
  Pending* receive(int from, int to, int tag, const Buffer& buffer) {
    return machines->worlds[to].recv(from, {1, from, tag, 0}, buffer);
  }
  std::uint64_t copies() { return machines->worlds.net().copies(); }
  bool until(const std::function<bool()>& condition) { return machines->worlds.until(condition); }
  std::unique_ptr<Machines> machines;
};

bool are_done(const std::vector<Pending*>& all) {
  return std::all_of(all.begin(), all.end(), [](const Pending* each) { return each->done; });
}

struct Case {
  const char* name;
  FakeOptions link;
};
std::vector<Case> cases() {
  std::vector<Case> all(4);
  all[0].name = "plain";
  all[1].name = "a full and slow link";
  all[1].link = full_and_slow();
  all[2].name = "a link that does not place";
  all[2].link.places = false;
  all[3].name = "host memory is read late";
  all[3].link.late_done = true;
  return all;
}

}  // namespace

TEST_CASE("a link moves long messages out of a device and into one", "[p2p][device][link]") {
  for (const Case& each : cases())
    for (const int kinds : {1, 2, 3})
      for (const std::size_t bytes : {std::size_t{1'025}, kBytes, std::size_t{300'000}}) {
        INFO(each.name << ", " << bytes << " bytes, kinds " << kinds);
        Movers movers(each.link);
        Machines& machines = *movers.machines;
        const bool from_device = (kinds & 1) != 0, into_device = (kinds & 2) != 0;
        const auto data = pattern(bytes, 1);
        Room from(machines, 0, from_device, data);
        for (int round = 0; round < 4; ++round) {
          Room into(machines, 1, into_device, std::vector<std::byte>(bytes));
          const std::uint64_t before = movers.copies();
          Pending* const early =
              round % 2 == 0 ? movers.receive(0, 1, round, into.buffer()) : nullptr;
          Pending* const send = movers.send(0, 1, round, from.buffer());
          if (early == nullptr) machines.worlds.rounds(5);
          Pending* const receive =
              early != nullptr ? early : movers.receive(0, 1, round, into.buffer());
          REQUIRE(movers.until([&] { return send->done && receive->done; }));
          REQUIRE(send->status.code == Code::ok);
          REQUIRE(receive->status.code == Code::ok);
          REQUIRE(into.content() == data);
          const bool is_placed = each.link.places && into_device && bytes > 1'025;
          if (from_device || is_placed) REQUIRE(movers.copies() > before);
        }
        // Nothing passes host memory of ours: of each message a device is asked for its fence.
        if (from_device) REQUIRE(machines.device(0).begun() == 4);
        if (into_device && each.link.places && bytes > 4'096 * 2)
          REQUIRE(machines.device(1).begun() <= 4 + 4 * static_cast<int>(bytes % 4'096 < 512));
      }
}

TEST_CASE("what a link moves is cut where the receive has no room", "[p2p][device][link]") {
  Movers movers;
  const auto data = pattern(kBytes, 1);
  Room from(*movers.machines, 0, true, data), into(*movers.machines, 1, true, pattern(20'000, 2));
  Pending* const receive = movers.receive(0, 1, 1, into.buffer());
  Pending* const send = movers.send(0, 1, 1, from.buffer());
  REQUIRE(movers.until([&] { return send->done && receive->done; }));
  REQUIRE(receive->status.code == Code::truncate);
  REQUIRE(into.content() == std::vector<std::byte>(data.begin(), data.begin() + 20'000));
}

// Wherever it is, at the sender or the receiver: both hear whose copy on which GPU it was, nobody
// waits, nothing is taken for the data, and a third rank goes on with both.
TEST_CASE("a copy of the link's own that fails ends the message at both ends",
          "[p2p][device][link]") {
  for (std::size_t at = 0; at < 40; ++at) {
    INFO("copy " << at);
    FakeOptions link;
    link.copy_fails_at = at;
    link.longest_delay = static_cast<int>(at % 4);
    Movers movers(link);
    Machines& machines = *movers.machines;
    const auto data = pattern(kBytes, 1);
    std::vector<std::unique_ptr<Room>> into;
    Room from(machines, 0, true, data);
    std::vector<Pending*> sends, receives;
    for (int i = 0; i < 3; ++i) {
      into.push_back(std::make_unique<Room>(machines, 1, true, std::vector<std::byte>(kBytes)));
      receives.push_back(movers.receive(0, 1, i, into.back()->buffer()));
      sends.push_back(movers.send(0, 1, i, from.buffer()));
    }
    REQUIRE(movers.until([&] { return are_done(sends) && are_done(receives); }));
    REQUIRE(movers.copies() > at);
    std::size_t failed = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      if (receives[i]->status.code == Code::ok) {
        REQUIRE(into[i]->content() == data);
      } else {
        REQUIRE(receives[i]->status.code == Code::proc_aborted);
        ++failed;
      }
    }
    REQUIRE(failed > 0);
    for (int rank = 0; rank < 2; ++rank) {
      const std::string text = machines.worlds[rank].loss_text();
      INFO(text);
      REQUIRE(text.find("rank " + std::to_string(1 - rank) + " lost its link: a copy") == 0);
      REQUIRE((text.find("out of GPU 0 has failed") != std::string::npos ||
               text.find("into GPU 1 has failed") != std::string::npos));
    }
    for (int rank = 0; rank < 2; ++rank) {
      Room third(machines, 2, false, std::vector<std::byte>(2'000));
      Room word(machines, rank, false, pattern(2'000, 3));
      Pending* const receive = movers.receive(rank, 2, 9, third.buffer());
      Pending* const send = movers.send(rank, 2, 9, word.buffer());
      REQUIRE(movers.until([&] { return send->done && receive->done; }));
      REQUIRE(third.content() == word.content());
    }
  }
}

TEST_CASE("where a device fails before the link moves its memory both sides are told",
          "[p2p][device][link]") {
  const bool lacks_memory = GENERATE(false, true);
  const Code why = lacks_memory ? Code::no_mem : Code::other;
  for (const bool is_sender : {true, false}) {
    INFO((is_sender ? "the sender's" : "the receiver's"));
    FakeDeviceOptions device;
    device.fails_from = 0;
    device.lacks_memory = lacks_memory;
    Movers movers({}, device);
    Room from(*movers.machines, 0, is_sender, pattern(kBytes, 1));
    Room into(*movers.machines, 1, !is_sender, std::vector<std::byte>(kBytes));
    Pending* const receive = movers.receive(0, 1, 1, into.buffer());
    Pending* const send = movers.send(0, 1, 1, from.buffer());
    REQUIRE(movers.until([&] { return send->done && receive->done; }));
    REQUIRE(receive->status.code == (is_sender ? Code::other : why));
    if (is_sender) REQUIRE(send->status.code == why);
  }
}

TEST_CASE("what a link moves ends when its context is cancelled or its peer is lost",
          "[p2p][device][link]") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    FakeOptions link;
    link.seed = seed;
    link.longest_delay = 3;
    FakeDeviceOptions device;
    device.seed = seed;
    device.longest_delay = 30;
    Movers movers(link, device);
    Machines& machines = *movers.machines;
    Room from(machines, 0, true, pattern(kBytes, 1));
    std::vector<std::unique_ptr<Room>> into;
    std::vector<Pending*> receives;
    for (int i = 0; i < 5; ++i) {
      movers.send(0, 1, i, from.buffer());
      into.push_back(std::make_unique<Room>(machines, 1, true, std::vector<std::byte>(kBytes)));
      receives.push_back(movers.receive(0, 1, i, into.back()->buffer()));
    }
    machines.worlds.rounds(static_cast<int>(random() % 100));
    if (seed % 2 == 0)
      machines.worlds.lose(0);
    else
      machines.worlds[1].cancel(1, Code::other);
    REQUIRE(movers.until([&] { return are_done(receives); }));
    REQUIRE(machines.device(1).pending() == 0);
  }
}
