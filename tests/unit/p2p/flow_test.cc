// Flow control: what a peer may leave here without being asked is bounded, and nothing is lost.
#include "worlds.h"

using namespace tutti;
using namespace tutti::test;

TEST_CASE("a flood of unexpected messages stays within the window, and all arrive", "[p2p][flow]") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{900}}) {
    INFO(bytes << " bytes each");
    constexpr std::size_t kWindow = 65536;
    Worlds worlds(2, {}, knobs_with({{"TUTTI_UNEXPECTED_BYTES", std::to_string(kWindow)}}));
    constexpr int kCount = 5000;
    auto data = pattern(bytes, 1);
    std::vector<std::byte> into(bytes);
    std::vector<Pending*> sends;
    std::size_t without_request = 0;
    Status status;
    REQUIRE_FALSE(worlds[1].probe(0, {1, 0, 0, 0}, &status));  // it polls from now on
    for (int i = 0; i < kCount; ++i) {
      if (worlds[0].try_send(1, {1, 0, i, 0}, data.data(), bytes))
        ++without_request;
      else
        sends.push_back(worlds.send(0, 1, i, data));
      worlds.progress();
    }
    worlds.rounds(100);
    // Those beyond the window wait at the sender; here they cost a small record each.
    REQUIRE(without_request < kCount);
    REQUIRE(without_request > 50);
    REQUIRE(worlds.core(1).kept_bytes() <= kWindow + 128 * sends.size());
    for (std::size_t i = 0; i < sends.size(); ++i) {
      INFO("send " << i << " of " << sends.size());
      REQUIRE_FALSE(sends[i]->done);
    }
    for (int i = kCount; i-- > 0;) {
      Pending* receive = worlds.recv(1, 0, i, into);
      REQUIRE(worlds.until([&] { return receive->done; }));
      REQUIRE(receive->status.code == Code::ok);
      REQUIRE(into == data);
      worlds[1].release(receive);
    }
    REQUIRE(worlds.until([&] {
      return std::all_of(sends.begin(), sends.end(), [](Pending* r) { return r->done; });
    }));
    REQUIRE(worlds.until([&] { return worlds.core(1).kept_bytes() == 0; }));
    // Credit came back: short messages go at once again.
    REQUIRE(worlds.until([&] { return worlds[0].try_send(1, {1, 0, 7, 0}, data.data(), bytes); }));
  }
}

TEST_CASE("while there is memory, kept messages cost their sender nothing", "[p2p][flow]") {
  Worlds worlds(2);
  constexpr int kCount = 60'000;  // the default window has room for 21,845
  auto data = pattern(8, 1);
  std::vector<std::byte> into(data.size());
  Status status;
  REQUIRE_FALSE(worlds[1].probe(0, {1, 0, 0, 0}, &status));  // it polls from now on
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kCount; ++i) {
      REQUIRE(worlds.until([&] { return worlds[0].try_send(1, {1, 0, i, 0}, data.data(), 8); }));
      worlds.progress();
    }
    REQUIRE(worlds.until([&] { return worlds[1].probe(0, {1, 0, kCount - 1, 0}, &status); }));
    for (int i = kCount; i-- > 0;) {
      Pending* receive = worlds.recv(1, 0, i, into);
      REQUIRE(worlds.until([&] { return receive->done; }));
      REQUIRE(into == data);
      worlds[1].release(receive);
    }
    REQUIRE(worlds.core(1).kept_bytes() == 0);
  }
}

TEST_CASE("credit comes back in one direction of traffic without end", "[p2p][flow]") {
  Worlds worlds(2, {}, knobs_with({{"TUTTI_UNEXPECTED_BYTES", "16384"}}));
  auto data = pattern(512, 1);
  std::vector<std::byte> into(512);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (!worlds[0].try_send(1, {1, 0, 1, 0}, data.data(), data.size())) {
      ++refused;
      Pending* send = worlds.send(0, 1, 1, data);
      worlds[0].release(send);
    }
    Pending* receive = worlds.recv(1, 0, 1, into);
    REQUIRE(worlds.until([&] { return receive->done; }));
    worlds[1].release(receive);
  }
  REQUIRE(refused == 0);
}

TEST_CASE("two ranks that flood each other before receiving both finish", "[p2p][flow]") {
  in_ranks(
      2,
      [](int rank, Endpoint& endpoint) {
        constexpr int kCount = 20'000;
        std::vector<Pending*> sends;
        auto data = pattern(64, static_cast<unsigned>(rank));
        for (int i = 0; i < kCount; ++i)
          sends.push_back(endpoint.send(Mode::standard, 1 - rank, {1, rank, i, 0}, plain(data)));
        std::vector<std::byte> into(64);
        for (int i = 0; i < kCount; ++i) {
          const Status status = endpoint.recv_now(1 - rank, {1, 1 - rank, i, 0}, plain(into));
          TUTTI_CHECK(status.code == Code::ok &&
                      into == pattern(64, static_cast<unsigned>(1 - rank)));
        }
        for (Pending* each : sends) {
          endpoint.wait(each);
          endpoint.release(each);
        }
      },
      knobs_with({{"TUTTI_UNEXPECTED_BYTES", "65536"}}));
}

TEST_CASE("a sender that sleeps on a full lane is woken by its receiver", "[p2p][flow]") {
  // Without the waking every message costs a sleep to its time limit.
  in_ranks(2, [](int rank, Endpoint& endpoint) {
    auto data = pattern(2'000'000, 3);
    std::vector<std::byte> into(data.size());
    for (int i = 0; i < 40; ++i) {
      if (rank == 0) {
        Pending* send = endpoint.send(Mode::standard, 1, {1, 0, 1, 0}, plain(data));
        endpoint.wait(send);
        endpoint.release(send);
        continue;
      }
      Pending* receive = endpoint.recv(0, {1, 0, 1, 0}, plain(into));
      endpoint.progress();  // grants it; then this rank computes, and the lane fills up
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      endpoint.wait(receive);
      TUTTI_CHECK(receive->status.code == Code::ok);
      endpoint.release(receive);
    }
    TUTTI_CHECK(rank == 0 || into == data);
  });
}

TEST_CASE("what lies in one run goes in a frame of any length, what must be packed in a short one",
          "[p2p][flow]") {
  constexpr types::Count kBytes = 100'000;
  FakeOptions frames;
  frames.max_frame = frames.eager_bytes = 512 << 10;
  Worlds worlds(2, frames);
  types::Datatype* const byte = types::predefined_type(0x247);  // MPI_BYTE
  const auto gaps = *types::make_vector(kBytes, 1, 2, *byte);
  gaps->commit();
  std::vector<std::byte> out = pattern(2 * kBytes, 1), in(kBytes);
  std::uint64_t offers = 0;
  for (const bool has_gaps : {false, true}) {
    const Buffer from =
        has_gaps ? Buffer::whole(out.data(), 1, *gaps) : Buffer::whole(out.data(), kBytes, *byte);
    Pending* const send = worlds[0].send(Mode::standard, 1, {1, 0, 2, 0}, from);
    Pending* const receive = worlds.recv(1, 0, 2, in);
    REQUIRE(worlds.until([&] { return send->done && receive->done; }));
    REQUIRE(in[2] == out[has_gaps ? 4 : 2]);
    offers += has_gaps ? 1 : 0;
    CHECK(worlds[0].counters().offers_sent == offers);
  }
}
