// Collectives between two groups against their contracts, in random orders; and neighbours.
#include "catch.h"
#include "coll/coll.h"

namespace {

using namespace tutti;
using coll::Collective;
using coll::Count;
using coll::RankCall;

bool has_root(Collective c) {
  using enum Collective;
  return c == bcast || c == reduce || c == gather || c == scatter || c == gatherv || c == scatterv;
}

// Blocks of their own sizes: what `from` gives to `to`, some of them empty.
Count block(int from, int to) {
  return (from * 7 + to * 3 + 1) % 4;
}

// One call as everybody makes it.
struct Meeting {
  Collective collective;
  int first, second, root;
  Count count;
  bool commutative;

  int size() const { return first + second; }
  bool in_first(int rank) const { return rank < first; }

  void set_blocks(RankCall& call, std::vector<Count>& send, std::vector<Count>& recv) const {
    using enum Collective;
    const coll::GroupSides sides(call);
    const bool to_each = collective == alltoallv || collective == alltoall;
    for (int i = 0; i < sides.other; ++i) {
      const int peer = sides.other_first + i;
      const int from = to_each ? call.rank : 0;
      send.push_back(collective == alltoall ? count : block(from, peer));
      recv.push_back(collective == alltoall ? count : to_each ? block(peer, from) : block(peer, 0));
    }
    if (collective == gather || collective == scatter || collective == allgather)
      recv.assign(send.size(), count);
    if (collective == gatherv || collective == allgatherv || collective == scatterv)
      call.count = block(call.rank, 0);
    if (collective == scatterv)
      for (int i = 0; i < sides.other; ++i)
        recv[static_cast<std::size_t>(i)] = block(sides.other_first + i, 0);
    if (collective == reduce_scatter) {
      // Both groups share the same vector out among themselves: all to the last, or evenly.
      recv.assign(static_cast<std::size_t>(sides.own), 0);
      recv.back() = first * second;
      if (count % 2 == 1) recv.assign(static_cast<std::size_t>(sides.own), sides.other);
    }
    call.send_counts = send;
    call.counts = recv;
  }

  void prove(std::uint64_t seed) const {
    std::vector<sched::Schedule> schedules;
    std::vector<sched::Contract> contracts;
    for (int rank = 0; rank < size(); ++rank) {
      RankCall call;
      call.collective = collective;
      call.rank = rank;
      call.size = size();
      call.first_group = first;
      call.count = count;
      call.commutative = commutative;
      call.root = has_root(collective) ? root : 0;
      const bool with_root = in_first(rank) == in_first(root);
      if (has_root(collective) && with_root && rank != root) call.root = -1;
      std::vector<Count> send, recv;
      set_blocks(call, send, recv);
      auto built = coll::build_between(call);
      REQUIRE(built);
      schedules.push_back(std::move(*built));
      contracts.push_back(coll::contract_between(call));
    }
    const auto proved = sched::check(schedules, contracts, seed);
    INFO(coll::name_of(collective)
         << " of " << count << ", groups " << first << " and " << second << ", root " << root);
    INFO((proved ? std::string("proved") : proved.error().text));
    CHECK(proved.has_value());
  }
};

}  // namespace

TEST_CASE("collectives between two groups do what they mean", "[between]") {
  std::uint64_t seed = 1;
  for (int c = 0; c < coll::kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    if (collective == Collective::scan || collective == Collective::exscan) continue;
    for (int first = 1; first <= 5; ++first)
      for (int second = 1; second <= 6; ++second)
        for (int root = 0; root < (has_root(collective) ? first + second : 1); ++root)
          for (const Count count : {0, 1, 5})
            for (const bool commutative : {false, true})
              Meeting{collective, first, second, root, count, commutative}.prove(seed++);
  }
}

TEST_CASE("a scan between two groups is refused", "[between]") {
  RankCall call;
  call.collective = Collective::scan;
  call.size = 2;
  call.first_group = 1;
  CHECK_FALSE(coll::build_between(call).has_value());
}

TEST_CASE("what goes out to the left of a ring of two comes in from the right", "[neighbours]") {
  std::vector<sched::Schedule> schedules;
  std::vector<sched::Contract> contracts;
  const Count ones[] = {1, 1};
  for (int rank = 0; rank < 2; ++rank) {
    coll::Neighbours around{{1 - rank, 1 - rank}, {1 - rank, 1 - rank}, true};
    schedules.push_back(coll::build_neighbours(around, {false, 0, ones, ones}));
    sched::Contract contract;
    contract.in = {{rank, rank + 1, 0}, {rank, rank + 1, 1}};
    contract.out.resize(2);
    contract.expected = {{1 - rank, 2 - rank, 1}, {1 - rank, 2 - rank, 0}};
    contracts.push_back(contract);
  }
  const auto proved = sched::check(schedules, contracts, 1);
  INFO((proved ? std::string("proved") : proved.error().text));
  CHECK(proved.has_value());
}

TEST_CASE("the k-th message between two neighbours of a graph is the k-th received",
          "[neighbours]") {
  std::vector<sched::Schedule> schedules;
  std::vector<sched::Contract> contracts;
  const Count two[] = {2, 2, 2};
  for (int rank = 0; rank < 3; ++rank) {
    const int right = (rank + 1) % 3, left = (rank + 2) % 3;
    const coll::Neighbours around{{left, -1, left}, {right, right, -1}, false};
    schedules.push_back(coll::build_neighbours(around, {false, 0, two, two}));
    sched::Contract contract;
    for (Count i = 0; i < 6; ++i) contract.in.push_back({rank, rank + 1, i});
    contract.out.resize(6);
    const auto from = [&](Count i) { return sched::Term{left, left + 1, i}; };
    contract.expected = {from(0), from(1), {}, {}, from(2), from(3)};
    contracts.push_back(contract);
  }
  const auto proved = sched::check(schedules, contracts, 7);
  INFO((proved ? std::string("proved") : proved.error().text));
  CHECK(proved.has_value());
}
