// How messages of a device's memory end: cancelled, lost, failed, held back, slept through.
#include <random>

#include "machines.h"

using namespace tutti;
using namespace tutti::test;

TEST_CASE("a send that is cancelled while it is packed ends when the device has let go",
          "[p2p][device]") {
  MemoryVariant slow = memory_variants()[5];
  slow.device.longest_delay = 1000;
  Machines both(2, slow);
  const Room source(both, 0, true, pattern(500, 1));
  Pending* send = both.worlds[0].send(Mode::standard, 1, {1, 0, 5, 0}, source.buffer());
  both.worlds[0].cancel(send);
  REQUIRE(both.device(0).pending() == 1);
  REQUIRE_FALSE(send->done);
  REQUIRE(both.worlds.until([&] { return send->done; }));
  REQUIRE(send->status.cancelled);
  REQUIRE(both.device(0).pending() == 0);
  REQUIRE(both.worlds.core(0).kept_bytes() == 0);
  // What is sent after it is not held up.
  std::vector<std::byte> data(5), into(5);
  Pending* next = both.worlds.send(0, 1, 5, data);
  Pending* receive = both.worlds.recv(1, 0, 5, into);
  REQUIRE(both.worlds.until([&] { return next->done && receive->done; }));
}

TEST_CASE("copies that are under way when a peer is lost end before their requests",
          "[p2p][device]") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    MemoryVariant variant = memory_variants()[5];
    variant.link.seed = variant.device.seed = seed;
    variant.link.longest_delay = 2;
    Machines two(2, variant);
    std::vector<std::unique_ptr<Room>> rooms;
    std::vector<Pending*> requests;
    for (int i = 0; i < 20; ++i) {
      const std::vector<std::byte> memory(random() % 2 == 0 ? 20'000 : 700);
      for (const int rank : {0, 1}) {
        const Room& room =
            *rooms.emplace_back(std::make_unique<Room>(two, rank, random() % 4 != 0, memory));
        Pending* const request =
            (i + rank) % 2 == 0
                ? two.worlds[rank].send(Mode::standard, 1 - rank, {1, rank, i, 0}, room.buffer())
                : two.worlds[rank].recv(1 - rank, {1, 1 - rank, i, 0}, room.buffer());
        if (rank == 0) requests.push_back(request);
      }
      two.worlds.rounds(static_cast<int>(random() % 4));
    }
    two.worlds.lose(1);
    REQUIRE(two.worlds.until([&] {
      return std::all_of(requests.begin(), requests.end(), [](Pending* r) { return r->done; });
    }));
    REQUIRE(two.device(0).pending() == 0);
    for (Pending* each : requests) two.worlds[0].release(each);
    REQUIRE(two.worlds.core(0).kept_bytes() == 0);
  }
}

TEST_CASE("a device that fails ends the requests that need it with an error", "[p2p][device]") {
  const bool lacks_memory = GENERATE(false, true);
  const Code why = lacks_memory ? Code::no_mem : Code::other;
  for (const std::size_t bytes : {100UL, 100'000UL})
    for (const bool on_sender : {true, false}) {
      INFO(bytes << " bytes, the sender's " << on_sender);
      MemoryVariant variant = memory_variants()[0];
      variant.device.fails_from = bytes > 1000 ? 3 : 0;
      variant.device.lacks_memory = lacks_memory;
      Machines both(2, variant);
      const Room source(both, 0, on_sender, pattern(bytes, 1));
      const Room target(both, 1, !on_sender, std::vector<std::byte>(bytes));
      Pending* send = both.worlds[0].send(Mode::standard, 1, {1, 0, 5, 0}, source.buffer());
      Pending* receive = both.worlds[1].recv(0, {1, 0, 5, 0}, target.buffer());
      Pending* const failed = on_sender ? send : receive;
      REQUIRE(both.worlds.until([&] { return failed->done; }));
      REQUIRE(failed->status.code == why);
      REQUIRE(both.device(on_sender ? 0 : 1).pending() == 0);
    }
}

// Whether its receive is there already or not, with credit and without; what is sent after it stays
// behind it.
TEST_CASE("a send whose device fails tells its receiver", "[p2p][device]") {
  const bool lacks_memory = GENERATE(false, true);
  const Code why = lacks_memory ? Code::no_mem : Code::other;
  for (MemoryVariant variant : memory_variants())
    for (const std::size_t bytes : {100UL, 5'000UL, 20'000UL, 100'000UL})
      for (const Mode mode : {Mode::standard, Mode::synchronous})
        for (const bool is_expected : {true, false})
          for (const char* room : {"4M", "4096"}) {
            INFO(variant.name << ", " << bytes << " bytes, room for " << room);
            variant.device.fails_from = 0;
            variant.device.lacks_memory = lacks_memory;
            Machines both(2, variant, knobs_with({{"TUTTI_UNEXPECTED_BYTES", room}}));
            const auto data = pattern(700, 2);
            const Room source(both, 0, true, pattern(bytes, 1)), next(both, 0, false, data),
                filler(both, 0, false, pattern(3'900, 3));
            const Room first(both, 1, false, std::vector<std::byte>(bytes)),
                second(both, 1, false, std::vector<std::byte>(700));
            const auto receive = [&](const Room& into) {
              return both.worlds[1].recv(0, {1, 0, 5, 0}, into.buffer());
            };
            both.worlds[0].release(  // takes most of what may stay unexpected
                both.worlds[0].send(Mode::standard, 1, {1, 0, 4, 0}, filler.buffer()));
            Pending* one = is_expected ? receive(first) : nullptr;
            Pending* const failed = both.worlds[0].send(mode, 1, {1, 0, 5, 0}, source.buffer());
            Pending* const sent =
                both.worlds[0].send(Mode::standard, 1, {1, 0, 5, 0}, next.buffer());
            if (!is_expected) both.worlds.rounds(20);
            if (one == nullptr) one = receive(first);
            Pending* const two = receive(second);
            REQUIRE(both.worlds.until(
                [&] { return failed->done && sent->done && one->done && two->done; }));
            REQUIRE(failed->status.code == why);
            REQUIRE(one->status.code == Code::other);
            REQUIRE(sent->status.code == Code::ok);
            REQUIRE(two->status.code == Code::ok);
            REQUIRE(second.content() == data);
          }
}

TEST_CASE("a send that is cancelled after its device has failed tells its receiver",
          "[p2p][device]") {
  MemoryVariant variant = memory_variants()[0];
  variant.device.fails_from = 0;
  variant.link.capacity = 2;
  Machines both(2, variant);
  const auto data = pattern(500, 1);
  const Room plain(both, 0, false, data), failing(both, 0, true, data);
  const Room into(both, 1, false, std::vector<std::byte>(500));
  std::vector<Pending*> before;  // more than the link holds: what follows stands in line
  for (int i = 0; i < 4; ++i)
    before.push_back(both.worlds[0].send(Mode::standard, 1, {1, 0, 4, 0}, plain.buffer()));
  Pending* const send = both.worlds[0].send(Mode::standard, 1, {1, 0, 5, 0}, failing.buffer());
  for (int i = 0; i < 50; ++i) both.worlds[0].progress();
  REQUIRE(both.device(0).pending() == 0);
  both.worlds[0].cancel(send);
  REQUIRE_FALSE(send->done);
  Pending* const receive = both.worlds[1].recv(0, {1, 0, 5, 0}, into.buffer());
  REQUIRE(both.worlds.until([&] { return send->done && receive->done; }));
  CHECK(send->status.code == Code::other);
  CHECK_FALSE(send->status.cancelled);
  CHECK(receive->status.code == Code::other);
}

TEST_CASE("what arrives faster than a device takes it is bounded", "[p2p][device]") {
  MemoryVariant slow = memory_variants()[5];
  slow.device.longest_delay = 3000;
  Machines both(2, slow);
  const auto data = pattern(40'000'000, 1);
  const Room source(both, 0, false, data);
  const Room target(both, 1, true, std::vector<std::byte>(data.size()));
  Pending* send = both.worlds[0].send(Mode::standard, 1, {1, 0, 5, 0}, source.buffer());
  Pending* receive = both.worlds[1].recv(0, {1, 0, 5, 0}, target.buffer());
  std::size_t most = 0;
  REQUIRE(both.worlds.until([&] {
    most = std::max(most, both.worlds.core(1).kept_bytes());
    return send->done && receive->done;
  }));
  REQUIRE(target.content() == data);
  REQUIRE(most > 1'000'000);
  REQUIRE(most < 20'000'000);
}

TEST_CASE("the waiter knows of a device's work until that has ended", "[p2p][device]") {
  Machines both(2, memory_variants()[5]);
  const Room source(both, 0, true, pattern(100'000, 1));
  const Room target(both, 1, true, std::vector<std::byte>(100'000));
  Pending* const send = both.worlds[0].send(Mode::standard, 1, {1, 0, 5, 0}, source.buffer());
  Pending* const receive = both.worlds[1].recv(0, {1, 0, 5, 0}, target.buffer());
  const auto knows = [&](int rank) {
    return both.worlds[rank].waiter().sleeps_shortly() == (both.device(rank).pending() > 0);
  };
  while (!send->done || !receive->done) {
    both.worlds.progress();
    REQUIRE((knows(0) && knows(1)));
  }
  CHECK_FALSE(both.worlds[0].waiter().sleeps_shortly());
  CHECK_FALSE(both.worlds[1].waiter().sleeps_shortly());
}

TEST_CASE("a rank that waits for a device sleeps and comes back", "[p2p][device]") {
  in_ranks(
      2,
      [](int rank, Endpoint& endpoint) {
        FakeDeviceOptions late;
        late.longest_delay = 200;
        FakeDevice device(rank, late);
        endpoint.devices().add(device);
        for (int round = 0; round < 5; ++round) {
          std::byte* const at = device.take(100'000);
          Buffer buffer = Buffer::plain(at, 100'000);
          buffer.device = &device;
          const auto data = pattern(100'000, static_cast<std::uint64_t>(round));
          if (rank == 0) {
            std::copy(data.begin(), data.end(), device.seen(at));
            Pending* send = endpoint.send(Mode::standard, 1, {1, 0, round, 0}, buffer);
            endpoint.wait(send);
            endpoint.release(send);
          } else {
            TUTTI_CHECK(endpoint.recv_now(0, {1, 0, round, 0}, buffer).code == Code::ok,
                        "received");
            TUTTI_CHECK(std::equal(data.begin(), data.end(), device.seen(at)), "right data");
          }
        }
        endpoint.close();
      },
      knobs_with({{"TUTTI_POLL_US", "0"}}));
}
