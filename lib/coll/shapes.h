// Who talks to whom, and which part of the data: small value types, apart from the steps.
//
// Neighbours, parents, children and partners are given as ranks a step can name (Team::at is
// applied); block numbers and tree positions are team indices.
#pragma once

#include <numeric>
#include <vector>

#include "coll/rank_team.h"
#include "sched/sched.h"

namespace tutti::coll {

using sched::Slice;

inline Count sum(std::span<const Count> counts) {
  return std::accumulate(counts.begin(), counts.end(), Count{0});
}

// A slice in p blocks: even (the first n % p get one unit more), equal, or as counts say.
class Blocks {
 public:
  Blocks(Slice whole, int p) : whole_(whole), p_(p) {}
  // counts outlives this; offset_of is the running sum of it.
  Blocks(Slice whole, std::span<const Count> counts);
  Slice operator[](int index) const { return range(index, index + 1); }
  // Blocks first .. last - 1, which stand one after another.
  Slice range(int first, int last) const;
  int size() const { return p_; }
  Slice whole() const { return whole_; }

 private:
  Count start(int index) const;
  Slice whole_;
  int p_;
  std::vector<Count> starts_;  // empty: even
};

// Blocks first .. first + length - 1 counted around the end: at most two ranges in place.
std::vector<Slice> wrapped(const Blocks& blocks, int first, int length);

// Everyone in a circle. back(k): the index k places to the left, which names a block as well.
class Ring {
 public:
  explicit Ring(const RankTeam& team) : team_(team) {}
  int right() const { return team_.at(back(-1)); }
  int left() const { return team_.at(back(1)); }
  int back(int k) const { return team_.after(team_.rank(), -k); }

 private:
  const RankTeam& team_;
};

// From the root to the last member around the circle.
struct Chain {
  Chain(const RankTeam& team, int root);
  int previous = -1;  // rank, or -1 at the root
  int next = -1;      // rank, or -1 at the end
};

// The k-nomial tree over positions counted from the root; k = 2 is binomial. A member at
// position v owns the subtree [v, v + span). Children are listed farthest first; backwards they are
// in rank order.
struct KnomialTree {
  KnomialTree(const RankTeam& team, int root, int radix);
  struct Child {
    int rank;      // for a step
    int position;  // from the root
    int span;      // members below, itself included
  };
  int position = 0;
  int span = 1;
  int parent = -1;  // rank, or -1 at the root
  std::vector<Child> children;
};

inline constexpr int kRadix = 4;  // of the catalogue's k-nomial entries

struct BinomialTree : KnomialTree {
  BinomialTree(const RankTeam& team, int root) : KnomialTree(team, root, 2) {}
};

// Two binary trees over all but the root; every member is a leaf in at least one of them, so
// both halves of the data use the links of everybody.
struct DoubleTree {
  DoubleTree(const RankTeam& team, int root);
  struct Half {
    int parent = -1;            // rank; the root itself for the top
    std::vector<int> children;  // ranks
  };
  Half halves[2];  // at the root: no parent, one child (the top) in each
};

// Folds a team to a power of two: of the first 2 * (p - 2^m) members each even one stands aside
// and its right neighbour works for both, so neighbours stay neighbours and order is kept.
class PowerOfTwoFold {
 public:
  explicit PowerOfTwoFold(const RankTeam& team);
  int size() const { return size_; }
  bool stands_aside() const { return aside_; }
  bool works_for_two() const { return for_two_; }
  int mate() const { return mate_; }    // rank of the one beside
  int index() const { return index_; }  // among those that work
  int at(int index) const;              // rank of a worker
  int first_member(int index) const;    // first team index a worker stands for
  int worker_for(int member) const;     // index of the worker that stands for a member

 private:
  const RankTeam& team_;
  int size_ = 1;
  int extra_ = 0;
  bool aside_ = false;
  bool for_two_ = false;
  int mate_ = -1;
  int index_ = -1;
};

// Recursive halving among the workers of a fold: in each round a worker gives half of its range
// of P blocks to a partner and keeps the other half, until one block is left. With the nearest
// partner first, folds join neighbouring runs of ranks; with the farthest first, worker i ends
// with block i.
struct Halving {
  enum class Start { nearest, farthest };
  Halving(const PowerOfTwoFold& fold, Start start);
  struct Range {
    int first = 0, last = 0;  // blocks first .. last - 1
  };
  struct Round {
    int bit = 0;                 // in which the partner's index differs
    int partner = -1;            // rank
    bool partner_first = false;  // its operand comes first in rank order
    Range give, keep;
  };
  std::vector<Round> rounds;
};

// The hosts of a team: my host's members, one leader a host, and where I stand.
class TeamHosts {
 public:
  // The leader of the root's host is the root; elsewhere the first member.
  explicit TeamHosts(const RankTeam& team, int root = 0);
  const RankTeam& local() const { return groups_team_; }  // ranks of my host
  const RankTeam& leaders() const { return leaders_; }    // valid where is_leader()
  bool is_leader() const { return is_leader_; }
  int local_leader() const { return local_leader_; }  // index in local()
  int root_host() const { return root_host_; }        // index of the root in leaders()
  int count() const { return static_cast<int>(groups_.size()); }
  int my_host() const { return my_host_; }           // index in leaders()
  const std::vector<int>& members(int host) const {  // team indices, ascending
    return groups_[static_cast<std::size_t>(host)];
  }

 private:
  std::vector<std::vector<int>> groups_;
  RankTeam groups_team_;
  RankTeam leaders_;
  bool is_leader_ = false;
  int local_leader_ = 0;
  int root_host_ = 0;
  int my_host_ = 0;
};

}  // namespace tutti::coll
