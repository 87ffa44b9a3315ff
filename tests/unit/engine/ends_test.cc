// A run that fails ends when nothing touches the caller's memory any more.
#include <functional>
#include <optional>

#include "catch.h"
#include "engine/engine.h"
#include "worlds.h"

namespace {

using namespace tutti;
using sched::Slice;
using sched::Space;

using test::Worlds;

using Bytes = std::vector<std::byte>;

constexpr std::size_t kLong = 200'000;
constexpr std::uint32_t kContext = 41, kCall = 0x10000007, kOther = 0x20000000;

Slice at(Space space, std::size_t offset, std::size_t bytes) {
  return {space, static_cast<types::Count>(offset), static_cast<types::Count>(bytes)};
}

// What rank 1 of two sends to rank 0, or asks of it, by hand.
p2p::Envelope from(int rank, std::uint32_t fingerprint = kCall) {
  return {kContext, rank, 0, fingerprint};
}

// Rank 0's run of `builder` over these two memories.
class Caller {
 public:
  Caller(Worlds& worlds, sched::Builder& builder, bool outlives_failure = true)
      : run_(worlds[0], scratch_, std::make_shared<const engine::Program>(builder.finish())) {
    engine::Binding binding;
    binding.context = kContext;
    binding.fingerprint = kCall;
    binding.peers = peers_;
    binding.outlives_failure = outlives_failure;
    binding.in.whole = {in.data(), static_cast<types::Count>(in.size())};
    binding.out.whole = {out.data(), static_cast<types::Count>(out.size())};
    run_.rebind() = std::move(binding);
    run_.begin();
  }
  engine::Run& run() { return run_; }

  Bytes in = test::pattern(kLong, 1);
  Bytes out = Bytes(kLong + 8);

 private:
  const std::vector<int> peers_{0, 1};
  engine::ScratchPool scratch_;
  engine::Run run_;
};

// A message of another call, which fails the run that receives it.
void send_other_call(Worlds& worlds) {
  worlds[1].release(
      worlds[1].send(p2p::Mode::standard, 0, from(1, kOther), types::Buffer::plain(nullptr, 0)));
}

}  // namespace

TEST_CASE("who has no memory for a message says so in its place", "[engine]") {
  test::FakeOptions options;
  options.throws_at = 0;
  Worlds worlds(2, options);
  sched::Builder builder;
  builder.send(at(Space::in, 0, 8), 1);
  builder.recv(at(Space::out, 0, 8), 1);
  Caller caller(worlds, builder);
  CHECK(caller.run().code() == Code::no_mem);
  CHECK_FALSE(caller.run().failure().text.empty());
  Bytes got(8), sent(8);
  p2p::Pending* const asked = worlds[1].recv(0, from(0), test::plain(got));
  p2p::Pending* const given = worlds[1].send(p2p::Mode::standard, 0, from(1), test::plain(sent));
  REQUIRE(worlds.until([&] { return asked->done && given->done && caller.run().is_done(); }));
  CHECK(asked->status.code == Code::other);
  CHECK(worlds[1].failure_of(*asked).is_theirs);
  for (p2p::Pending* each : {asked, given}) worlds[1].release(each);
}

TEST_CASE("a run that fails waits for a receive that is being written to", "[engine]") {
  Worlds worlds(2);
  sched::Builder builder;
  builder.recv(at(Space::out, 0, kLong), 1);
  builder.recv(at(Space::out, kLong, 8), 1);
  Caller caller(worlds, builder);
  Bytes sent = test::pattern(kLong, 7);
  p2p::Pending* const offered = worlds[1].send(p2p::Mode::standard, 0, from(1), test::plain(sent));
  send_other_call(worlds);
  // Rank 1 does not look: the receive is granted, and nothing comes.
  for (int i = 0; i < 200; ++i) worlds[0].progress();
  REQUIRE_FALSE(offered->done);
  CHECK_FALSE(caller.run().is_done());
  CHECK(caller.run().code() == Code::other);
  REQUIRE(worlds.until([&] { return caller.run().is_done(); }));
  CHECK(std::equal(sent.begin(), sent.end(), caller.out.begin()));
  REQUIRE(worlds.until([&] { return offered->done; }));
  worlds[1].release(offered);
}

TEST_CASE("a run that fails takes back what it has offered, and says so in its place", "[engine]") {
  Worlds worlds(2);
  sched::Builder builder;
  builder.send(at(Space::in, 0, kLong), 1);
  builder.recv(at(Space::out, kLong, 8), 1);
  Caller caller(worlds, builder);
  send_other_call(worlds);
  for (int i = 0; i < 200; ++i) worlds[0].progress();
  CHECK(caller.run().code() == Code::other);
  CHECK_FALSE(caller.run().is_done());  // rank 1 may still ask for it
  REQUIRE(worlds.until([&] { return caller.run().is_done(); }));
  std::fill(caller.in.begin(), caller.in.end(), std::byte{});
  Bytes got(kLong);
  p2p::Pending* const asked = worlds[1].recv(0, from(0), test::plain(got));
  REQUIRE(worlds.until([&] { return asked->done; }));
  CHECK(asked->status.code == Code::other);
  CHECK(got == Bytes(kLong));
  // It has met another call, and says that.
  CHECK(worlds[1].failure_of(*asked).is_theirs);
  CHECK(worlds[1].failure_of(*asked).is_mismatch);
  worlds[1].release(asked);
}

TEST_CASE("a run that fails waits for a message that is being taken", "[engine]") {
  Worlds worlds(2);
  sched::Builder builder;
  builder.send(at(Space::in, 0, kLong), 1);
  builder.recv(at(Space::out, kLong, 8), 1);
  Caller caller(worlds, builder);
  worlds.rounds(5);
  Bytes got(kLong);
  p2p::Pending* const asked = worlds[1].recv(0, from(0), test::plain(got));
  send_other_call(worlds);
  REQUIRE(worlds.until([&] { return caller.run().is_done(); }));
  std::fill(caller.in.begin(), caller.in.end(), std::byte{});
  REQUIRE(worlds.until([&] { return asked->done; }));
  CHECK(asked->status.code == Code::ok);
  CHECK(got == test::pattern(kLong, 1));
  worlds[1].release(asked);
}

TEST_CASE("a run that fails does not wait for a peer that has left", "[engine]") {
  Worlds worlds(2);
  sched::Builder builder;
  builder.send(at(Space::in, 0, kLong), 1);
  builder.recv(at(Space::out, kLong, 8), 1);
  Caller caller(worlds, builder);
  REQUIRE(worlds.until([&] { return worlds[1].counters().unexpected_now == 1; }));
  send_other_call(worlds);
  worlds[1].close();
  REQUIRE(worlds.until([&] { return caller.run().is_done(); }));
  CHECK(caller.run().code() == Code::other);
}

TEST_CASE("a run whose failure ends the job waits for nobody", "[engine]") {
  Worlds worlds(2);
  sched::Builder builder;
  builder.recv(at(Space::out, 0, kLong), 1);
  builder.send(at(Space::in, 0, kLong), 1);
  builder.recv(at(Space::out, kLong, 8), 1);
  Caller caller(worlds, builder, false);
  Bytes sent = test::pattern(kLong, 7);
  worlds[1].release(worlds[1].send(p2p::Mode::standard, 0, from(1), test::plain(sent)));
  send_other_call(worlds);
  const std::int64_t deadline = now_ns() + test::kPatience_ns;
  while (!caller.run().is_done() && now_ns() < deadline) worlds[0].progress();
  CHECK(caller.run().is_done());
  CHECK(caller.run().code() == Code::other);
  worlds.rounds(20);  // what is under way goes on
}

TEST_CASE("a run whose peer is lost ends, whatever was under way", "[engine]") {
  Worlds worlds(2);
  sched::Builder builder;
  builder.send(at(Space::in, 0, kLong), 1);
  builder.recv(at(Space::out, 0, kLong), 1);
  builder.recv(at(Space::out, kLong, 8), 1);
  Caller caller(worlds, builder);
  Bytes sent = test::pattern(kLong, 7);
  worlds[1].release(worlds[1].send(p2p::Mode::standard, 0, from(1), test::plain(sent)));
  for (int i = 0; i < 200; ++i) worlds[0].progress();
  worlds.lose(1);
  REQUIRE(worlds.until([&] { return caller.run().is_done(); }));
  CHECK(caller.run().code() == Code::proc_aborted);
}

namespace {

// A run of rank 0 of three that fails as it begins, since rank 2 is lost. What it says to rank 1
// instead of sending finds no credit, which makes the endpoint look at what has come: so messages
// of the run end while it is still busy with the others.
class Doomed {
 public:
  explicit Doomed(const std::function<void(sched::Builder&)>& steps) {
    worlds.lose(2);
    p2p::Pending* const none = worlds[0].recv(2, from(2), types::Buffer::plain(nullptr, 0));
    REQUIRE(worlds.until([&] { return none->done; }));
    worlds[0].release(none);
    for (int i = 0; i < 2; ++i)  // that is all the credit there is
      worlds[0].release(
          worlds[0].send(p2p::Mode::standard, 1, from(0, 0), types::Buffer::plain(nullptr, 0)));
    sched::Builder builder;
    steps(builder);
    run_.emplace(worlds[0], scratch_, std::make_shared<const engine::Program>(builder.finish()));
  }
  void begin() {
    run_->owner = this;
    run_->on_done = [](engine::Run* self) { ++static_cast<Doomed*>(self->owner)->ends; };
    engine::Binding binding;
    binding.context = kContext;
    binding.fingerprint = kCall;
    binding.peers = peers_;
    binding.in.whole = {memory_.data(), 16};
    binding.out.whole = {memory_.data() + 16, 16};
    run_->rebind() = std::move(binding);
    run_->begin();
    REQUIRE(worlds.until([&] { return run_->is_done(); }));
    CHECK(run_->code() == Code::proc_aborted);
  }

  Worlds worlds{3, {}, test::knobs_with({{"TUTTI_UNEXPECTED_BYTES", "256"}})};
  int ends = 0;

 private:
  const std::vector<int> peers_{0, 1, 2};
  Bytes memory_ = Bytes(32);
  engine::ScratchPool scratch_;
  std::optional<engine::Run> run_;
};

}  // namespace

TEST_CASE("a run that fails as it begins ends once", "[engine]") {
  Doomed doomed([](sched::Builder& builder) {
    builder.recv(at(Space::out, 0, 8), 1);
    builder.recv(at(Space::out, 8, 8), 2);
    builder.send(at(Space::in, 0, 8), 1);
  });
  doomed.begin();
  doomed.worlds.rounds(20);
  CHECK(doomed.ends == 1);
}

TEST_CASE("a run that fails as it begins says so once to each", "[engine]") {
  Doomed doomed([](sched::Builder& builder) {
    builder.send(at(Space::in, 0, 8), 1);
    builder.recv(at(Space::out, 0, 8), 1);
    builder.recv(at(Space::out, 8, 8), 2);
  });
  Bytes sent(8);
  doomed.worlds[1].release(
      doomed.worlds[1].send(p2p::Mode::standard, 0, from(1), test::plain(sent)));
  doomed.begin();
  doomed.worlds.rounds(20);
  CHECK(doomed.ends == 1);
  int messages = 0;
  for (p2p::Status status; doomed.worlds[1].probe(0, from(0), &status); ++messages)
    doomed.worlds[1].recv_now(0, from(0), types::Buffer::plain(nullptr, 0));
  CHECK(messages == 3);  // two that took all credit, and the word
}
