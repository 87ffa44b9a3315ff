// Short messages that were offered for want of credit: brought to their receiver while it has room.
#include "worlds.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::size_t kBytes = 1000;
constexpr int kCount = 6000;  // the default window has room for 3,640

// Links that hold all of it.
FakeOptions roomy() {
  FakeOptions options;
  options.capacity = 2 * kCount;
  return options;
}

// Sends, all of them, to a receiver that does not look before the last one.
std::vector<Pending*> flood(Worlds& worlds, std::vector<std::vector<std::byte>>& data,
                            Mode mode = Mode::standard) {
  std::vector<Pending*> sends;
  for (int i = 0; i < kCount; ++i) data.push_back(pattern(kBytes, static_cast<unsigned>(i)));
  for (int i = 0; i < kCount; ++i)
    sends.push_back(worlds.send(0, 1, i, data[static_cast<std::size_t>(i)], mode));
  return sends;
}

bool all_done(const std::vector<Pending*>& sends) {
  return std::all_of(sends.begin(), sends.end(), [](const Pending* one) { return one->done; });
}

int pending(const std::vector<Pending*>& sends) {
  return static_cast<int>(
      std::count_if(sends.begin(), sends.end(), [](const Pending* one) { return !one->done; }));
}

// The first that was offered.
std::size_t first_pending(const std::vector<Pending*>& sends) {
  const auto found =
      std::find_if(sends.begin(), sends.end(), [](const Pending* one) { return !one->done; });
  return static_cast<std::size_t>(found - sends.begin());
}

// It polls from now on, and knows whom it hears from.
void listen(Worlds& worlds) {
  Status status;
  REQUIRE_FALSE(worlds[1].probe(0, {1, 0, 0, 0}, &status));
}

}  // namespace

TEST_CASE("while there is memory, a flood of any short messages lets its sender go on",
          "[p2p][flow]") {
  const bool gets = GENERATE(false, true), get_fails = GENERATE(false, true);
  FakeOptions options = roomy();
  options.gets = gets;
  options.get_fails = get_fails;
  options.get_from = kBytes;
  Worlds worlds(2, options);
  listen(worlds);
  std::vector<std::vector<std::byte>> data;
  const std::vector<Pending*> sends = flood(worlds, data);
  REQUIRE(pending(sends) > 1000);
  REQUIRE(worlds.until([&] { return all_done(sends); }));
  std::vector<std::byte> into(kBytes);
  Status status;
  for (int i = kCount; i-- > 0;) {
    REQUIRE(worlds[1].probe(0, {1, 0, i, 0}, &status));
    REQUIRE(status.bytes == static_cast<std::int64_t>(kBytes));
    Pending* receive = worlds.recv(1, 0, i, into);
    REQUIRE(worlds.until([&] { return receive->done; }));
    REQUIRE(receive->status.code == Code::ok);
    REQUIRE(into == data[static_cast<std::size_t>(i)]);
    worlds[1].release(receive);
  }
  for (Pending* each : sends) worlds[0].release(each);
  REQUIRE(worlds.until([&] { return worlds.core(1).kept_bytes() == 0; }));
  REQUIRE_FALSE(worlds[1].is_used(1));
}

TEST_CASE("a synchronous send without credit still waits for its receive", "[p2p][flow]") {
  Worlds worlds(2, roomy());
  listen(worlds);
  std::vector<std::vector<std::byte>> data;
  const std::vector<Pending*> sends = flood(worlds, data, Mode::synchronous);
  worlds.rounds(100);
  REQUIRE(pending(sends) == kCount);
  std::vector<std::byte> into(kBytes);
  for (int i = 0; i < kCount; ++i) {
    Pending* receive = worlds.recv(1, 0, i, into);
    REQUIRE(worlds.until([&] { return receive->done; }));
    REQUIRE(into == data[static_cast<std::size_t>(i)]);
    worlds[1].release(receive);
  }
  REQUIRE(worlds.until([&] { return all_done(sends); }));
}

TEST_CASE("a receive takes a message that is being brought, whole, cut or by a matched probe",
          "[p2p][flow]") {
  Worlds worlds(2, roomy());
  listen(worlds);
  std::vector<std::vector<std::byte>> data;
  const std::vector<Pending*> sends = flood(worlds, data);
  while (worlds[1].progress() > 0) {
  }
  // Asked for, and the sender has not looked yet.
  const std::size_t first = first_pending(sends);
  const int tag = static_cast<int>(first);
  std::vector<std::byte> whole(kBytes), part(10), probed(kBytes);
  Pending* const as_it_is = worlds.recv(1, 0, tag, whole);
  Pending* const cut = worlds.recv(1, 0, tag + 1, part);
  Status status;
  p2p::KeptMessage* const message = worlds[1].take(0, {1, 0, tag + 2, 0}, &status);
  REQUIRE(message != nullptr);
  Pending* const matched = worlds[1].recv_taken(message, plain(probed));
  REQUIRE_FALSE(as_it_is->done);
  REQUIRE_FALSE(cut->done);
  REQUIRE_FALSE(matched->done);
  // Too late to be recalled.
  worlds[0].cancel(sends[first + 3]);
  REQUIRE(worlds.until(
      [&] { return as_it_is->done && cut->done && matched->done && all_done(sends); }));
  CHECK(whole == data[first]);
  CHECK(cut->status.code == Code::truncate);
  CHECK(cut->status.bytes == 10);
  CHECK(std::equal(part.begin(), part.end(), data[first + 1].begin()));
  CHECK(probed == data[first + 2]);
  CHECK_FALSE(sends[first + 3]->status.cancelled);
}

TEST_CASE("a message whose sender is lost while it is brought ends the receive that wants it",
          "[p2p][flow][lost]") {
  Worlds worlds(2, roomy());
  listen(worlds);
  std::vector<std::vector<std::byte>> data;
  const auto first = static_cast<int>(first_pending(flood(worlds, data)));
  while (worlds[1].progress() > 0) {
  }
  std::vector<std::byte> before(kBytes), after(kBytes);
  Pending* const asked_before = worlds.recv(1, 0, first, before);
  REQUIRE_FALSE(asked_before->done);
  worlds.lose(0);
  REQUIRE(worlds.until([&] { return asked_before->done; }));
  CHECK(asked_before->status.code == Code::proc_aborted);
  Pending* const asked_after = worlds.recv(1, 0, first + 1, after);
  REQUIRE(worlds.until([&] { return asked_after->done; }));
  CHECK(asked_after->status.code == Code::proc_aborted);
  // What had come in full is there.
  Pending* const whole = worlds.recv(1, 0, 0, after);
  REQUIRE(worlds.until([&] { return whole->done; }));
  CHECK(whole->status.code == Code::ok);
  CHECK(after == data[0]);
}
