// Messages that are packed for the receiver's device, and read by it in pieces: whole, cut, where
// either side fails on the way, is lost, or gives the message up.
#include <random>

#include "fleet.h"
#include "rounds.h"

using namespace tutti;
using namespace tutti::test;
using p2p::kPiece;
using p2p::kWindow;

namespace {

constexpr std::size_t kLong = kWindow + 2 * kPiece + 1000;
constexpr Handle kByte = 0x207;
constexpr std::uint64_t kHasMemory =
    2;  // a seed by which the first message finds room to be packed
constexpr std::uint32_t kContext = 1, kOther = 3;

// 1000 bytes of each 1500. What is under way when a world ends still needs it.
types::Datatype& gapped() {
  static const types::TypeRef type = [] {
    const auto block = *types::make_vector(1, 1000, 1000, *types::predefined_type(kByte));
    auto made = *types::make_resized(*block, 0, 1500);
    made->commit();
    return made;
  }();
  return *type;
}

// A message with gaps, and the bytes that it should arrive as.
struct Strided {
  Strided(FleetPair& pair, std::size_t bytes) : stream(pattern(bytes, 1)) {
    const auto count = static_cast<types::Count>(bytes / 1000);
    std::vector<std::byte> memory(bytes / 1000 * 1500);
    types::unpack(Buffer::whole(memory.data(), count, gapped()), 0, stream);
    const Buffer lies = pair.take(0, true, memory);
    buffer = Buffer::whole(lies.data, count, gapped());
    buffer.device = lies.device;
  }
  const std::vector<std::byte> stream;
  Buffer buffer;
};

Pending* send(FleetPair& pair, std::uint32_t context, int tag, const Buffer& buffer) {
  return pair.endpoints[0]->send(p2p::Mode::standard, 1, {context, 0, tag, 0}, buffer);
}
Pending* receive(FleetPair& pair, std::uint32_t context, int tag, const Buffer& buffer) {
  return pair.endpoints[1]->recv(0, {context, 0, tag, 0}, buffer);
}

// One of kLong bytes, asked for and then sent.
struct Message {
  Message(FleetPair& of, bool into_device, std::size_t room = kLong / 1000 * 1000)
      : pair(of),
        from(of, kLong / 1000 * 1000),
        into(of.take(1, into_device, std::vector<std::byte>(room))),
        got(receive(of, kContext, 1, into)),
        sent(send(of, kContext, 1, from.buffer)) {}
  bool ends() {
    return pair.until([this] { return sent->done && got->done; });
  }
  FleetPair& pair;
  const Strided from;
  const Buffer into;
  Pending *const got, *const sent;
};

// Whatever happened before: a message arrives as it was sent.
void goes_on(FleetPair& pair, const Strided& from) {
  const auto bytes = static_cast<std::size_t>(from.buffer.bytes);
  const Buffer into = pair.take(1, true, std::vector<std::byte>(bytes));
  Pending* const got = receive(pair, kOther, 99, into);
  Pending* const sent = send(pair, kOther, 99, from.buffer);
  REQUIRE(pair.until([&] { return sent->done && got->done; }));
  REQUIRE(got->status.code == Code::ok);
  REQUIRE(pair.content(into) == from.stream);
}

// How many of so many messages are read, each before the next one is sent.
int count_read(FleetPair& pair, const Strided& from, int messages) {
  const int before = pair.fleet.reads;
  for (int i = 0; i < messages; ++i) goes_on(pair, from);
  return pair.fleet.reads - before;
}

}  // namespace

TEST_CASE("what lies in many pieces is packed and read, whatever its length", "[p2p][pieces]") {
  int reads = 0;
  for (const int delay : {0, 5, 60})
    for (const std::size_t bytes :
         {std::size_t{20'000}, std::size_t{3'000'000}, kLong / 1000 * 1000})
      for (const bool into_device : {true, false}) {
        FakeDeviceOptions device;
        device.longest_delay = delay;
        device.seed = static_cast<std::uint64_t>(delay) + bytes;
        FleetPair pair(device);
        const Strided from(pair, bytes);
        const Buffer into = pair.take(1, into_device, std::vector<std::byte>(bytes));
        for (int round = 0; round < 2; ++round) {
          Pending* const got = round == 1 ? nullptr : receive(pair, kContext, round, into);
          Pending* const sent = send(pair, kContext, round, from.buffer);
          Pending* const late = round == 1 ? receive(pair, kContext, round, into) : got;
          REQUIRE(pair.until([&] { return sent->done && late->done; }));
          REQUIRE(sent->status.code == Code::ok);
          REQUIRE(late->status.code == Code::ok);
          REQUIRE(pair.content(into) == from.stream);
        }
        reads += pair.fleet.reads;
        REQUIRE(pair.fleet.regions == 0);
        REQUIRE(pair.fleet.remotes == 0);
      }
  CHECK(reads > 20);
}

// As one that has used no GPU so far, and then does.
TEST_CASE("a peer that never read what was packed is asked again now and then", "[p2p][pieces]") {
  Refusals refusals;
  refusals.imports = false;
  FleetPair pair({}, refusals);
  const Strided from(pair, 20'000);
  CHECK(count_read(pair, from, 20) == 0);
  pair.fleet.refusals.imports = true;
  count_read(pair, from, 200);
  CHECK(count_read(pair, from, 20) > 5);  // now and then the device has no room
}

TEST_CASE("what was offered without its key says nothing of a peer that reads", "[p2p][pieces]") {
  FleetPair pair({}, {}, {}, 0, knobs_with({{"TUTTI_UNEXPECTED_BYTES", "65536"}}));
  const Strided from(pair, 20'000);
  std::vector<Pending*> sent, got;
  const auto all_done = [](const std::vector<Pending*>& all) {
    return std::ranges::all_of(all, [](const Pending* each) { return each->done; });
  };
  for (int i = 0; i < 80; ++i) sent.push_back(send(pair, kContext, i, from.buffer));
  for (int i = 0; i < 1000; ++i)
    for (const auto& endpoint : pair.endpoints) endpoint->progress();
  // What came with its key was sent first; the last ones have none, and are granted in a row.
  for (int i = 0; i < 80; ++i) {
    got.push_back(receive(pair, kContext, i, pair.take(1, true, std::vector<std::byte>(20'000))));
    REQUIRE(pair.until([&] { return all_done(got); }));
  }
  REQUIRE(pair.until([&] { return all_done(sent); }));
  REQUIRE(pair.fleet.reads > 8);
  REQUIRE(pair.fleet.reads < 60);  // of the others the key took more room than there was
  CHECK(count_read(pair, from, 20) > 5);
}

TEST_CASE("a receive that is too short asks for no piece that it has no room for",
          "[p2p][pieces]") {
  for (const std::size_t room : {std::size_t{100'000}, kWindow, kWindow + kPiece, kLong - 5000}) {
    FakeDeviceOptions device;
    device.seed = kHasMemory;
    FleetPair pair(device);
    Message message(pair, true, room);
    REQUIRE(message.ends());
    REQUIRE(pair.fleet.reads ==
            (room <= kWindow ? 1 : static_cast<int>((room + kPiece - 1) / kPiece)));
    REQUIRE(message.got->status.code == Code::truncate);
    REQUIRE(message.sent->status.code == Code::ok);
    const auto& stream = message.from.stream;
    REQUIRE(std::equal(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(room),
                       pair.seen(message.into)));
    REQUIRE(pair.fleet.regions == 0);
  }
}

TEST_CASE("where reading fails between two pieces, all comes by frames", "[p2p][pieces]") {
  for (const unsigned seed : seeds(12)) {
    INFO("seed " << seed);
    FakeDeviceOptions device;
    device.longest_delay = 20;
    device.seed = seed;
    FleetPair pair(device);
    Message message(pair, true);
    const int last = static_cast<int>(seed % 6);
    REQUIRE(pair.until([&] { return pair.fleet.reads > last || message.got->done; }));
    (seed % 2 == 0 ? pair.fleet.refusals.gets : pair.fleet.refusals.copies) = false;
    REQUIRE(message.ends());
    REQUIRE(message.got->status.code == Code::ok);
    REQUIRE(pair.content(message.into) == message.from.stream);
    REQUIRE(pair.fleet.regions == 0);
    REQUIRE(pair.fleet.remotes == 0);
  }
}

TEST_CASE("where packing fails both sides are told", "[p2p][pieces]") {
  const bool lacks_memory = GENERATE(false, true);
  const Code why = lacks_memory ? Code::no_mem : Code::other;
  for (int nth = 0; nth < 6; ++nth) {
    FakeDeviceOptions device;
    device.seed = kHasMemory;
    device.fails_from = nth;
    device.lacks_memory = lacks_memory;
    FleetPair pair(device);
    Message message(pair, false);
    REQUIRE(message.ends());
    const bool has_failed = message.sent->status.code != Code::ok;
    CHECK(message.got->status.code == (has_failed ? Code::other : Code::ok));
    if (has_failed) CHECK(message.sent->status.code == why);
    if (!has_failed) CHECK(pair.content(message.into) == message.from.stream);
    if (nth < 3) CHECK(has_failed);
    REQUIRE(pair.fleet.regions == 0);
  }
}

TEST_CASE("pieces of which a side is lost, or gives them up, end all the same", "[p2p][pieces]") {
  enum class End { sender_lost, receiver_cancels, sender_cancels, both_cancel };
  for (const unsigned seed : seeds(48)) {
    INFO("seed " << seed);
    const End end = static_cast<End>(seed % 4);
    std::mt19937 random(seed);
    FakeDeviceOptions device;
    device.longest_delay = 30;
    device.seed = seed;
    FakeOptions frames;
    frames.longest_delay = 20;
    const int sender_delay = seed % 8 < 4 ? 0 : 200;  // then the receiver waits for pieces
    FleetPair pair(device, {}, frames, sender_delay);
    const Strided from(pair, kLong / 1000 * 1000);
    Pending* const sent[] = {send(pair, kContext, 0, from.buffer),
                             send(pair, kContext, 1, from.buffer)};
    Pending* got[2];
    for (int i = 0; i < 2; ++i)
      got[i] = receive(pair, kContext, i,
                       pair.take(1, true, std::vector<std::byte>(from.stream.size())));
    int left = static_cast<int>(random() % (sender_delay > 0 ? 900 : 250));
    pair.until([&] { return --left < 0; });
    if (end == End::sender_lost) {
      pair.net.lose(0);
      pair.lost = 0;
    }
    if (end == End::sender_cancels || end == End::both_cancel)
      pair.endpoints[0]->cancel(kContext, Code::other);
    if (end == End::sender_cancels)  // what it had not offered yet nobody else can end
      REQUIRE(pair.until([&] { return sent[0]->done && sent[1]->done; }));
    if (end != End::sender_lost) pair.endpoints[1]->cancel(kContext, Code::other);
    const bool are_both_there = end != End::sender_lost;
    REQUIRE(pair.until([&] {
      return got[0]->done && got[1]->done && (!are_both_there || (sent[0]->done && sent[1]->done));
    }));
    REQUIRE(pair.fleet.devices[1]->pending() == 0);
    REQUIRE(pair.fleet.remotes == 0);
    if (!are_both_there) continue;
    REQUIRE(pair.until([&] { return pair.fleet.devices[0]->pending() == 0; }));
    REQUIRE(pair.fleet.regions == 0);
    goes_on(pair, from);
  }
}

TEST_CASE("a send to a peer that is lost is none of the reads that its request served before",
          "[p2p][pieces]") {
  FakeDeviceOptions device;
  device.seed = kHasMemory;
  FleetPair pair(device);
  Message message(pair, true);
  REQUIRE(message.ends());
  REQUIRE(pair.fleet.reads > 0);
  pair.endpoints[1]->release(message.got);
  Pending* const late = pair.endpoints[0]->recv(1, {kOther, 1, 5, 0},
                                                pair.take(0, false, std::vector<std::byte>(kLong)));
  Pending* const long_one =
      pair.endpoints[1]->send(p2p::Mode::standard, 0, {kOther, 1, 5, 0},
                              pair.take(1, false, std::vector<std::byte>(kLong)));
  REQUIRE(long_one == message.got);  // used again
  static int ended = 0;
  long_one->on_done = [](Pending*) {
    if (++ended > 1) FAIL("it ended twice");
  };
  const std::uint64_t before = pair.net.frames();
  REQUIRE(pair.until([&] { return pair.net.frames() > before + 20; }));
  REQUIRE(!late->done);
  pair.net.lose(0);
  pair.lost = 0;
  REQUIRE(pair.until([&] { return long_one->done; }));
  REQUIRE(long_one->status.code == Code::proc_aborted);
  for (int round = 0; round < 10; ++round) pair.endpoints[1]->progress();
  REQUIRE(ended == 1);
}
