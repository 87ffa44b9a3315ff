// BlockExchange: a call that moves data, in blocks: who gives which block to whom, where it goes,
// and how far that has come.
#pragma once

#include <algorithm>
#include <optional>

#include "base/pace.h"
#include "delegate/delegate.h"

namespace tutti::delegate {

struct BlockExchange {
  const TeamCall& call;
  bool everyone_gives;  // else the root
  bool everyone_takes;  // else the root
  bool to_each;         // a giver has a block for each member
  int size, me;
  Count depth = 0;        // rounds kept in the chunks,
  bool in_cells = false;  // or these change hands
  bool in_turn = false;   // one of two gives, in a cell that it held
  Count part = 0;         // bytes of a block in a round
  Count rounds = 0;
  Count longest = 0;  // block that goes in rounds or is read, of which all know
  // Bytes so far, piece by piece: of the own block, and of the one that is read.
  Count own_copied = 0, read = 0;
  bool is_own_moved = false;
  bool has_data = true;        // uneven: what stands in our entry was packed
  bool is_laid_out = false;    // uneven: all needed for that was heard
  Count ahead = 0;             // rounds given before it was known which way blocks go
  bool may_be_direct = false;  // blocks are read where they lie,
  bool is_direct = false;      // as was chosen, where that is possible
  bool has_read = false;
  bool is_timed = false;
  std::int64_t heard_ns = 0;  // when all was heard
  // How parts are stored that we take, ours then, too; since when, where that is timed. Once the
  // first one is there.
  std::optional<Stores> stores = {};
  std::int64_t storing_since_ns = 0;

  // What this member gives, in blocks that are alike.
  types::Buffer from() const {
    if (call.collective == coll::Collective::bcast) return call.into;
    if (!call.in_place || call.collective == coll::Collective::scatter) return call.from;
    return to_each ? call.into : call.into.part(me * call.block, call.block);
  }
  // What this member gives to another, and where that goes which another gives.
  types::Buffer given(int member) const {
    if (call.uneven == nullptr) return from().part(block_for(member) * call.block, call.block);
    if (!call.in_place || call.collective == coll::Collective::scatterv)
      return to_each ? call.uneven->from.of(member) : call.from;
    return call.uneven->into.of(to_each ? member : me);
  }
  types::Buffer taken(int giver) const {
    if (call.uneven == nullptr) return call.into.part(place_of(giver), call.block);
    return everyone_gives ? call.uneven->into.of(giver) : call.into;
  }
  Count bytes_given(int member) const {
    return call.uneven == nullptr ? call.block : given(member).bytes;
  }
  // Whether this member waits for what `member` says: those it takes from; where it takes from
  // nobody, the root, if that may have chosen a way.
  bool hears(int member) const {
    if (member == me) return false;
    return takes(me) ? gives(member)
                     : member == call.root && (may_be_direct || call.uneven != nullptr);
  }
  bool has_root() const { return !everyone_gives || !everyone_takes; }
  int chooser() const { return has_root() ? call.root : 0; }  // of the way, for all (direct.cc)
  bool gives(int member) const { return everyone_gives || member == call.root; }
  bool takes(int member) const { return everyone_takes || member == call.root; }
  // Whether anybody but this member takes what it gives.
  bool gives_away() const { return gives(me) && (everyone_takes || me != call.root); }
  // Whether what is taken goes where that stands which is given in turn.
  bool overwrites() const { return call.in_place && to_each && everyone_gives; }
  bool moves_own() const {
    return gives(me) && takes(me) && !call.in_place && call.collective != coll::Collective::bcast;
  }
  Count blocks() const { return to_each ? size : 1; }
  // Which of a giver's blocks is ours, and where it goes in `into`.
  Count block_for(int member) const { return to_each ? member : 0; }
  Count place_of(int giver) const { return everyone_gives ? giver * call.block : 0; }
  // Of a block of so many bytes.
  Count part_of(Count round, Count bytes) const {
    return std::clamp<Count>(bytes - round * part, 0, part);
  }
  // In a giver's chunks. In a turn's cell there is but one block, which both write in turn.
  Count chunk_at(Count round, int taker) const {
    return in_turn ? round % depth * part : (round % depth * blocks() + block_for(taker)) * part;
  }
};

}  // namespace tutti::delegate
