// Data movement: bcast, gather, scatter, allgather, alltoall are one thing here. Some members
// give blocks (one for all, or one per member), some take from some.
//
// Short: a giver puts all its blocks into its entry. Long: through its chunks in rounds; a round
// carries the same part of every block. Round k overwrites the one `depth` rounds before when all
// who take have counted that in `read`. What a member gives itself does not travel: it is moved
// when the first part for the others is on its way.
#include "delegate/work.h"

namespace tutti::delegate {

using coll::Collective;

void ShmTeam::choose_move(Work& work) const {
  const TeamCall& call = work.call;
  const bool is_bcast = call.collective == Collective::bcast;
  if (is_bcast && call.block <= static_cast<Count>(geometry_.entry_bytes)) [[likely]] {
    work.bytes = static_cast<std::size_t>(call.block);
    work.form = &ShmTeam::bcast_short;
    return;
  }
  if (call.uneven != nullptr) return choose_uneven(work);
  const bool scatters = call.collective == Collective::scatter;
  const bool to_each = scatters || call.collective == Collective::alltoall;
  Exchange& exchange = work.exchange.emplace(Exchange{
      call, !scatters && !is_bcast, call.collective != Collective::gather, to_each, size_, me_});
  work.bytes = static_cast<std::size_t>(exchange.blocks() * call.block);
  work.form = &ShmTeam::move_short;
  if (work.bytes <= geometry_.entry_bytes) return move_own(exchange);
  const bool one_way = !exchange.everyone_gives || !exchange.everyone_takes;
  const Rounds rounds = rounds_of(call.block, exchange.blocks(), kLeastDepth, one_way);
  exchange.part = rounds.part;
  exchange.rounds = rounds.count;
  exchange.depth = std::min(rounds.depth, rounds.count);
  work.form = &ShmTeam::move_long;
}

void ShmTeam::move_own(Exchange& exchange) {
  if (exchange.is_own_moved) return;
  exchange.is_own_moved = true;
  if (!exchange.moves_own()) return;
  const types::Buffer from = exchange.given(exchange.me);
  if (from.bytes > 0) types::copy(from, exchange.taken(exchange.me));
}

// As move_short, of one giver whose block is for all.
Code ShmTeam::bcast_short(Work& work) {
  const TeamCall& call = work.call;
  if (const Code code = claim_entry(); code != Code::ok) return code;
  AreaEntry& said = entry(call.root);
  std::byte* const payload = said.payload(work.bytes);
  if (me_ == call.root) {
    pack_bytes(call.into, 0, payload, call.block);
    publish(said, call.fingerprint);
  } else {
    const Code code = hear(said, call.root, call.fingerprint);
    if (code != Code::ok) return code;
    unpack_bytes(call.into, 0, payload, call.block);
  }
  end_call();
  return Code::ok;
}

Code ShmTeam::move_short(Work& work) {
  const TeamCall& call = work.call;
  const Exchange& exchange = *work.exchange;
  const std::size_t bytes = work.bytes;
  if (!work.has_spoken) {
    if (const Code code = claim_entry(); code != Code::ok) return code;
    if (exchange.gives(me_)) {
      AreaEntry& mine = entry(me_);
      pack_bytes(exchange.from(), 0, mine.payload(bytes), static_cast<Count>(bytes));
      publish(mine, call.fingerprint);
    }
    work.has_spoken = true;
    work.member = 1;
  }
  const bool takes = exchange.takes(me_);
  for (int i = work.member; i < size_ && takes; ++i) {
    const int giver = (me_ + i) % size_;
    if (!exchange.gives(giver)) continue;
    AreaEntry& theirs = entry(giver);
    if (const Code code = hear(theirs, giver, call.fingerprint); code != Code::ok) {
      work.member = i;
      return code;
    }
    unpack_bytes(call.into, exchange.place_of(giver),
                 theirs.payload(bytes) + exchange.block_for(me_) * call.block, call.block);
  }
  if (exchange.everyone_gives && takes) all_entered();
  if (!exchange.everyone_gives || !exchange.everyone_takes) end_call();
  return Code::ok;
}

Code ShmTeam::move_long(Work& work) {
  if (const Code code = come_to_move(work); code != Code::ok) return code;
  if (const Code code = move_in_rounds(work); code != Code::ok) return code;
  end_call();
  return Code::ok;
}

// In iteration k round k is given, and the one before taken.
Code ShmTeam::move_in_rounds(Work& work) {
  Exchange& exchange = *work.exchange;
  for (; work.round <= exchange.rounds; ++work.round) {
    const Count k = work.round;
    if (work.stage == Work::Stage::give && k < exchange.rounds && exchange.gives_away())
      if (const Code code = give_round(exchange, k); code != Code::ok) return code;
    if (work.stage == Work::Stage::give) {
      move_own(exchange);
      work.enter(Work::Stage::take);
    }
    if (k >= 1 && exchange.takes(me_))
      if (const Code code = take_round(work, k - 1); code != Code::ok) return code;
    work.enter(Work::Stage::give);
  }
  rounds_ += static_cast<std::uint64_t>(exchange.rounds);
  return Code::ok;
}

// A member that only takes says nothing, and hears the givers.
Code ShmTeam::come_to_move(Work& work) {
  const Exchange& exchange = *work.exchange;
  if (!work.has_spoken) {
    if (const Code code = claim_entry(); code != Code::ok) return code;
    const bool is_for_root = exchange.gives_away() && !exchange.everyone_takes;
    const Code code = claim_chunks(exchange.depth * exchange.blocks() * exchange.part,
                                   is_for_root ? exchange.call.root : (me_ + 1) % size_);
    if (code != Code::ok) return code;
    if (exchange.gives(me_)) publish(work.call.fingerprint);
    work.has_spoken = true;
  }
  if (work.round > 0 || work.stage != Work::Stage::give) return Code::ok;
  for (; work.member < size_ && exchange.takes(me_); ++work.member)
    if (work.member != me_ && exchange.gives(work.member)) {
      const Code code = hear(work.member, work.call.fingerprint);
      if (code != Code::ok) return code;
    }
  return Code::ok;
}

// Of uneven blocks some have ended, and some went by the entry: nobody waits for these.
Code ShmTeam::give_round(const Exchange& exchange, Count round) {
  if (!gives_in_rounds(exchange, me_)) return Code::ok;
  for (int member = 0; member < size_ && round >= exchange.depth; ++member) {
    if (member == me_ || !exchange.takes(member)) continue;
    const Count before = round - exchange.depth;
    if (exchange.bytes_given(member) <= before * exchange.part) continue;
    const Code code = await(control(member).read, rounds_ + static_cast<std::uint64_t>(before) + 1);
    if (code != Code::ok) return code;
  }
  begin_round(round, exchange.depth, exchange.part);
  for (Count block = 0; block < exchange.blocks(); ++block) {
    if (exchange.to_each && block == me_) continue;  // it does not travel
    const types::Buffer from = exchange.given(static_cast<int>(block));
    const Count bytes = exchange.part_of(round, from.bytes);
    std::byte* const to = chunks(me_) + exchange.chunk_at(round) + block * exchange.part;
    if (bytes > 0 && from.is_contiguous())
      put(to, from.at() + round * exchange.part, bytes);
    else
      pack_bytes(from, round * exchange.part, to, bytes);
  }
  tell(control(me_).filled, round + 1);
  return Code::ok;
}

Code ShmTeam::take_round(Work& work, Count round) {
  const Exchange& exchange = *work.exchange;
  const std::uint64_t count = rounds_ + static_cast<std::uint64_t>(round) + 1;
  bool takes = false;
  for (; work.member < size_; ++work.member) {
    const int giver = (me_ + work.member) % size_;
    if (giver == me_ || !exchange.gives(giver) || !gives_in_rounds(exchange, giver)) continue;
    const Count bytes = exchange.part_of(round, bytes_from(exchange, giver));
    if (bytes == 0) continue;
    takes = true;
    if (const Code code = await(control(giver).filled, count); code != Code::ok) return code;
    take_from(giver, round, exchange.part, bytes, [&] {
      unpack_bytes(
          exchange.taken(giver), round * exchange.part,
          chunks(giver) + exchange.chunk_at(round) + exchange.block_for(me_) * exchange.part,
          bytes);
    });
  }
  if (takes) tell(control(me_).read, round + 1);
  return Code::ok;
}

}  // namespace tutti::delegate
