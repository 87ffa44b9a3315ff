// Messages out of a device's memory that the receiver's device reads: by a link that carries no
// frames, over which each may refuse or fail.
#include <random>

#include "fleet.h"

using namespace tutti;
using namespace tutti::test;

TEST_CASE("a device's memory is read by the receiver, whatever that one's memory",
          "[p2p][device]") {
  for (const int delay : {0, 5, 60})
    for (const bool into_device : {true, false})
      for (const std::size_t bytes : {std::size_t{16'384}, std::size_t{300'000}}) {
        FakeDeviceOptions device;
        device.longest_delay = delay;
        FleetPair pair(device);
        const auto data = pattern(bytes, 1);
        const Buffer from = pair.take(0, true, data);
        const Buffer into = pair.take(1, into_device, std::vector<std::byte>(bytes));
        for (int round = 0; round < 3; ++round) {
          Pending* const receive = round == 1 ? nullptr : pair.receive(round, into);
          Pending* const send = pair.send(round, from);
          Pending* const late = round == 1 ? pair.receive(round, into) : receive;
          REQUIRE(pair.until([&] { return send->done && late->done; }));
          REQUIRE(send->status.code == Code::ok);
          REQUIRE(late->status.code == Code::ok);
          REQUIRE(pair.content(into) == data);
        }
        REQUIRE(pair.fleet.reads == 3);
        REQUIRE(pair.fleet.regions == 0);
        REQUIRE(pair.fleet.remotes == 0);
      }
}

TEST_CASE("where anybody refuses, the message goes by frames", "[p2p][device]") {
  Refusals all[4];
  all[0].exposes = all[1].imports = all[2].gets = all[3].copies = false;
  for (const Refusals& refusals : all)
    for (const std::size_t bytes : {std::size_t{20'000}, std::size_t{300'000}}) {
      FleetPair pair({}, refusals);
      const auto data = pattern(bytes, 1);
      const Buffer from = pair.take(0, true, data);
      for (int round = 0; round < 12; ++round) {
        const Buffer into = pair.take(1, round % 2 == 0, std::vector<std::byte>(bytes));
        Pending* const receive = pair.receive(round, into);
        Pending* const send = pair.send(round, from);
        REQUIRE(pair.until([&] { return send->done && receive->done; }));
        REQUIRE(receive->status.code == Code::ok);
        REQUIRE(pair.content(into) == data);
      }
      REQUIRE(pair.fleet.regions == 0);
      REQUIRE(pair.fleet.remotes == 0);
    }
}

TEST_CASE("a receive that is too short reads what it has room for", "[p2p][device]") {
  FleetPair pair({});
  const auto data = pattern(100'000, 1);
  const Buffer into = pair.take(1, true, std::vector<std::byte>(40'000));
  Pending* const receive = pair.receive(1, into);
  Pending* const send = pair.send(1, pair.take(0, true, data));
  REQUIRE(pair.until([&] { return send->done && receive->done; }));
  REQUIRE(receive->status.code == Code::truncate);
  REQUIRE(send->status.code == Code::ok);
  REQUIRE(pair.content(into) == std::vector<std::byte>(data.begin(), data.begin() + 40'000));
}

TEST_CASE("what is read when its sender is lost or its context cancelled ends with the copy",
          "[p2p][device]") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    FakeDeviceOptions device;
    device.longest_delay = 100;
    device.seed = seed;
    Refusals refusals;
    refusals.copies = seed % 4 != 3;
    FleetPair pair(device, refusals);
    const auto data = pattern(50'000, 1);
    const Buffer from = pair.take(0, true, data);
    std::vector<Pending*> receives;
    for (int i = 0; i < 5; ++i) {
      pair.send(i, from);
      receives.push_back(pair.receive(i, pair.take(1, true, std::vector<std::byte>(50'000))));
    }
    int left = static_cast<int>(random() % 200);
    pair.until([&] { return --left < 0; });
    if (seed % 2 == 0) {
      pair.net.lose(0);
      pair.lost = 0;
    } else {
      pair.endpoints[1]->cancel(1, Code::other);
    }
    REQUIRE(pair.until([&] {
      return std::all_of(receives.begin(), receives.end(), [](Pending* r) { return r->done; });
    }));
    REQUIRE(pair.fleet.devices[1]->pending() == 0);
    REQUIRE(pair.fleet.remotes == 0);
  }
}

TEST_CASE("a send that waits for its device keeps the order of messages", "[p2p][device]") {
  FakeDeviceOptions device;
  device.longest_delay = 100;
  FleetPair pair(device);
  const auto data = pattern(50'000, 1), word = pattern(8, 2);
  const Buffer long_in = pair.take(1, true, std::vector<std::byte>(50'000));
  const Buffer short_in = pair.take(1, false, std::vector<std::byte>(50'000));
  Pending* const first = pair.send(7, pair.take(0, true, data));
  Pending* const second = pair.send(7, pair.take(0, false, word));
  Pending* const long_one = pair.receive(7, long_in);
  Pending* const short_one = pair.receive(7, short_in);
  REQUIRE(
      pair.until([&] { return first->done && second->done && long_one->done && short_one->done; }));
  REQUIRE(pair.content(long_in) == data);
  REQUIRE(short_one->status.bytes == 8);
  // Cancelled while it waits.
  Pending* const gone = pair.send(8, pair.take(0, true, data));
  pair.endpoints[0]->cancel(gone);
  REQUIRE(pair.until([&] { return gone->done; }));
  REQUIRE(gone->status.cancelled);
  REQUIRE(pair.fleet.regions == 0);
}

TEST_CASE("a message to oneself is one copy of the device's", "[p2p][device]") {
  for (const bool from_device : {true, false}) {
    FleetPair pair({});
    const auto data = pattern(3'000'000, 1);
    const Buffer from = pair.take(0, from_device, data);
    const Buffer into = pair.take(0, true, std::vector<std::byte>(data.size()));
    const int before = pair.fleet.devices[0]->begun();
    Pending* const receive = pair.endpoints[0]->recv(0, {1, 0, 1, 0}, into);
    Pending* const send = pair.endpoints[0]->send(Mode::standard, 0, {1, 0, 1, 0}, from);
    REQUIRE(pair.until([&] { return send->done && receive->done; }));
    REQUIRE(pair.content(into) == data);
    if (from_device) REQUIRE(pair.fleet.devices[0]->begun() - before <= 2);
  }
}

TEST_CASE("where the sender's device fails both sides are told", "[p2p][device]") {
  const bool lacks_memory = GENERATE(false, true);
  const Code why = lacks_memory ? Code::no_mem : Code::other;
  for (const std::size_t bytes : {std::size_t{20'000}, std::size_t{300'000}}) {
    FakeDeviceOptions device;
    device.fails_from = 0;
    device.lacks_memory = lacks_memory;
    FleetPair pair(device);
    Pending* const send = pair.send(1, pair.take(0, true, pattern(bytes, 1)));
    Pending* const receive = pair.receive(1, pair.take(1, false, std::vector<std::byte>(bytes)));
    REQUIRE(pair.until([&] { return send->done && receive->done; }));
    REQUIRE(send->status.code == why);
    REQUIRE(receive->status.code == Code::other);
    REQUIRE(pair.fleet.regions == 0);
  }
}
