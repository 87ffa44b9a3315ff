// Which form data movement takes.
//
// bcast, gather, scatter, allgather, alltoall are one thing here. Some members give blocks (one for
// all, or one per member), some take from some.
#include "delegate/shm/moves.h"

namespace tutti::delegate {

using coll::Collective;

namespace {

// Where some only give their entries stay theirs, and a line of them is taken from its reader to be
// written again: more is quicker through the chunks (record 0078; measured of two with a core
// each).
constexpr std::size_t kMostOneWay = 2 << 10;

std::size_t most_one_way(const Members& members) {
  const std::size_t room = members.geometry().entry_bytes;
  const bool is_pair = members.size() == 2 && !members.is_oversubscribed();
  return is_pair ? std::min(room, kMostOneWay) : room;
}

}  // namespace

Moves::Moves(Members& members, Chunks& chunks, BlockReads reads)
    : members_(members),
      chunks_(chunks),
      most_one_way_(most_one_way(members)),
      direct_(members, reads),
      mover_(members, chunks, direct_),
      bcast_short_(make_bcast_short(members)),
      short_(make_move_short(members, mover_)),
      long_(make_move_long(members, chunks, mover_, direct_)),
      uneven_(make_move_uneven(members, chunks, mover_, direct_)) {}

void Moves::choose(Work& work) {
  const TeamCall& call = work.call;
  const Collective collective = call.collective;
  const bool is_bcast = collective == Collective::bcast;
  if (is_bcast && static_cast<std::size_t>(call.block) <= most_one_way_) [[likely]] {
    work.bytes = static_cast<std::size_t>(call.block);
    work.form = bcast_short_.get();
    return;
  }
  const bool scatters = collective == Collective::scatter || collective == Collective::scatterv;
  const bool gathers = collective == Collective::gather || collective == Collective::gatherv;
  const bool to_each =
      scatters || collective == Collective::alltoall || collective == Collective::alltoallv;
  BlockExchange& exchange = work.exchange.emplace(BlockExchange{
      call, !scatters && !is_bcast, !gathers, to_each, members_.size(), members_.me()});
  if (call.uneven != nullptr) {
    work.form = uneven_.get();
    return;
  }
  work.bytes = static_cast<std::size_t>(exchange.blocks() * call.block);
  const bool is_short =
      work.bytes <= (exchange.has_root() ? most_one_way_ : members_.geometry().entry_bytes);
  if (!is_short) lay_out(exchange);
  work.form = is_short ? short_.get() : long_.get();
}

void Moves::lay_out(BlockExchange& exchange) const {
  const Count block = exchange.call.block;
  exchange.longest = block;
  exchange.may_be_direct = direct_.may_read(block);
  const Chunks::Rounds rounds =
      chunks_.rounds_of(block, exchange.blocks(), Chunks::kMoved, exchange.has_root());
  exchange.part = rounds.part;
  exchange.rounds = rounds.count;
  exchange.depth = std::min(rounds.depth, rounds.count);
  exchange.in_cells = rounds.in_cells;
}

}  // namespace tutti::delegate
