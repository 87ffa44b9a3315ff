// The fake transport keeps the contract while it misbehaves.
#include "fake_transport.h"
#include "rig.h"

using namespace tutti;
using namespace tutti::test;

TEST_CASE("the fake transport delays, refuses and reorders, but keeps each pair's order",
          "[fake]") {
  FakeOptions options;
  options.longest_delay = 5;
  options.refuse_percent = 30;
  options.capacity = 4;
  options.late_done = true;
  FakeNet net(3, options);
  Recorder sinks[3];
  std::unique_ptr<Transport> ends[3];
  for (int i = 0; i < 3; ++i) ends[i] = net.open(i, &sinks[i]);
  auto from_one = *ends[1]->connect(Peer{0, 0, 0, false}, {});
  auto from_two = *ends[2]->connect(Peer{0, 0, 0, false}, {});
  Link* links[2] = {from_one.get(), from_two.get()};
  std::uint64_t sent[2] = {0, 0};
  int refused = 0;
  CountedDone done;
  const auto data = pattern(1000, 1);
  while (sinks[0].frames.size() < 400) {
    for (int i = 0; i < 2; ++i) {
      const FrameHeader header = header_for(sent[i]);
      if (sent[i] < 200 && links[i]->try_post({&header, data.data(), data.size(), &done}))
        ++sent[i];
      else
        ++refused;
    }
    for (auto& end : ends) end->progress();
  }
  for (auto& end : ends) end->progress();
  REQUIRE(refused > 0);
  REQUIRE(done.fired == 400);
  std::uint64_t next[3] = {0, 0, 0};
  bool mixed = false;
  for (std::size_t i = 0; i < 400; ++i) {
    const Received& frame = sinks[0].frames[i];
    REQUIRE(frame.header.length == next[frame.from]++);
    REQUIRE(frame.payload == data);
    mixed = mixed || (i > 0 && frame.from != sinks[0].frames[i - 1].from);
  }
  REQUIRE(mixed);
}

TEST_CASE("a peer that the fake transport loses is reported after its frames", "[fake]") {
  FakeNet net(2, {});
  Recorder sinks[2];
  auto zero = net.open(0, &sinks[0]);
  auto one = net.open(1, &sinks[1]);
  auto link = *one->connect(Peer{0, 0, 0, false}, {});
  const FrameHeader header = header_for(1);
  REQUIRE(link->try_post({&header, nullptr, 0, nullptr}));
  net.lose(1);
  zero->progress();
  zero->progress();
  REQUIRE(sinks[0].frames.size() == 1);
  REQUIRE(sinks[0].gone == std::vector<int>{1});
}
