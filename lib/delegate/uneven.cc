// The v forms: data movement whose blocks have their own sizes, which not every member knows.
//
// A giver says in its entry's word how much it gives, and which way:
//
//   one block      its bytes; it follows in the entry if it fits there
//   one for each   the bytes that follow in the entry: a table of sizes, then the blocks if they
//   fit kInRounds      what did not fit goes through the chunks, or is read where it lies
//                  (direct.cc); the word is the largest block then, and a table of addresses
//                  follows that of sizes
//
// The root of a gatherv says the largest of all that go in rounds, so that all members, who hear
// either the root or everybody, plan the same rounds: these are those of exchange.cc.
#include "delegate/work.h"

namespace tutti::delegate {
namespace {

using coll::Collective;

Count size_in(std::uint64_t word) {
  return static_cast<Count>(word & ~(kInRounds | kReadable | kDirect | kTimed));
}

}  // namespace

types::Device* BlockList::owner_of(std::size_t at) const {
  if (owners.empty()) {
    std::vector<const void*> places(counts.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Count unit = types.empty() ? type->extent() : 1;
      const types::Datatype& each = type_of(i);
      if (bytes(static_cast<int>(i)) > 0)
        places[i] = static_cast<std::byte*>(data) + displs[i] * unit + each.true_lower_bound();
    }
    owners.resize(places.size());
    devices->owners_of(places, owners);
    for (std::size_t i = 0; data == nullptr && i < places.size(); ++i) {
      const Count unit = types.empty() ? type->extent() : 1;
      if (places[i] != nullptr)
        owners[i] = devices->owner_of_parts(types::Buffer::whole(
            static_cast<std::byte*>(nullptr) + displs[i] * unit, counts[i], type_of(i)));
    }
  }
  return owners[at];
}

// Of sizes, and of addresses where that fits, too.
std::size_t ShmTeam::tables_bytes() const {
  const std::size_t table = sizeof(Count) * static_cast<std::size_t>(size_);
  return 2 * table <= geometry_.entry_bytes ? 2 * table : table;
}

void ShmTeam::choose_uneven(Work& work) const {
  const Collective collective = work.call.collective;
  const bool scatters = collective == Collective::scatterv;
  work.exchange.emplace(Exchange{work.call, !scatters, collective != Collective::gatherv,
                                 scatters || collective == Collective::alltoallv, size_, me_});
  work.form = &ShmTeam::move_uneven;
}

Code ShmTeam::move_uneven(Work& work) {
  Exchange& exchange = *work.exchange;
  if (!work.has_spoken) {
    if (const Code code = claim_entry(); code != Code::ok) return code;
    if (exchange.gives(me_)) say_uneven(work);
    work.has_spoken = true;
  }
  if (const Code code = hear_uneven(work); code != Code::ok) return code;
  if (const Code code = lay_out_uneven(work); code != Code::ok) return code;
  const Code code = exchange.rounds > 0 ? move_long_uneven(work) : move_own(work);
  if (code != Code::ok) return code;
  if (exchange.overwrites()) take_entries(exchange);
  if (!exchange.has_root()) all_entered();
  end_call();
  return Code::ok;
}

Code ShmTeam::move_long_uneven(Work& work) {
  if (const Code code = move_directly(work); code != Code::ok) return code;
  if (const Code code = move_in_rounds(work); code != Code::ok) return code;
  tell_span(*work.exchange);
  return Code::ok;
}

void ShmTeam::say_uneven(Work& work) {
  Exchange& exchange = *work.exchange;
  AreaEntry& mine = entry(me_);
  mine.word = exchange.to_each ? say_each(exchange, mine) : say_one(exchange, mine);
  const bool is_long = (mine.word & kInRounds) != 0;
  if (is_long) {
    const Count longest = size_in(mine.word);
    exchange.may_be_direct = may_read(longest);
    mine.word |= say_way(exchange, longest);
  }
  publish(mine, exchange.has_data ? work.call.fingerprint : kHasNothing);
  if (!is_long) move_own(work);  // as much as goes at once
}

std::uint64_t ShmTeam::say_one(Exchange& exchange, AreaEntry& mine) {
  const auto room = static_cast<Count>(geometry_.entry_bytes);
  if (!exchange.gives_away()) {  // the root of a gatherv
    Count most = 0;
    for (int member = 0; member < size_; ++member)
      if (member != me_) most = std::max(most, exchange.call.uneven->into.bytes(member));
    return most <= room ? 0 : static_cast<std::uint64_t>(most) | kInRounds;
  }
  const types::Buffer from = exchange.given(me_);
  const auto bytes = static_cast<std::uint64_t>(from.bytes);
  if (from.bytes > room) return bytes | kInRounds;
  exchange.has_data = pack(from, 0, mine.payload(bytes), from.bytes);
  return bytes;
}

std::uint64_t ShmTeam::say_each(Exchange& exchange, AreaEntry& mine) {
  const BlockList& blocks = exchange.call.in_place && exchange.everyone_gives
                                ? exchange.call.uneven->into
                                : exchange.call.uneven->from;
  const auto table = static_cast<Count>(sizeof(Count)) * size_;
  const auto size_of = [&](int member) { return member == me_ ? 0 : blocks.bytes(member); };
  Count most = 0, bytes = table;
  for (int member = 0; member < size_; ++member) {
    most = std::max(most, size_of(member));
    bytes += size_of(member);
  }
  const bool fits = bytes <= static_cast<Count>(geometry_.entry_bytes);
  std::byte* to = mine.payload(fits ? static_cast<std::size_t>(bytes) : tables_bytes());
  auto* const sizes = reinterpret_cast<Count*>(to);
  for (int member = 0; member < size_; ++member) sizes[member] = size_of(member);
  if (!fits) return static_cast<std::uint64_t>(most) | kInRounds;
  to += table;
  for (int member = 0; member < size_; to += size_of(member), ++member)
    if (member != me_ && !pack(exchange.given(member), 0, to, size_of(member)))
      exchange.has_data = false;
  return static_cast<std::uint64_t>(bytes);
}

// Those from whom this member takes; who takes nothing hears the root, for the rounds.
Code ShmTeam::hear_uneven(Work& work) {
  const Exchange& exchange = *work.exchange;
  if (work.has_heard) return Code::ok;
  for (; work.member < size_; ++work.member) {
    if (!exchange.hears(work.member)) continue;
    if (const Code code = hear(work.member, work.call.fingerprint); code != Code::ok) return code;
  }
  work.has_heard = true;
  work.member = 0;
  return Code::ok;
}

// Once: what came in entries is taken, and the rounds are planned.
Code ShmTeam::lay_out_uneven(Work& work) {
  Exchange& exchange = *work.exchange;
  if (exchange.is_laid_out) return Code::ok;
  const bool is_for_root = exchange.everyone_gives && !exchange.everyone_takes;
  Count most = 0;
  for (int member = 0; member < size_; ++member)
    if (is_for_root ? member == exchange.call.root : exchange.gives(member))
      if (const std::uint64_t word = entry(member).word; (word & kInRounds) != 0)
        most = std::max(most, size_in(word));
  if (exchange.part == 0 && exchange.takes(me_)) {
    if (const Code code = see_sizes(exchange); code != Code::ok) return code;
    if (!exchange.overwrites()) take_entries(exchange);
  }
  const bool one_way = exchange.has_root();
  const Rounds rounds = rounds_of(std::max<Count>(most, 1), exchange.blocks(), kMoved, one_way);
  exchange.part = rounds.part;
  exchange.rounds = most == 0 ? 0 : rounds.count;
  exchange.depth = std::min(rounds.depth, rounds.count);
  if (most > 0) {
    exchange.longest = most;
    exchange.may_be_direct = may_read(most);
    prove_reading(exchange);
    hear_way(exchange);
    const Code code = claim_chunks(
        exchange.depth * exchange.blocks() * exchange.part,
        is_for_root && me_ != exchange.call.root ? exchange.call.root : (me_ + 1) % size_);
    if (code != Code::ok) return code;
  }
  exchange.is_laid_out = true;
  return Code::ok;
}

bool ShmTeam::goes_in_rounds(const Exchange& exchange, int giver, int taker) const {
  if (exchange.call.uneven != nullptr && (entry(giver).word & kInRounds) == 0) return false;
  return !is_direct(exchange, giver) || has_failed(taker);
}

// To this member, as the giver says.
Count ShmTeam::bytes_said(const Exchange& exchange, int giver) const {
  AreaEntry& theirs = entry(giver);
  const Count size = size_in(theirs.word);
  if (!exchange.to_each) return size;
  const bool is_table = (theirs.word & kInRounds) != 0;
  const std::size_t bytes = is_table ? tables_bytes() : static_cast<std::size_t>(size);
  return reinterpret_cast<const Count*>(theirs.payload(bytes))[me_];
}

// A block may be shorter than the room for it.
Count ShmTeam::bytes_from(const Exchange& exchange, int giver) const {
  return exchange.call.uneven == nullptr ? exchange.call.block : bytes_said(exchange, giver);
}

// Not of another call, where ranks that differ go on.
bool ShmTeam::is_sound(const Exchange& exchange, int giver) const {
  AreaEntry& theirs = entry(giver);
  const Count bytes = size_in(theirs.word);
  if ((theirs.word & kInRounds) != 0) return true;
  if (bytes > static_cast<Count>(geometry_.entry_bytes)) return false;
  if (!exchange.to_each) return true;
  const auto* const sizes =
      reinterpret_cast<const Count*>(theirs.payload(static_cast<std::size_t>(bytes)));
  Count left = bytes - static_cast<Count>(sizeof(Count)) * size_;
  for (int member = 0; member < size_ && left >= 0; ++member)
    left = sizes[member] < 0 || sizes[member] > left ? -1 : left - sizes[member];
  return left == 0;
}

Code ShmTeam::see_sizes(const Exchange& exchange) {
  for (int giver = 0; giver < size_; ++giver) {
    if (giver == me_ || !exchange.gives(giver)) continue;
    if (!is_sound(exchange, giver)) return Code::other;
    const Count said = bytes_said(exchange, giver);
    const Count room = exchange.everyone_gives ? exchange.call.uneven->into.bytes(giver)
                                               : exchange.call.into.bytes;
    if (said > room) return give_up({Fault::Kind::too_long, me_, giver, 0, 0, said, room});
  }
  return Code::ok;
}

void ShmTeam::take_entries(const Exchange& exchange) {
  for (int i = 1; i < size_; ++i) {
    const int giver = (me_ + i) % size_;
    AreaEntry& theirs = entry(giver);
    if (!exchange.gives(giver) || (theirs.word & kInRounds) != 0) continue;
    const std::byte* from = theirs.payload(static_cast<std::size_t>(size_in(theirs.word)));
    Count bytes = size_in(theirs.word);
    if (exchange.to_each) {
      const auto* const sizes = reinterpret_cast<const Count*>(from);
      from += sizeof(Count) * static_cast<std::size_t>(size_);
      for (int member = 0; member < me_; ++member) from += sizes[member];
      bytes = sizes[me_];
    }
    if (bytes > 0) unpack(exchange.taken(giver), 0, from, bytes);
  }
}

}  // namespace tutti::delegate
