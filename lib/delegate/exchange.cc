// Data movement: bcast, gather, scatter, allgather, alltoall are one thing here. Some members
// give blocks (one for all, or one per member), some take from some.
//
// Short: a giver puts all its blocks into its entry. Long: through its chunks in rounds; a round
// carries the same part of every block. Round k overwrites the one `depth` rounds before when all
// who take have counted that in `read`. What a member gives itself does not travel: it is moved
// beside what is given to the others.
#include "delegate/work.h"

namespace tutti::delegate {

using coll::Collective;

namespace {

constexpr std::size_t kBlockSizes = 64;  // of which the stores are judged: each power of two
std::size_t block_size(Count bytes) {
  return size_class(static_cast<std::size_t>(bytes), 1, kBlockSizes);
}

}  // namespace

void ShmTeam::choose_move(Work& work) {
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
  if (work.bytes <= geometry_.entry_bytes) return;
  const bool one_way = exchange.has_root();
  exchange.longest = call.block;
  exchange.may_be_direct = may_read(call.block);
  const Rounds rounds = rounds_of(call.block, exchange.blocks(), kMoved, one_way);
  exchange.part = rounds.part;
  exchange.rounds = rounds.count;
  exchange.depth = std::min(rounds.depth, rounds.count);
  work.form = &ShmTeam::move_long;
}

// What a member gives itself, up to that byte. In rounds it goes part by part beside what is given
// to others: where one block is for all, the part is in this core's cache then (record 0071).
// Derived types go in long pieces, device memory at once: each piece has a price.
Code ShmTeam::move_own(Work& work, Count upto) {
  Exchange& exchange = *work.exchange;
  if (exchange.is_own_moved || !exchange.moves_own()) return Code::ok;
  const types::Buffer from = exchange.given(me_);
  const types::Buffer into = exchange.taken(me_);
  const Count bytes = std::min(from.bytes, into.bytes);
  const bool is_plain = from.is_contiguous() && into.is_contiguous();
  const bool is_host = from.device == nullptr && into.device == nullptr;
  const Count end = is_plain ? std::min(upto, bytes) : bytes;
  const Count most = is_host ? static_cast<Count>(kMostCopied) : bytes;
  Count& at = exchange.own_copied;
  while (at < end) {
    const Count piece = std::min(end - at, most);
    const auto length = static_cast<std::size_t>(piece);
    if (!is_plain)
      types::copy(from.part(at, piece), into.part(at, piece));
    else if (!exchange.stores)
      std::memcpy(into.at() + at, from.at() + at, length);
    else
      copy_by(*exchange.stores, into.at() + at, from.at() + at, length);
    at += piece;
    copied_ += length;
    if (at < bytes && has_copied_much()) return pause();
  }
  exchange.is_own_moved = at == bytes;
  note_failure(from.device);
  note_failure(into.device);
  return Code::ok;
}

// As move_short, of one giver whose block is for all.
Code ShmTeam::bcast_short(Work& work) {
  const TeamCall& call = work.call;
  if (const Code code = claim_entry(); code != Code::ok) return code;
  AreaEntry& said = entry(call.root);
  std::byte* const payload = said.payload(work.bytes);
  if (me_ == call.root) {
    const bool has_data = pack(call.into, 0, payload, call.block);
    publish(said, has_data ? call.fingerprint : kHasNothing);
  } else {
    const Code code = hear(said, call.root, call.fingerprint);
    if (code != Code::ok) return code;
    unpack(call.into, 0, payload, call.block);
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
      const bool has_data =
          pack(exchange.from(), 0, mine.payload(bytes), static_cast<Count>(bytes));
      publish(mine, has_data ? call.fingerprint : kHasNothing);
    }
    move_own(work);  // short: at once
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
    unpack(call.into, exchange.place_of(giver),
           theirs.payload(bytes) + exchange.block_for(me_) * call.block, call.block);
  }
  if (exchange.everyone_gives && takes) all_entered();
  if (exchange.has_root()) end_call();
  return Code::ok;
}

Code ShmTeam::move_long(Work& work) {
  if (const Code code = come_to_move(work); code != Code::ok) return code;
  if (const Code code = move_directly(work); code != Code::ok) return code;
  if (const Code code = move_in_rounds(work); code != Code::ok) return code;
  tell_span(*work.exchange);
  end_call();
  return Code::ok;
}

// In iteration k round k is given, with that part of the own block, and the one before taken.
Code ShmTeam::move_in_rounds(Work& work) {
  Exchange& exchange = *work.exchange;
  for (; work.round <= exchange.rounds; ++work.round) {
    const Count k = work.round;
    if (work.stage == Work::Stage::give) {
      if (k >= exchange.ahead && k < exchange.rounds && exchange.gives_away())
        if (const Code code = give_round(exchange, k); code != Code::ok) return code;
      work.enter(Work::Stage::take);
    }
    const Count upto = k < exchange.rounds ? (k + 1) * exchange.part : kAll;
    if (const Code code = move_own(work, upto); code != Code::ok) return code;
    if (k >= 1 && exchange.takes(me_))
      if (const Code code = take_round(work, k - 1); code != Code::ok) return code;
    work.enter(Work::Stage::give);
  }
  rounds_ += static_cast<std::uint64_t>(exchange.rounds);
  judge_stores(exchange);
  return Code::ok;
}

// A member that only takes says nothing. All hear who chooses the way.
Code ShmTeam::come_to_move(Work& work) {
  Exchange& exchange = *work.exchange;
  if (work.has_heard) return Code::ok;
  if (!work.has_spoken) {
    if (const Code code = claim_entry(); code != Code::ok) return code;
    const bool is_for_root = exchange.gives_away() && !exchange.everyone_takes;
    const Code claimed = claim_chunks(exchange.depth * exchange.blocks() * exchange.part,
                                      is_for_root ? exchange.call.root : (me_ + 1) % size_);
    if (claimed != Code::ok) return claimed;
    prove_reading(exchange);
    if (exchange.gives(me_)) {
      entry(me_).word = say_way(exchange, exchange.longest);
      publish(work.call.fingerprint);
    }
    work.has_spoken = true;
    if (const Code code = give_ahead(exchange); code != Code::ok) return code;
  }
  if (exchange.ahead > 0 || !exchange.gives_away()) {  // nobody waits for it
    const Count upto = exchange.ahead > 0 ? exchange.part : kAll;
    if (const Code code = move_own(work, upto); code != Code::ok) return code;
  }
  for (; work.member < size_; ++work.member) {
    if (!exchange.hears(work.member)) continue;
    if (const Code code = hear(work.member, work.call.fingerprint); code != Code::ok) return code;
  }
  work.has_heard = true;
  work.member = 0;
  hear_way(exchange);
  return Code::ok;
}

// The first round waits for nobody. So a giver does not wait for whoever chooses the way to come,
// either, where it is likely that the blocks go through the chunks.
Code ShmTeam::give_ahead(Exchange& exchange) {
  if (!exchange.gives_away() || !expects_rounds(exchange)) return Code::ok;
  exchange.ahead = 1;
  return give_round(exchange, 0);
}

// One round of what this member gives. Uneven blocks have rounds of their own number, or none when
// they are read directly: members whose block is over, or is read, are not waited for.
Code ShmTeam::give_round(Exchange& exchange, Count round) {
  const auto goes_to = [&](int member) {
    return member != me_ && exchange.takes(member) && goes_in_rounds(exchange, me_, member);
  };
  bool gives = false;
  for (int member = 0; member < size_; ++member) {
    if (!goes_to(member)) continue;
    gives = true;
    const Count before = round - exchange.depth;
    if (before < 0 || exchange.bytes_given(member) <= before * exchange.part) continue;
    const Code code = await(control(member).read, rounds_ + static_cast<std::uint64_t>(before) + 1);
    if (code != Code::ok) return code;
  }
  if (!gives) return Code::ok;
  begin_round(round, exchange.depth, exchange.part);
  bool has_data = true;
  for (Count block = 0; block < exchange.blocks(); ++block) {
    if (exchange.to_each && !goes_to(static_cast<int>(block))) continue;
    const types::Buffer from = exchange.given(static_cast<int>(block));
    const Count bytes = exchange.part_of(round, from.bytes);
    std::byte* const to = chunks(me_) + exchange.chunk_at(round) + block * exchange.part;
    if (bytes > 0 && from.is_contiguous())
      put(to, from.at() + round * exchange.part, bytes);
    else
      has_data = pack(from, round * exchange.part, to, bytes) && has_data;
  }
  tell_filled(round, has_data);
  return Code::ok;
}

Code ShmTeam::take_round(Work& work, Count round) {
  Exchange& exchange = *work.exchange;
  const std::uint64_t count = rounds_ + static_cast<std::uint64_t>(round) + 1;
  bool takes = false;
  for (; work.member < size_; ++work.member) {
    const int giver = (me_ + work.member) % size_;
    if (giver == me_ || !exchange.gives(giver) || !goes_in_rounds(exchange, giver, me_)) continue;
    const Count bytes = exchange.part_of(round, bytes_from(exchange, giver));
    if (bytes == 0) continue;
    takes = true;
    if (const Code code = await(filled(giver).rounds, count); code != Code::ok) return code;
    if (told(giver, round) == kNoData) [[unlikely]] {
      without_data_ = giver;
      continue;
    }
    take_from(giver, round, exchange.part, bytes, [&] {
      take_part(exchange, giver, round * exchange.part,
                chunks(giver) + exchange.chunk_at(round) + exchange.block_for(me_) * exchange.part,
                bytes);
    });
  }
  if (takes) tell(control(me_).read, round + 1);
  return Code::ok;
}

// A block that is longer than the caches is best written past them: an ordinary store would read
// its line first. From which size on, and whether at all, a judge finds out, by what the copies
// take.
void ShmTeam::take_part(Exchange& exchange, int giver, Count offset, const std::byte* in,
                        Count bytes) {
  const types::Buffer into = exchange.taken(giver);
  if (exchange.rounds <= exchange.depth || !into.is_contiguous())
    return unpack(into, offset, in, bytes);
  if (!exchange.stores) exchange.stores = stores_for(exchange);
  const auto length = static_cast<std::size_t>(bytes);
  if (!exchange.stores_are_timed) return copy_by(*exchange.stores, into.at() + offset, in, length);
  exchange.storing_ns += timed_copy(*exchange.stores, into.at() + offset, in, length);
  exchange.stored += bytes;
}

Stores ShmTeam::stores_for(Exchange& exchange) {
  if (is_oversubscribed_) return Stores::ordinary;  // as in begin_round()
  stores_.resize(kBlockSizes);
  Judge& judge = stores_[block_size(exchange.longest)];
  const unsigned way = judge.next();
  exchange.stores_are_timed = judge.asks();
  return static_cast<Stores>(way);
}

void ShmTeam::judge_stores(const Exchange& exchange) {
  if (exchange.stored == 0) return;
  stores_[block_size(exchange.longest)].took(
      static_cast<unsigned>(*exchange.stores),
      pace_of(exchange.storing_ns, static_cast<std::size_t>(exchange.stored)));
}

}  // namespace tutti::delegate
