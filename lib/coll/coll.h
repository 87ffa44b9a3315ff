// coll: every algorithm of every collective, as emitters of schedules, in one catalogue.
//
// Pure: functions from values to values. An emitter sees a Team (an ordered set of ranks), a
// RankCall (counts, root) and a Builder; it knows no communicator, type or link.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/collectives.h"
#include "base/result.h"
#include "sched/sched.h"

namespace tutti::model {
class Model;
}

namespace tutti::coll {

using sched::Count;

using tutti::Collective;
using tutti::kCollectives;
constexpr std::string_view name_of(Collective collective) {
  return row_of(collective).name;
}

// What one rank knows of a call. Units as in sched.h.
//   bcast            out: count units on every rank, the message itself, root's given; no in
//   reduce           in: count; out: count at the root (elsewhere scratch is taken)
//   allreduce, scan  in: count; out: count
//   gather           in: count (own block); out at root: p blocks of count in rank order
//   scatter          in at root: p blocks; out: own block
//   allgather        in: own block; out: p blocks          alltoall: in p blocks, out p blocks
//   v forms          counts[i]: block of rank i in `out` (allgatherv, gatherv at root) or in `in`
//                    (scatterv at root); alltoallv: send_counts (in) and counts (out); blocks
//                    are packed one after another: displacements are the binding's matter
//   reduce_scatter   in: sum(counts); out: counts[rank]
// in_place: there is no `in`; the rank's contribution already stands where it belongs in `out`
// (allreduce, scan: out; gather at root and allgather: own block of out; scatter at root: own
// block is not moved). Emitters must work then; reduce_scatter and alltoall never get it.
struct RankCall {
  Collective collective = Collective::barrier;
  int rank = 0;
  int size = 1;
  int root = 0;
  Count count = 0;
  std::span<const Count> counts;
  std::span<const Count> send_counts;
  bool in_place = false;
  bool commutative = true;
  Count segment = 0;             // units per pipeline segment; 0: none
  std::span<const int> host_of;  // host index of each rank, for hierarchical composition
  int first_group = 0;           // between two groups: ranks of the first; see build_between
};

// The time in us of a call of n bytes (per block where there are blocks) on the machine of the
// model.
using Predictor = double(const model::Model& model, double n);

// An entry of the catalogue.
struct Algorithm {
  Collective collective;
  const char* name;  // what TUTTI_ALLREDUCE=... takes
  bool needs_commutative;
  bool takes_segments;
  bool needs_hosts;      // a composition over hosts
  const char* good_for;  // one clause
  Predictor* predict = nullptr;
};
std::span<const Algorithm> catalogue();
// Null: no such name for this collective.
const Algorithm* find(Collective collective, std::string_view name);

// What a delegate can take, a team whose members work on common ground, without a schedule: one
// message, a block a member, or a fold (by operations that the library has itself). A row a
// collective; what has none takes a schedule.
enum class Delegated : std::uint8_t { never, message, blocks, fold };
// The bytes that pass the busiest of p GPUs when a vendor's library serves a call of n bytes (of
// each block, where there are blocks).
using PassingBytes = double(double p, double n);
constexpr double passes_once(double, double n) {
  return n;
}
constexpr double passes_others(double p, double n) {
  return n * (p - 1);
}
constexpr double passes_share(double p, double n) {
  return n * (p - 1) / p;
}
constexpr double passes_share_twice(double p, double n) {
  return 2 * passes_share(p, n);
}
struct DelegatedRow {
  Collective collective;
  Delegated kind;
  PassingBytes* on_gpus = nullptr;  // null: no GPU vendor's library serves it
};
inline constexpr DelegatedRow kDelegatedRows[] = {
    {Collective::barrier, Delegated::message},
    {Collective::bcast, Delegated::message, passes_once},
    {Collective::gather, Delegated::blocks, passes_others},
    {Collective::scatter, Delegated::blocks, passes_others},
    {Collective::allgather, Delegated::blocks, passes_others},
    {Collective::alltoall, Delegated::blocks, passes_others},
    {Collective::gatherv, Delegated::blocks, passes_others},
    {Collective::scatterv, Delegated::blocks, passes_others},
    {Collective::allgatherv, Delegated::blocks, passes_others},
    {Collective::alltoallv, Delegated::blocks, passes_others},
    {Collective::reduce, Delegated::fold, passes_once},
    {Collective::allreduce, Delegated::fold, passes_share_twice},
    {Collective::reduce_scatter, Delegated::fold, passes_share},
    {Collective::scan, Delegated::fold},
    {Collective::exscan, Delegated::fold},
};
inline constexpr auto kDelegatedByCollective = [] {
  std::array<DelegatedRow, kCollectives> all{};
  for (const CollectiveRow& row : kCollectiveRows)
    all[static_cast<std::size_t>(row.collective)].collective = row.collective;
  for (const DelegatedRow& row : kDelegatedRows)
    all[static_cast<std::size_t>(row.collective)] = row;
  return all;
}();
constexpr const DelegatedRow& delegated(Collective collective) {
  return kDelegatedByCollective[static_cast<std::size_t>(collective)];
}
// Blocks of their own sizes, moved.
constexpr bool is_v_form(Collective collective) {
  return collective >= Collective::gatherv && collective <= Collective::alltoallv;
}
inline constexpr const char* kDelegateName = "shm";  // among the names of algorithms
// A GPU vendor's library; where it cannot serve a call, another does.
inline constexpr const char* kGpuLibraryName = "nccl";
constexpr bool has_gpu_library_form(Collective collective) {
  return delegated(collective).on_gpus != nullptr;
}

// This rank's schedule. Errors: the algorithm cannot serve this call, and why.
Result<sched::Schedule> build(const Algorithm& algorithm, const RankCall& call);

// What this rank starts with and must end with: what sched::check proves of any algorithm.
sched::Contract contract(const RankCall& call);
inline constexpr Count kPerTarget = Count{1} << 32;  // index of the first unit meant for target 1

// Between two groups: ranks 0 .. first_group - 1 and the rest. `counts` are the blocks of the
// other group's members, for allgather, alltoall (send_counts too) and at the root of gather and
// scatter also where blocks are equal; of reduce_scatter, those of my own group. `count` is my
// own block. root -1: a rank of the root's group that has no part. Nothing is in place.
Result<sched::Schedule> build_between(const RankCall& call);
sched::Contract contract_between(const RankCall& call);
struct GroupSides {
  explicit GroupSides(const RankCall& call);
  int own_first, own, other_first, other;  // first rank and size of my group and the other
};

// Among neighbours, by rank; below zero: nobody there. Grids: entries 2d and 2d + 1 are the
// neighbours in the negative and positive direction of dimension d.
struct Neighbours {
  std::vector<int> sources, destinations;
  bool is_grid = false;
};
// Blocks one after another in `out`, one a source; in `in` one block of `count` for all, or
// (not gathers) one a destination.
struct NeighbourCall {
  bool gathers = true;
  Count count = 0;
  std::span<const Count> send_counts, counts;
};
sched::Schedule build_neighbours(const Neighbours& around, const NeighbourCall& call);

}  // namespace tutti::coll
