// Messages out of the memory of a device that stands behind its caller: their place in the order is
// taken at once, their data follow, and what is sent later goes by.
#include <random>

#include "fleet.h"
#include "knobs.h"

using namespace tutti;
using namespace tutti::test;

namespace {

struct Behind : FleetPair {
  using FleetPair::FleetPair;
  void stand(bool is_behind) { fleet.devices[0]->stand_behind(is_behind); }
  Pending* send_to(int rank, int tag, const Buffer& buffer, Mode mode = Mode::standard) {
    return endpoints[0]->send(mode, rank, {1, 0, tag, 0}, buffer);
  }
  Pending* receive_at(int rank, int tag, const Buffer& buffer) {
    return endpoints[static_cast<std::size_t>(rank)]->recv(0, {1, 0, tag, 0}, buffer);
  }
  Buffer room(int rank, bool on_device, std::size_t bytes) {
    return take(rank, on_device, std::vector<std::byte>(bytes));
  }
  void look(int rounds) {
    until([&] { return --rounds < 0; });
  }
};

constexpr std::size_t kLengths[] = {8, 3000, 40'000, 300'000, 3'000'000};
// Nobody refuses; no memory is read where it lies; packed for its reader, it is not either.
const Refusals kRefusals[] = {{}, {.exposes = false}, {.imports = false}, {.copies = false}};

}  // namespace

TEST_CASE("what is sent behind a message that waits for its device goes by it", "[p2p][behind]") {
  for (const Refusals& refusals : kRefusals)
    for (const std::size_t bytes : kLengths)
      for (const bool is_early : {true, false})
        for (const Mode mode : {Mode::standard, Mode::synchronous})
          for (const int to : {0, 1}) {
            INFO(bytes << " bytes to " << to << (is_early ? ", early" : ", late"));
            Behind pair({}, refusals);
            const auto data = pattern(bytes, 1), word = pattern(8, 2);
            const Buffer into = pair.room(to, true, bytes), beside = pair.room(to, false, bytes),
                         answer = pair.room(to, false, 8);
            Pending* receive = is_early ? pair.receive_at(to, 7, into) : nullptr;
            pair.stand(true);
            Pending* const send = pair.send_to(to, 7, pair.take(0, true, data), mode);
            Pending* const second = pair.send_to(to, 7, pair.take(0, false, word));
            Pending* const third = pair.send_to(to, 8, pair.take(0, false, word));
            Pending* const goes = pair.receive_at(to, 8, answer);
            REQUIRE(pair.until([&] { return third->done && goes->done; }));
            Status status;
            if (!is_early) {  // it is the first of its tag
              REQUIRE(
                  pair.endpoints[static_cast<std::size_t>(to)]->probe(0, {1, 0, 7, 0}, &status));
              REQUIRE(status.bytes == static_cast<std::int64_t>(bytes));
              receive = pair.receive_at(to, 7, into);
            }
            Pending* const last = pair.receive_at(to, 7, beside);
            REQUIRE(pair.until([&] { return second->done && last->done; }));
            REQUIRE(last->status.bytes == 8);
            pair.look(100);
            REQUIRE_FALSE(send->done);
            REQUIRE_FALSE(receive->done);
            pair.stand(false);
            REQUIRE(pair.until([&] { return send->done && receive->done; }));
            REQUIRE(send->status.code == Code::ok);
            REQUIRE(receive->status.code == Code::ok);
            REQUIRE(pair.content(into) == data);
            REQUIRE(pair.fleet.regions == 0);
            REQUIRE(pair.fleet.remotes == 0);
          }
}

// The link that is full is that of the frames.
TEST_CASE("messages that wait for their device are received in order", "[p2p][behind]") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    FakeDeviceOptions device;
    device.longest_delay = seed % 3 == 0 ? 0 : 20;
    device.seed = seed;
    Behind pair(device, kRefusals[seed % 4]);
    std::vector<Pending*> sends, receives;
    std::vector<std::vector<std::byte>> given;
    std::vector<Buffer> taken;
    const auto receive = [&] {
      taken.push_back(pair.room(1, random() % 2 == 0, 100'000));
      receives.push_back(pair.receive(7, taken.back()));
    };
    for (int i = 0; i < 40; ++i) {
      if (random() % 4 == 0) pair.stand(random() % 2 == 0);
      const bool is_long = random() % 2 == 0;
      given.push_back(pattern(1 + random() % (is_long ? 100'000 : 3000), i));
      const Mode mode = random() % 3 == 0 ? Mode::synchronous : Mode::standard;
      sends.push_back(pair.send_to(1, 7, pair.take(0, random() % 3 != 0, given.back()), mode));
      if (random() % 2 == 0) receive();
      pair.look(static_cast<int>(random() % 10));
    }
    pair.stand(false);
    while (receives.size() < sends.size()) receive();
    const auto are_done = [](const std::vector<Pending*>& all) {
      return std::ranges::all_of(all, [](Pending* each) { return each->done; });
    };
    REQUIRE(pair.until([&] { return are_done(sends) && are_done(receives); }));
    for (std::size_t i = 0; i < given.size(); ++i) {
      REQUIRE(receives[i]->status.bytes == static_cast<std::int64_t>(given[i].size()));
      auto content = pair.content(taken[i]);
      content.resize(given[i].size());
      REQUIRE(content == given[i]);
    }
    REQUIRE(pair.fleet.regions == 0);
    REQUIRE(pair.fleet.remotes == 0);
  }
}

TEST_CASE("a message that waits for its device is taken back while nobody has it",
          "[p2p][behind]") {
  for (const std::size_t bytes : kLengths)
    for (const bool is_matched : {true, false}) {
      // A short one is brought here unasked, unless its sender waits for the match.
      Behind pair(FakeDeviceOptions{});
      const auto data = pattern(bytes, 1);
      const Buffer into = pair.room(1, true, bytes);
      Pending* receive = is_matched ? pair.receive(7, into) : nullptr;
      pair.stand(true);
      Pending* const send = pair.send_to(1, 7, pair.take(0, true, data), Mode::synchronous);
      pair.look(100);
      pair.endpoints[0]->cancel(send);
      pair.look(100);
      pair.stand(false);
      REQUIRE(pair.until([&] { return send->done && (!is_matched || receive->done); }));
      REQUIRE(send->status.cancelled != is_matched);
      if (is_matched) REQUIRE(pair.content(into) == data);
      Status status;
      REQUIRE_FALSE(pair.endpoints[1]->probe(0, {1, 0, 7, 0}, &status));
      REQUIRE(pair.fleet.regions == 0);
    }
}

TEST_CASE("a receive whose message waits for its device ends with its context or its sender",
          "[p2p][behind]") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    FakeDeviceOptions device;
    device.seed = seed;
    Behind pair(device, kRefusals[seed % 4]);
    const std::size_t bytes = kLengths[seed % std::size(kLengths)];
    pair.stand(true);
    Pending* const send = pair.send(7, pair.take(0, true, pattern(bytes, 1)));
    Pending* const receive = pair.receive(7, pair.room(1, true, bytes));
    Pending* const before = pair.receive(6, pair.room(1, false, 8));
    pair.look(static_cast<int>(seed) * 2);
    if (seed % 3 == 0) {
      pair.net.lose(0);
      pair.lost = 0;
    } else {
      pair.endpoints[seed % 3 - 1]->cancel(1, Code::other);
      if (seed % 3 == 1) pair.endpoints[1]->cancel(before);
    }
    REQUIRE(pair.until([&] { return before->done; }));
    // What was asked for in frames ends when they have come.
    const bool is_read = bytes > 10'000 && seed % 4 != 1;
    if (is_read || pair.lost == 0) REQUIRE(pair.until([&] { return receive->done; }));
    pair.stand(false);
    REQUIRE(pair.until([&] { return receive->done; }));
    REQUIRE(receive->status.code != Code::ok);
    if (pair.lost == 0) continue;
    REQUIRE(pair.until([&] { return send->done; }));
    if (is_read) REQUIRE(send->status.code != Code::ok);
    // Its number means another message now.
    const auto data = pattern(bytes, 2);
    const Buffer into = pair.take(1, true, std::vector<std::byte>(bytes));
    Pending* const next =
        pair.endpoints[0]->send(Mode::standard, 1, {2, 0, 7, 0}, pair.take(0, true, data));
    Pending* const late = pair.endpoints[1]->recv(0, {2, 0, 7, 0}, into);
    REQUIRE(pair.until([&] { return next->done && late->done; }));
    REQUIRE(late->status.code == Code::ok);
    REQUIRE(pair.content(into) == data);
  }
}

TEST_CASE("where the device fails that a message waits for both sides are told", "[p2p][behind]") {
  const bool lacks_memory = GENERATE(false, true);
  const Code why = lacks_memory ? Code::no_mem : Code::other;
  for (const std::size_t bytes : kLengths)
    for (const bool is_early : {true, false}) {
      FakeDeviceOptions device;
      device.fails_from = 0;
      device.lacks_memory = lacks_memory;
      Behind pair(device);
      pair.stand(true);
      const Buffer into = pair.room(1, false, bytes);
      Pending* receive = is_early ? pair.receive(7, into) : nullptr;
      Pending* const send = pair.send(7, pair.take(0, true, pattern(bytes, 1)));
      pair.look(100);
      pair.stand(false);
      if (!is_early) receive = pair.receive(7, into);
      REQUIRE(pair.until([&] { return send->done && receive->done; }));
      REQUIRE(send->status.code == why);
      REQUIRE(receive->status.code == Code::other);
      REQUIRE(pair.fleet.regions == 0);
    }
}

// As messages are that nobody asked for; beyond, it stays with its sender.
TEST_CASE("what comes for a device that stands behind its caller does not fill host memory",
          "[p2p][device][behind]") {
  constexpr std::size_t kRoom = 64 << 10;
  for (const std::size_t bytes : {std::size_t{40}, std::size_t{2000}, std::size_t{300'000}})
    for (const Mode mode : {Mode::standard, Mode::synchronous}) {
      INFO(bytes << " bytes");
      Machines both(2, memory_variants()[0], knobs_with({{"TUTTI_UNEXPECTED_BYTES", "64K"}}));
      const int count = bytes < 100'000 ? 2000 : 20;
      const auto data = pattern(bytes, 1), word = pattern(8, 2);
      const Room from(both, 0, false, data), goes(both, 0, false, word),
          answer(both, 1, false, word);
      std::vector<std::unique_ptr<Room>> rooms;
      std::vector<Pending*> requests;
      both.device(1).stand_behind(true);
      for (int i = 0; i < count; ++i) {
        rooms.push_back(std::make_unique<Room>(both, 1, true, std::vector<std::byte>(bytes)));
        requests.push_back(both.worlds[1].recv(0, {1, 0, i, 0}, rooms.back()->buffer()));
        requests.push_back(both.worlds[0].send(mode, 1, {1, 0, i, 0}, from.buffer()));
      }
      std::size_t kept = 0;
      const auto look = [&](auto until) {
        return both.worlds.until([&] {
          kept = std::max(kept, both.worlds.core(1).kept_bytes());
          return until();
        });
      };
      Pending* const later =
          both.worlds[0].send(Mode::standard, 1, {1, 0, count, 0}, goes.buffer());
      Pending* const came = both.worlds[1].recv(0, {1, 0, count, 0}, answer.buffer());
      REQUIRE(look([&] { return later->done && came->done; }));
      int rounds = 2000;
      REQUIRE(look([&] { return --rounds < 0; }));
      // Of each message there may be a record.
      CHECK(kept <= kRoom + static_cast<std::size_t>(count) * sizeof(p2p::Bounce) * 2);
      both.device(1).stand_behind(false);
      REQUIRE(look(
          [&] { return std::ranges::all_of(requests, [](auto* each) { return each->done; }); }));
      for (const Pending* each : requests) REQUIRE(each->status.code == Code::ok);
      for (const auto& each : rooms) REQUIRE(each->content() == data);
      REQUIRE(both.worlds.until([&] { return both.worlds.core(1).kept_bytes() == 0; }));
    }
}

TEST_CASE("host memory that the user allowed is room for what a device is not ready for",
          "[p2p][device][behind]") {
  for (const std::size_t bytes : {std::size_t{2000}, std::size_t{300'000}}) {
    INFO(bytes << " bytes");
    Machines both(2, memory_variants()[0], knobs_with({{"TUTTI_UNEXPECTED_BYTES", "1M"}}));
    const auto data = pattern(bytes, 1);
    const Room from(both, 0, false, data), into(both, 1, true, std::vector<std::byte>(bytes));
    both.device(1).stand_behind(true);
    Pending* const receive = both.worlds[1].recv(0, {1, 0, 7, 0}, into.buffer());
    Pending* const send = both.worlds[0].send(Mode::standard, 1, {1, 0, 7, 0}, from.buffer());
    REQUIRE(both.worlds.until([&] { return send->done; }));
    REQUIRE_FALSE(receive->done);
    both.device(1).stand_behind(false);
    REQUIRE(both.worlds.until([&] { return receive->done; }));
    REQUIRE(into.content() == data);
  }
}

TEST_CASE("who sends to a device that is not ready is told at once that its context is cancelled",
          "[p2p][device][behind]") {
  Machines both(2, memory_variants()[0], knobs_with({{"TUTTI_UNEXPECTED_BYTES", "0"}}));
  const auto data = pattern(300'000, 1);
  const Room from(both, 0, false, data), into(both, 1, true, data);
  both.device(1).stand_behind(true);
  Pending* const receive = both.worlds[1].recv(0, {1, 0, 7, 0}, into.buffer());
  Pending* const send = both.worlds[0].send(Mode::standard, 1, {1, 0, 7, 0}, from.buffer());
  int rounds = 200;
  REQUIRE(both.worlds.until([&] { return --rounds < 0; }));
  REQUIRE_FALSE(send->done);
  both.worlds[1].cancel(1, Code::other);
  REQUIRE(both.worlds.until([&] { return send->done; }));
  REQUIRE(send->status.code == Code::other);
  both.device(1).stand_behind(false);
  REQUIRE(both.worlds.until([&] { return receive->done; }));
  REQUIRE(receive->status.code == Code::other);
}
