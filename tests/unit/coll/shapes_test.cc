// Shapes by themselves: every rank's view must agree with its neighbours'.
#include "coll/shapes.h"

#include <algorithm>
#include <map>
#include <set>

#include "catch.h"

using namespace tutti::coll;
using tutti::sched::Space;

namespace {

RankTeam team_of(int rank, int size, std::span<const int> host_of = {}) {
  RankCall call;
  call.rank = rank;
  call.size = size;
  call.host_of = host_of;
  return RankTeam(call);
}

}  // namespace

TEST_CASE("blocks cover their slice without overlap, long ones first", "[coll][shapes]") {
  for (const Count count : {0, 1, 4, 7, 100})
    for (int p = 1; p <= 9; ++p) {
      const Blocks blocks({Space::out, 5, count}, p);
      Count next = 5;
      for (int i = 0; i < p; ++i) {
        CHECK(blocks[i].offset == next);
        CHECK(blocks[i].count <= blocks[0].count);
        CHECK(blocks[i].count >= blocks[0].count - 1);
        next += blocks[i].count;
      }
      CHECK(next == 5 + count);
      CHECK(blocks.range(0, p) == Slice{Space::out, 5, count});
    }
}

TEST_CASE("blocks by counts stand one after another", "[coll][shapes]") {
  const std::vector<Count> counts{3, 0, 2};
  const Blocks blocks({Space::in, 0, 5}, counts);
  CHECK(blocks[1].count == 0);
  CHECK(blocks[2] == Slice{Space::in, 3, 2});
  CHECK(blocks.range(0, 2).count == 3);
}

TEST_CASE("a run of blocks past the last one is two pieces", "[coll][shapes]") {
  const Blocks blocks({Space::out, 0, 10}, 5);
  CHECK(wrapped(blocks, 1, 3) == std::vector<Slice>{{Space::out, 2, 6}});
  CHECK(wrapped(blocks, 3, 4) == std::vector<Slice>{{Space::out, 6, 4}, {Space::out, 0, 4}});
}

TEST_CASE("in a k-nomial tree parents and children agree and spans add up", "[coll][shapes]") {
  for (const int radix : {2, 3, 4})
    for (int p = 1; p <= 40; ++p)
      for (const int root : {0, p / 2, p - 1}) {
        int edges = 0;
        for (int rank = 0; rank < p; ++rank) {
          const RankTeam team = team_of(rank, p);
          const KnomialTree tree(team, root, radix);
          CHECK((tree.parent < 0) == (rank == root));
          int below = 1;
          for (const auto& child : tree.children) {
            const RankTeam childs = team_of(child.rank, p);
            const KnomialTree its(childs, root, radix);
            CHECK(its.parent == rank);
            CHECK(its.span == child.span);
            CHECK(its.position == child.position);
            below += child.span;
            ++edges;
          }
          CHECK(below == tree.span);
        }
        CHECK(edges == p - 1);
      }
}

TEST_CASE("children listed backwards continue the run of ranks folded so far", "[coll][shapes]") {
  for (const int radix : {2, 4})
    for (int p = 1; p <= 40; ++p)
      for (int rank = 0; rank < p; ++rank) {
        const RankTeam team = team_of(rank, p);
        const KnomialTree tree(team, 0, radix);
        int next = rank + 1;
        for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
          CHECK(child->position == next);
          next += child->span;
        }
      }
}

TEST_CASE("both trees of a double tree span all, and nobody is inside both", "[coll][shapes]") {
  for (int p = 1; p <= 70; ++p)
    for (const int root : {0, p - 1}) {
      std::vector<int> inside(static_cast<std::size_t>(p), 0);
      for (int half = 0; half < 2; ++half) {
        std::map<int, int> parents;
        for (int rank = 0; rank < p; ++rank) {
          const RankTeam team = team_of(rank, p);
          const DoubleTree trees(team, root);
          const auto& mine = trees.halves[half];
          CHECK(mine.children.size() <= 2);
          if (rank != root && !mine.children.empty()) ++inside[static_cast<std::size_t>(rank)];
          for (const int child : mine.children) {
            CHECK(parents.count(child) == 0);
            parents[child] = rank;
            const RankTeam childs = team_of(child, p);
            CHECK(DoubleTree(childs, root).halves[half].parent == rank);
          }
        }
        CHECK(parents.size() == static_cast<std::size_t>(p - 1));
      }
      CHECK(std::all_of(inside.begin(), inside.end(), [](int n) { return n <= 1; }));
    }
}

TEST_CASE("a fold pairs neighbours and leaves a power of two in rank order", "[coll][shapes]") {
  for (int p = 1; p <= 40; ++p) {
    int workers = 0;
    int last_rank = -1;
    for (int rank = 0; rank < p; ++rank) {
      const RankTeam team = team_of(rank, p);
      const PowerOfTwoFold fold(team);
      CHECK((fold.size() & (fold.size() - 1)) == 0);
      if (fold.stands_aside()) {
        CHECK(fold.mate() == rank + 1);
        CHECK(fold.worker_for(rank) == fold.worker_for(rank + 1));
        continue;
      }
      CHECK(fold.index() == workers++);
      CHECK(fold.at(fold.index()) == rank);
      CHECK(fold.worker_for(rank) == fold.index());
      CHECK(fold.first_member(fold.index()) == last_rank + 1);
      last_rank = rank;
    }
    const RankTeam team = team_of(0, p);
    CHECK(workers == PowerOfTwoFold(team).size());
    CHECK(PowerOfTwoFold(team).first_member(workers) == p);
  }
}

TEST_CASE("halving ends with one block each, all of them different", "[coll][shapes]") {
  for (const auto start : {Halving::Start::nearest, Halving::Start::farthest})
    for (const int p : {1, 2, 4, 8, 16, 32}) {
      std::set<int> kept;
      for (int rank = 0; rank < p; ++rank) {
        const RankTeam team = team_of(rank, p);
        const PowerOfTwoFold fold(team);
        const Halving halving(fold, start);
        int block = 0;
        for (const auto& round : halving.rounds) {
          CHECK(round.give.last - round.give.first == round.keep.last - round.keep.first);
          CHECK(round.partner_first == (round.partner < rank));
          block = round.keep.first;
        }
        kept.insert(block);
        if (start == Halving::Start::farthest) CHECK(block == rank);
      }
      CHECK(kept.size() == static_cast<std::size_t>(p));
    }
}

TEST_CASE("hosts group ranks that need not be consecutive, and the root leads its host",
          "[coll][shapes]") {
  const std::vector<int> host_of{3, 0, 3, 0, 1};
  for (int rank = 0; rank < 5; ++rank) {
    const RankTeam team = team_of(rank, 5, host_of);
    const TeamHosts hosts(team, 2);
    CHECK(hosts.count() == 3);
    CHECK(hosts.members(0) == std::vector<int>{0, 2});
    CHECK(hosts.root_host() == 0);
    CHECK(hosts.is_leader() == (rank == 2 || rank == 1 || rank == 4));
    CHECK(hosts.local().at(hosts.local().rank()) == rank);
    CHECK(hosts.leaders().at(0) == 2);
    CHECK(hosts.leaders().at(1) == 1);
  }
}
