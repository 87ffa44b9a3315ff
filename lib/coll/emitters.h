// The forms of emitters, by what they work on. Private to coll.
//
// An emitter writes what team.rank() does. Data slices hold the rank's own contribution when it
// is called, and the result where the collective leaves one. Any size of team and any count,
// zero included, must work.
#pragma once

#include "coll/rank_team.h"
#include "coll/shapes.h"
#include "sched/sched.h"

namespace tutti::coll {

using sched::Builder;

// In recv_reduce: which operand comes first, where operations need not commute.
constexpr bool kReceivedFirst = true;
constexpr bool kOwnFirst = false;

// allreduce, scan, exscan: `data` on every rank.
using WholeEmitter = void(Builder& b, const RankTeam& team, Slice data);
// bcast, reduce: `data` on every rank; reduce leaves garbage in it beside the root.
using RootedEmitter = void(Builder& b, const RankTeam& team, int root, Slice data);
// barrier: `entered` is one unit that is written when this rank may be counted in (or never
// written at all); the result is one unit written when all have entered.
using BarrierEmitter = Slice(Builder& b, const RankTeam& team, Slice entered);
// gather, scatter: own is this rank's block; all holds every block at the root only, but has
// the right counts everywhere.
using SpreadEmitter = void(Builder& b, const RankTeam& team, int root, const Blocks& all,
                           Slice own);
// allgather: the own block stands in place and the others come. reduce_scatter: all stand as
// contributions, block rank() is complete at the end and the others are garbage.
using BlockedEmitter = void(Builder& b, const RankTeam& team, const Blocks& data);
// alltoall: from[i] goes to member i, into[i] comes from it; the own block included.
using AlltoallEmitter = void(Builder& b, const RankTeam& team, const Blocks& from,
                             const Blocks& into);

// Those that other emitters are made of; the catalogue declares the rest.
BarrierEmitter barrier_dissemination;
RootedEmitter bcast_binomial, bcast_knomial, bcast_double_tree, bcast_linear, reduce_binomial,
    reduce_knomial, reduce_linear, reduce_in_order, reduce_double_tree;
WholeEmitter scan_recursive_doubling, scan_linear, allreduce_ring, allreduce_recursive_doubling,
    allreduce_rabenseifner;
SpreadEmitter scatter_linear;
BlockedEmitter allgather_ring, reduce_scatter_pairwise;

}  // namespace tutti::coll
