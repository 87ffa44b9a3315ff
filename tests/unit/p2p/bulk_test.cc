// Data of long messages by a bulk link that delays frames, lets them overtake each other, and reads
// what was placed in a later round, while the ordered link goes on.
#include <array>

#include "base/object.h"
#include "machines.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr std::size_t kBulkFrom = 5000;

FakeOptions reordering(std::uint64_t seed) {
  FakeOptions options;
  options.name = "bulk";
  options.seed = seed;
  options.bulk_from = kBulkFrom;
  options.max_frame = 1500;
  options.longest_delay = 3;
  options.refuse_percent = 10;
  return options;
}

// One of several; its name is the ordered link's.
FakeOptions rail(std::uint64_t seed) {
  FakeOptions options = reordering(seed);
  options.name = FakeOptions{}.name;
  options.is_rail = true;
  return options;
}

bool all_done(const std::vector<Pending*>& requests) {
  return std::all_of(requests.begin(), requests.end(), [](Pending* r) { return r->done; });
}

}  // namespace

TEST_CASE("data that overtake each other on a bulk link arrive right, for every size",
          "[p2p][bulk]") {
  std::uint64_t overtaken = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    for (const std::size_t bytes : {1, 1024, 1025, 4999, 5000, 5001, 6000, 7500, 100'000}) {
      FakeOptions bulk = reordering(seed);
      bulk.late_done = seed % 2 == 0;
      bulk.places = seed % 4 < 2;
      INFO("seed " << seed << ", " << bytes << " bytes");
      Worlds worlds(2, {}, Knobs::defaults(), {bulk});
      constexpr std::size_t kMessages = 3;
      std::vector<std::vector<std::byte>> out, in;
      std::vector<Pending*> requests;
      for (std::size_t i = 0; i < kMessages; ++i) {
        out.push_back(pattern(bytes, i));
        in.emplace_back(bytes);
      }
      for (std::size_t i = 0; i < kMessages; ++i) {
        requests.push_back(worlds.send(0, 1, static_cast<int>(i), out[i]));
        requests.push_back(worlds.recv(1, 0, static_cast<int>(i), in[i]));
      }
      REQUIRE(worlds.until([&] { return all_done(requests); }));
      REQUIRE(in == out);
      for (Pending* each : requests) REQUIRE(each->status.code == Code::ok);
      // Chosen by size: all data go by the bulk link, or none.
      const std::size_t frames = (bytes + bulk.max_frame - 1) / bulk.max_frame;
      REQUIRE(worlds.bulk().frames() == (bytes < kBulkFrom ? 0 : kMessages * frames));
      overtaken += worlds.bulk().overtaken();
    }
  REQUIRE(overtaken > 100);
}

TEST_CASE("messages of datatypes with gaps go by a bulk link, either side or both", "[p2p][bulk]") {
  types::Datatype* const word = types::predefined_type(0x250);  // MPI_INT32_T
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const bool gaps_out : {false, true})
      for (const bool gaps_in : {false, true}) {
        INFO("seed " << seed << ", gaps " << gaps_out << gaps_in);
        constexpr std::size_t kWords = 20'000;
        auto vector = types::make_vector(kWords, 1, 2, *word);
        (*vector)->commit();
        std::vector<std::int32_t> out(2 * kWords), in(2 * kWords, -1);
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int32_t>(i);
        const auto buffer = [&](std::vector<std::int32_t>& memory, bool gaps) {
          return gaps ? Buffer::whole(memory.data(), 1, **vector)
                      : Buffer::whole(memory.data(), kWords, *word);
        };
        Worlds worlds(2, {}, Knobs::defaults(), {reordering(seed)});
        Pending* send = worlds[0].send(Mode::standard, 1, {1, 0, 2, 0}, buffer(out, gaps_out));
        Pending* receive = worlds[1].recv(0, {1, 0, 2, 0}, buffer(in, gaps_in));
        REQUIRE(worlds.until([&] { return send->done && receive->done; }));
        REQUIRE(receive->status.bytes == 4 * kWords);
        for (std::size_t i = 0; i < kWords; ++i)
          REQUIRE(in[gaps_in ? 2 * i : i] == out[gaps_out ? 2 * i : i]);
        REQUIRE(worlds.bulk().frames() > 0);
      }
}

TEST_CASE("of several bulk links the first that a message is long enough for carries it",
          "[p2p][bulk]") {
  FakeOptions longest = reordering(1), long_ones = reordering(2), device = reordering(3);
  device.kinds = kinds_of(MemoryKind::cuda);
  device.name = "device";
  longest.name = "longest";
  longest.bulk_from = 50'000;
  Worlds worlds(2, {}, Knobs::defaults(), {device, longest, long_ones});
  std::array<std::uint64_t, 3> before{};
  const auto carried_by = [&](std::size_t bytes) {
    auto data = pattern(bytes, bytes);
    std::vector<std::byte> into(bytes);
    Pending* const send = worlds.send(0, 1, 1, data);
    Pending* const receive = worlds.recv(1, 0, 1, into);
    REQUIRE(worlds.until([&] { return send->done && receive->done; }));
    REQUIRE(into == data);
    std::string text;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (worlds.bulk(i).frames() != before[i]) text += std::to_string(i);
      before[i] = worlds.bulk(i).frames();
    }
    return text;
  };
  REQUIRE(carried_by(4000) == "");
  REQUIRE(carried_by(6000) == "2");
  REQUIRE(carried_by(50'000) == "1");
}

TEST_CASE("the parts of a message go by rails in turn, past those that are full or cannot be made",
          "[p2p][bulk]") {
  enum class One { as_others, full, unmade };
  types::Datatype* const word = types::predefined_type(0x250);  // MPI_INT32_T
  for (const One one : {One::as_others, One::full, One::unmade})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      INFO("one rail is " << static_cast<int>(one) << ", seed " << seed);
      FakeOptions odd = rail(seed + 20);
      if (one == One::full) odd.capacity = 0;
      odd.is_reachable = one != One::unmade;
      Worlds worlds(2, {}, Knobs::defaults(), {rail(seed), odd, rail(seed + 10)});
      constexpr std::size_t kWords = 30'000;
      auto vector = types::make_vector(kWords, 1, 2, *word);
      (*vector)->commit();
      for (const bool gaps : {false, true}) {
        std::vector<std::int32_t> out(2 * kWords), in(2 * kWords);
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int32_t>(i);
        const auto whole = [&](std::vector<std::int32_t>& memory) {
          return gaps ? Buffer::whole(memory.data(), 1, **vector)
                      : Buffer::whole(memory.data(), 2 * kWords, *word);
        };
        Pending* const send = worlds[0].send(Mode::standard, 1, {1, 0, 2, 0}, whole(out));
        Pending* const receive = worlds[1].recv(0, {1, 0, 2, 0}, whole(in));
        REQUIRE(worlds.until([&] { return send->done && receive->done; }));
        for (std::size_t i = 0; i < in.size(); i += gaps ? 2 : 1) REQUIRE(in[i] == out[i]);
      }
      // 160 and 80 parts, of which a third each where all are alike.
      REQUIRE((worlds.bulk(1).frames() > 0) == (one == One::as_others));
      for (const std::size_t each : {std::size_t{0}, std::size_t{2}})
        REQUIRE(worlds.bulk(each).frames() >= 60);
    }
}

TEST_CASE("a bulk link carries what lies in memory of its kinds at both ends",
          "[p2p][bulk][device]") {
  const MemoryKinds host = kinds_of(MemoryKind::host), cuda = kinds_of(MemoryKind::cuda);
  for (const bool moves : {false, true})
    for (const MemoryKinds kinds : {host, cuda, host | cuda})
      for (const bool from : {false, true})
        for (const bool into : {false, true}) {
          INFO("moves " << moves << ", kinds " << kinds << ", from " << from << " into " << into);
          MemoryVariant variant;
          variant.bulk = {reordering(7)};
          variant.bulk[0].kinds = kinds;
          variant.moves = moves;
          Machines both(2, variant);
          const auto data = pattern(100'000, 1);
          const Room source(both, 0, from, data);
          const Room target(both, 1, into, std::vector<std::byte>(data.size()));
          Pending* const send =
              both.worlds[0].send(Mode::standard, 1, {1, 0, 5, 0}, source.buffer());
          Pending* const receive = both.worlds[1].recv(0, {1, 0, 5, 0}, target.buffer());
          REQUIRE(both.worlds.until([&] { return send->done && receive->done; }));
          REQUIRE(target.content() == data);
          const MemoryKinds needed = (from ? cuda : host) | (into ? cuda : host);
          REQUIRE((both.worlds.bulk().frames() > 0) == ((kinds & needed) == needed));
        }
}

TEST_CASE("a message cut by its receive goes by the link for what is received", "[p2p][bulk]") {
  Worlds worlds(2, {}, Knobs::defaults(), {reordering(1)});
  auto data = pattern(100'000, 1);
  for (const std::size_t room : {std::size_t{3000}, std::size_t{30'000}}) {
    std::vector<std::byte> into(room);
    Pending* const send = worlds.send(0, 1, 1, data);
    Pending* const receive = worlds.recv(1, 0, 1, into);
    REQUIRE(worlds.until([&] { return send->done && receive->done; }));
    REQUIRE(receive->status.code == Code::truncate);
    REQUIRE(std::equal(into.begin(), into.end(), data.begin()));
    REQUIRE((worlds.bulk().frames() > 0) == (room >= kBulkFrom));
  }
}

TEST_CASE("a send by a bulk link is over when all of it is there", "[p2p][bulk]") {
  FakeOptions bulk = reordering(1);
  bulk.longest_delay = 50;
  Worlds worlds(2, {}, Knobs::defaults(), {bulk});
  auto data = pattern(20'000, 1);
  std::vector<std::byte> into(20'000);
  Pending* const receive = worlds.recv(1, 0, 1, into);
  Pending* const send = worlds.send(0, 1, 1, data);
  bool was_early = false;
  REQUIRE(worlds.until([&] {
    was_early = was_early || (send->done && !receive->done);
    return send->done;
  }));
  REQUIRE_FALSE(was_early);
  REQUIRE(into == data);
}

TEST_CASE("a bulk link that cannot be made is told once and left out", "[p2p][bulk]") {
  FakeOptions bulk = reordering(1);
  bulk.is_reachable = false;
  Worlds worlds(2, {}, Knobs::defaults(), {bulk});
  for (int i = 0; i < 2; ++i) {
    auto data = pattern(20'000, 1);
    std::vector<std::byte> into(20'000);
    Pending* const receive = worlds.recv(1, 0, 1, into);
    Pending* const send = worlds.send(0, 1, 1, data);
    REQUIRE(worlds.until([&] { return send->done && receive->done; }));
    REQUIRE(into == data);
  }
  REQUIRE(worlds.bulk().frames() == 0);
}

TEST_CASE("a peer lost by any of its links ends what it had, and nothing is written afterwards",
          "[p2p][bulk]") {
  for (const bool by_bulk_only : {false, true})
    for (int rounds = 0; rounds < 40; ++rounds)
      for (const int lost : {0, 1}) {
        const bool by_rails = rounds % 3 == 0;
        INFO("lost: " << lost << " after " << rounds << " rounds, bulk only " << by_bulk_only);
        FakeOptions bulk = by_rails ? rail(static_cast<std::uint64_t>(rounds + 1))
                                    : reordering(static_cast<std::uint64_t>(rounds + 1));
        bulk.late_done = rounds % 2 == 0;
        Worlds worlds(2, {}, Knobs::defaults(), std::vector<FakeOptions>(by_rails ? 3 : 1, bulk));
        auto data = pattern(30'000, 1);
        std::vector<std::byte> into(30'000);
        Pending* const receive = worlds.recv(1, 0, 1, into);
        Pending* const send = worlds.send(0, 1, 1, data);
        worlds.rounds(rounds);
        if (by_bulk_only)
          worlds.bulk().lose(lost);
        else
          worlds.lose(lost);
        Pending* const mine = lost == 0 ? receive : send;
        REQUIRE(worlds.until([&] { return mine->done; }));
        REQUIRE((mine->status.code == Code::ok || mine->status.code == Code::proc_aborted));
        if (mine == receive && mine->status.code == Code::ok) REQUIRE(into == data);
        const std::vector<std::byte> seen = into;
        worlds.rounds(100);
        if (mine == receive) REQUIRE(into == seen);
      }
}
