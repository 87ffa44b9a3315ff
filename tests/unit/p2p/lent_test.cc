// Payloads that the transport lends: a device unpacks them where they lie, whatever becomes of the
// receive meanwhile.
#include <utility>

#include "machines.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::size_t kFrame = 4096;

MemoryVariant lending(std::size_t most, int longest_delay) {
  MemoryVariant variant = memory_variants()[0];
  variant.link.lends = most;
  variant.device.longest_delay = longest_delay;
  return variant;
}

// A message from rank 0 into a device's memory at rank 1, until some of it is lent there.
struct Begun {
  Begun(Machines& machines, std::size_t bytes, std::size_t room, std::uint32_t context = 1)
      : both(machines),
        data(pattern(bytes, 1)),
        source(both, 0, false, data),
        target(both, 1, true, std::vector<std::byte>(room)),
        receive(both.worlds[1].recv(0, {context, 0, 5, 0}, target.buffer())),
        send(both.worlds[0].send(Mode::standard, 1, {context, 0, 5, 0}, source.buffer())) {
    REQUIRE(both.worlds.until([&] { return lent() > 0; }));
    REQUIRE_FALSE(receive->done);
  }
  std::size_t lent() const { return both.worlds.net().lent().bytes; }

  Machines& both;
  const std::vector<std::byte> data;
  const Room source, target;
  Pending* const receive;
  Pending* const send;
};

struct Counted final : transport::Lender {
  int given = 0, ended = 0;
  transport::Loan lend() { return {*this, static_cast<std::uint64_t>(given++)}; }
  void take_back(std::uint64_t) override { ++ended; }
};

}  // namespace

TEST_CASE("what is lent is given back when the device has taken it, piece by piece",
          "[p2p][device][lent]") {
  for (const std::size_t frames : {1U, 2U, 40U}) {
    Machines both(2, lending(1 << 20, 300));
    Begun message(both, frames * kFrame, frames * kFrame);
    std::size_t most = 0, kept = 0;
    REQUIRE(both.worlds.until([&] {
      // In whichever order: as much as the device has not taken yet.
      REQUIRE(message.lent() == both.device(1).pending() * kFrame);
      most = std::max(most, message.lent());
      kept = std::max(kept, both.worlds.core(1).kept_bytes());
      return message.receive->done;
    }));
    CHECK(message.target.content() == message.data);
    CHECK(message.receive->status.code == Code::ok);
    CHECK(message.lent() == 0);
    CHECK(both.worlds.net().lent().number == frames);
    CHECK(most >= std::min<std::size_t>(frames, 4) * kFrame);
    CHECK(kept <= frames * sizeof(p2p::Bounce));  // no block for the bytes
  }
}

TEST_CASE("what a link does not lend is copied", "[p2p][device][lent]") {
  Machines both(2, lending(2 * kFrame, 300));
  Begun message(both, 100'000, 100'000);
  std::size_t most = 0;
  REQUIRE(both.worlds.until([&] {
    most = std::max(most, message.lent());
    return message.receive->done;
  }));
  CHECK(message.target.content() == message.data);
  CHECK(most == 2 * kFrame);
  CHECK(message.lent() == 0);
  CHECK(both.worlds.core(1).kept_bytes() == 0);
}

TEST_CASE("of a message that is too long what is lent is given back whole", "[p2p][device][lent]") {
  for (const std::size_t bytes : {std::size_t{900}, 10 * kFrame}) {
    Machines both(2, lending(1 << 20, 300));
    Begun message(both, bytes, bytes / 3);
    REQUIRE(both.worlds.until([&] { return message.receive->done && message.send->done; }));
    CHECK(message.receive->status.code == Code::truncate);
    auto wanted = message.data;
    wanted.resize(bytes / 3);
    CHECK(message.target.content() == wanted);
    CHECK(message.lent() == 0);
  }
}

TEST_CASE("a receive whose payload is lent ends with the device, also where it is cancelled",
          "[p2p][device][lent]") {
  for (const std::size_t bytes : {std::size_t{900}, 10 * kFrame}) {
    MemoryVariant slow = lending(1 << 20, 3000);
    slow.link.capacity = 3;
    Machines both(2, slow);
    Begun message(both, bytes, bytes, 7);
    both.worlds[1].cancel(7, Code::other);
    both.worlds[0].cancel(7, Code::other);
    CHECK_FALSE(message.receive->done);
    CHECK(message.lent() > 0);
    REQUIRE(both.worlds.until([&] { return message.receive->done && message.send->done; }));
    CHECK(both.device(1).pending() == 0);
    CHECK(message.lent() == 0);
    if (bytes > kFrame) CHECK(message.receive->status.code == Code::other);
  }
}

TEST_CASE("a peer may be lost while its payloads are lent", "[p2p][device][lent]") {
  for (const std::size_t bytes : {std::size_t{900}, 30 * kFrame}) {
    MemoryVariant slow = lending(1 << 20, 3000);
    slow.link.capacity = 3;
    Machines both(2, slow);
    Begun message(both, bytes, bytes);
    both.worlds.lose(0);
    const bool is_whole = bytes < kFrame;
    std::vector<std::byte> any(10);
    Pending* const next = both.worlds.recv(1, 0, 6, any);
    REQUIRE(both.worlds.until([&] { return next->done; }));
    CHECK(next->status.code == Code::proc_aborted);
    CHECK_FALSE(message.receive->done);
    CHECK(message.lent() > 0);
    REQUIRE(both.worlds.until([&] { return message.receive->done; }));
    CHECK(message.receive->status.code == (is_whole ? Code::ok : Code::proc_aborted));
    if (is_whole) CHECK(message.target.content() == message.data);
    CHECK(both.device(1).pending() == 0);
    CHECK(message.lent() == 0);
  }
}

TEST_CASE("the end of a world waits for what is lent to it", "[p2p][device][lent]") {
  Machines both(2, lending(1 << 20, 3000));
  const Begun message(both, 10 * kFrame, 10 * kFrame);
  both.worlds.end(1);  // the fake transport says so where a loan outlives it
  CHECK(both.device(1).pending() == 0);
  CHECK(message.lent() == 0);
}

TEST_CASE("what fails on the device is given back", "[p2p][device][lent]") {
  MemoryVariant failing = lending(1 << 20, 300);
  failing.device.fails_from = 2;
  Machines both(2, failing);
  const Begun message(both, 10 * kFrame, 10 * kFrame);
  REQUIRE(both.worlds.until([&] { return message.receive->done; }));
  CHECK(message.receive->status.code == Code::other);
  CHECK(message.lent() == 0);
}

TEST_CASE("messages into the host's memory are lent nothing", "[p2p][device][lent]") {
  Machines both(2, lending(1 << 20, 5));
  for (const std::size_t bytes : {std::size_t{900}, 10 * kFrame}) {
    const auto data = pattern(bytes, 3);
    const Room source(both, 0, true, data);
    const Room target(both, 1, false, std::vector<std::byte>(bytes));
    Pending* const receive = both.worlds[1].recv(0, {1, 0, 5, 0}, target.buffer());
    both.worlds[0].send(Mode::standard, 1, {1, 0, 5, 0}, source.buffer());
    REQUIRE(both.worlds.until([&] { return receive->done; }));
    CHECK(target.content() == data);
  }
  CHECK(both.worlds.net().lent().number == 0);
}

// As where the receive was cancelled between wants_loan() and the last part of the frame.
TEST_CASE("a payload that turns out to go nowhere is given back at once", "[p2p][device][lent]") {
  Machines both(2, lending(0, 5));
  Counted lender;
  auto data = pattern(900, 4);
  transport::FrameHeader header;
  header.kind = static_cast<std::uint8_t>(p2p::Kind::eager);
  header.context = 1;
  header.tag = 5;
  header.length = data.size();
  CHECK_FALSE(both.worlds.core(1).wants_loan(0, header, data.size()));
  CHECK(both.worlds.core(1).on_lent(0, header, data, lender.lend()));
  CHECK(lender.ended == 1);
  header.length = 0;  // not what such a frame has
  CHECK_FALSE(both.worlds.core(1).on_lent(0, header, data, lender.lend()));
  CHECK(lender.ended == 2);
  const Room target(both, 1, true, std::vector<std::byte>(900));
  Pending* const receive = both.worlds[1].recv(0, {1, 0, 5, 0}, target.buffer());
  REQUIRE(both.worlds.until([&] { return receive->done; }));
  CHECK(target.content() == pattern(900, 4));
}

// Real lanes, whose rings are far shorter than what is sent: the sender sleeps until room comes
// back.
TEST_CASE("a sender whose lane is lent out is woken when a loan ends", "[p2p][device][lent]") {
  constexpr std::size_t kBytes = 12'000'000;
  in_ranks(
      2,
      [](int rank, Endpoint& endpoint) {
        FakeDeviceOptions late;
        late.longest_delay = 30;
        FakeDevice device(rank, late);
        endpoint.devices().add(device);
        const auto data = pattern(kBytes, 1);
        std::byte* const at = device.take(kBytes);
        Buffer buffer = Buffer::plain(at, kBytes);
        buffer.device = &device;
        if (rank == 0) {
          std::copy(data.begin(), data.end(), device.seen(at));
          Pending* send = endpoint.send(Mode::standard, 1, {1, 0, 3, 0}, buffer);
          endpoint.wait(send);
          endpoint.release(send);
        } else {
          TUTTI_CHECK(endpoint.recv_now(0, {1, 0, 3, 0}, buffer).code == Code::ok, "received");
          TUTTI_CHECK(std::equal(data.begin(), data.end(), device.seen(at)), "right data");
        }
        endpoint.close();
      },
      knobs_with({{"TUTTI_POLL_US", "0"}}));
}
