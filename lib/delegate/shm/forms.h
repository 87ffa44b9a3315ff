// The forms of a team: each way to do a call, one file each. Reductions and Moves say which is
// taken.
#pragma once

#include <algorithm>
#include <memory>

#include "delegate/shm/form.h"

namespace tutti::delegate {

// Folds of vectors: short ones are read whole by each who needs the result, up to so many bytes, or
// so many that one member reads (record 0057); of long ones so many are folded, then passed on
// while they are in L1.
inline constexpr std::size_t kAlwaysShort = 512, kMostRead = 24 << 10;
inline constexpr Count kFoldBlock = 4 << 10;
// Elements of a part, where `share` of them go in parts of `most` at most: even ones, whole lines
// where that fits.
inline Count even_part(Count share, Count most, Count extent) {
  constexpr Count kLine = static_cast<Count>(kCacheLine);
  const Count parts = (share + most - 1) / most;
  const Count part = (share + parts - 1) / parts;
  if (kLine % extent != 0) return part;
  return std::min(most, (part * extent + kLine - 1) / kLine * kLine / extent);
}

// fold_short.cc: barrier; reduce, allreduce, reduce_scatter of short vectors.
std::unique_ptr<TeamForm> make_barrier(Members& members);
std::unique_ptr<TeamForm> make_fold_short(Members& members);
// meet.cc: the same by levels, where there are many caches. Null: not here.
struct ShortForms {
  TeamForm *barrier, *fold;
};
std::unique_ptr<TeamForm> make_by_levels(Members& members, ShortForms& shorts,
                                         const model::BoundAt& place);
// fold_halves.cc, fold_pair.cc, fold_long.cc: of long vectors: allreduce of two members; others of
// two; of more.
std::unique_ptr<TeamForm> make_fold_halves(Members& members, Chunks& chunks);
std::unique_ptr<TeamForm> make_fold_pair(Members& members, Chunks& chunks);
std::unique_ptr<TeamForm> make_fold_long(Members& members, Chunks& chunks);
// fold_crowd.cc: allreduce where ranks share cores: who has one folds for all. A vector takes so
// many bytes of the chunks.
std::unique_ptr<TeamForm> make_fold_crowd(Members& members, Chunks& chunks);
std::size_t bytes_in_crowd(std::size_t bytes);
// fold_chain.cc: scan, exscan.
std::unique_ptr<TeamForm> make_scan_short(Members& members);
std::unique_ptr<TeamForm> make_scan_long(Members& members, Chunks& chunks);

// move_short.cc, move_long.cc: bcast, gather, scatter, allgather, alltoall.
class BlockMover;
class DirectReads;
std::unique_ptr<TeamForm> make_bcast_short(Members& members);
std::unique_ptr<TeamForm> make_move_short(Members& members, BlockMover& mover);
std::unique_ptr<TeamForm> make_move_long(Members& members, Chunks& chunks, BlockMover& mover,
                                         DirectReads& direct);
// move_uneven.cc: their v forms.
std::unique_ptr<TeamForm> make_move_uneven(Members& members, Chunks& chunks, BlockMover& mover,
                                           DirectReads& direct);

}  // namespace tutti::delegate
