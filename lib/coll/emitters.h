// Every emitter of the catalogue, by the form of what it works on. Private to coll.
//
// An emitter writes what team.rank() does. Data slices hold the rank's own contribution when it
// is called, and the result where the collective leaves one. Any size of team and any count,
// zero included, must work.
#pragma once

#include "coll/shapes.h"
#include "coll/team.h"
#include "sched/sched.h"

namespace tutti::coll {

using sched::Builder;

// allreduce, scan, exscan: `data` on every rank.
using WholeEmitter = void(Builder& b, const Team& team, Slice data);
// bcast, reduce: `data` on every rank; reduce leaves garbage in it beside the root.
using RootedEmitter = void(Builder& b, const Team& team, int root, Slice data);
// barrier: `entered` is one unit that is written when this rank may be counted in (or never
// written at all); the result is one unit written when all have entered.
using BarrierEmitter = Slice(Builder& b, const Team& team, Slice entered);
// gather, scatter: own is this rank's block; all holds every block at the root only, but has
// the right counts everywhere.
using SpreadEmitter = void(Builder& b, const Team& team, int root, const Blocks& all, Slice own);
// allgather: the own block stands in place and the others come. reduce_scatter: all stand as
// contributions, block rank() is complete at the end and the others are garbage.
using BlockedEmitter = void(Builder& b, const Team& team, const Blocks& data);
// alltoall: from[i] goes to member i, into[i] comes from it; the own block included.
using AlltoallEmitter = void(Builder& b, const Team& team, const Blocks& from, const Blocks& into);

BarrierEmitter barrier_dissemination, barrier_tree, barrier_two_level;

RootedEmitter bcast_binomial, bcast_knomial, bcast_chain, bcast_double_tree,
    bcast_scatter_allgather, bcast_linear, bcast_two_level;

RootedEmitter reduce_binomial, reduce_knomial, reduce_chain, reduce_linear, reduce_in_order,
    reduce_rabenseifner, reduce_double_tree, reduce_two_level;

WholeEmitter allreduce_ring, allreduce_recursive_doubling, allreduce_rabenseifner,
    allreduce_binomial, allreduce_knomial, allreduce_double_tree, allreduce_linear,
    allreduce_two_level, allreduce_two_level_ring, allreduce_striped;

SpreadEmitter gather_binomial, gather_linear, scatter_binomial, scatter_linear;

BlockedEmitter allgather_ring, allgather_bruck, allgather_recursive_doubling, allgather_linear,
    allgather_neighbour, allgather_two_level;

AlltoallEmitter alltoall_pairwise, alltoall_linear, alltoall_bruck;

BlockedEmitter reduce_scatter_ring, reduce_scatter_recursive_halving, reduce_scatter_pairwise,
    reduce_scatter_linear;

WholeEmitter scan_recursive_doubling, scan_linear, exscan_recursive_doubling, exscan_linear;

}  // namespace tutti::coll
