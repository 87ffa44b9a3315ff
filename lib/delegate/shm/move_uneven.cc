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
// either the root or everybody, plan the same rounds: these are those of block_mover.cc.
#include <algorithm>

#include "delegate/shm/block_mover.h"
#include "delegate/shm/forms.h"

namespace tutti::delegate {
namespace {

class MoveUneven final : public TeamForm {
 public:
  MoveUneven(Members& members, Chunks& chunks, BlockMover& mover, DirectReads& direct)
      : TeamForm(members), chunks_(chunks), mover_(mover), direct_(direct) {}
  Code go_on(Work& work) override;

 private:
  void say(Work& work);
  std::uint64_t say_each(BlockExchange& exchange, AreaEntry& mine);
  std::uint64_t say_one(BlockExchange& exchange, AreaEntry& mine);
  Code hear(Work& work);
  Code lay_out(Work& work);
  Code see_sizes(const BlockExchange& exchange);
  void take_entries(const BlockExchange& exchange);

  Chunks& chunks_;
  BlockMover& mover_;
  DirectReads& direct_;
};

Code MoveUneven::go_on(Work& work) {
  BlockExchange& exchange = *work.exchange;
  if (!work.has_spoken) {
    if (const Code code = members_.claim_entry(); code != Code::ok) return code;
    if (exchange.gives(me_)) say(work);
    work.has_spoken = true;
  }
  if (const Code code = hear(work); code != Code::ok) return code;
  if (const Code code = lay_out(work); code != Code::ok) return code;
  const Code code = exchange.rounds > 0 ? mover_.move_long(work) : mover_.move_own(work);
  if (code != Code::ok) return code;
  if (exchange.overwrites()) take_entries(exchange);
  if (!exchange.has_root()) members_.all_exchanged();
  members_.end_call();
  return Code::ok;
}

void MoveUneven::say(Work& work) {
  BlockExchange& exchange = *work.exchange;
  AreaEntry& mine = members_.entry(me_);
  mine.word = exchange.to_each ? say_each(exchange, mine) : say_one(exchange, mine);
  const bool is_long = (mine.word & kInRounds) != 0;
  if (is_long) {
    const Count longest = size_in(mine.word);
    exchange.may_be_direct = direct_.may_read(longest);
    mine.word |= direct_.say_way(exchange, longest);
  }
  members_.publish(mine, exchange.has_data ? work.call.fingerprint : kHasNothing);
  if (!is_long) mover_.move_own(work);  // as much as goes at once
}

std::uint64_t MoveUneven::say_one(BlockExchange& exchange, AreaEntry& mine) {
  const auto room = static_cast<Count>(members_.geometry().entry_bytes);
  if (!exchange.gives_away()) {  // the root of a gatherv
    Count most = 0;
    for (int member = 0; member < size_; ++member)
      if (member != me_) most = std::max(most, exchange.call.uneven->into.bytes(member));
    return most <= room ? 0 : static_cast<std::uint64_t>(most) | kInRounds;
  }
  const types::Buffer from = exchange.given(me_);
  const auto bytes = static_cast<std::uint64_t>(from.bytes);
  if (from.bytes > room) return bytes | kInRounds;
  exchange.has_data = members_.pack(from, 0, mine.payload(bytes), from.bytes);
  return bytes;
}

std::uint64_t MoveUneven::say_each(BlockExchange& exchange, AreaEntry& mine) {
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
  const bool fits = bytes <= static_cast<Count>(members_.geometry().entry_bytes);
  std::byte* to =
      mine.payload(fits ? static_cast<std::size_t>(bytes) : GiverEntry::tables_bytes(members_));
  auto* const sizes = reinterpret_cast<Count*>(to);
  for (int member = 0; member < size_; ++member) sizes[member] = size_of(member);
  if (!fits) return static_cast<std::uint64_t>(most) | kInRounds;
  to += table;
  for (int member = 0; member < size_; to += size_of(member), ++member)
    if (member != me_ && !members_.pack(exchange.given(member), 0, to, size_of(member)))
      exchange.has_data = false;
  return static_cast<std::uint64_t>(bytes);
}

// Those from whom this member takes; who takes nothing hears the root, for the rounds.
Code MoveUneven::hear(Work& work) {
  const BlockExchange& exchange = *work.exchange;
  if (work.has_heard) return Code::ok;
  for (; work.member < size_; ++work.member) {
    if (!exchange.hears(work.member)) continue;
    if (const Code code = members_.hear(work.member, work.call.fingerprint); code != Code::ok)
      return code;
  }
  work.has_heard = true;
  work.member = 0;
  return Code::ok;
}

// Once: what came in entries is taken, and the rounds are planned.
Code MoveUneven::lay_out(Work& work) {
  BlockExchange& exchange = *work.exchange;
  if (exchange.is_laid_out) return Code::ok;
  const bool is_for_root = exchange.everyone_gives && !exchange.everyone_takes;
  Count most = 0;
  for (int member = 0; member < size_; ++member)
    if (is_for_root ? member == exchange.call.root : exchange.gives(member))
      if (const std::uint64_t word = members_.entry(member).word; (word & kInRounds) != 0)
        most = std::max(most, size_in(word));
  if (exchange.part == 0 && exchange.takes(me_)) {
    if (const Code code = see_sizes(exchange); code != Code::ok) return code;
    if (!exchange.overwrites()) take_entries(exchange);
  }
  const bool one_way = exchange.has_root();
  const Chunks::Rounds rounds =
      chunks_.rounds_of(std::max<Count>(most, 1), exchange.blocks(), Chunks::kMoved, one_way);
  exchange.part = rounds.part;
  exchange.rounds = most == 0 ? 0 : rounds.count;
  exchange.depth = std::min(rounds.depth, rounds.count);
  exchange.in_cells = rounds.in_cells;
  if (most > 0) {
    exchange.longest = most;
    exchange.may_be_direct = direct_.may_read(most);
    direct_.prove_reading(exchange);
    direct_.hear_way(exchange);
    const Code code =
        mover_.claim_chunks(exchange, is_for_root && me_ != exchange.call.root ? exchange.call.root
                                                                               : (me_ + 1) % size_);
    if (code != Code::ok) return code;
  }
  exchange.is_laid_out = true;
  return Code::ok;
}

Code MoveUneven::see_sizes(const BlockExchange& exchange) {
  for (int giver = 0; giver < size_; ++giver) {
    if (giver == me_ || !exchange.gives(giver)) continue;
    if (!GiverEntry(members_, exchange, giver).is_sound()) return Code::other;
    const Count said = GiverEntry(members_, exchange, giver).bytes_said();
    const Count room = exchange.everyone_gives ? exchange.call.uneven->into.bytes(giver)
                                               : exchange.call.into.bytes;
    if (said > room)
      return members_.faults().give_up({Fault::Kind::too_long, me_, giver, 0, 0, said, room});
  }
  return Code::ok;
}

void MoveUneven::take_entries(const BlockExchange& exchange) {
  for (int i = 1; i < size_; ++i) {
    const int giver = (me_ + i) % size_;
    if (!exchange.gives(giver)) continue;
    const GiverEntry theirs(members_, exchange, giver);
    if (theirs.is_in_rounds()) continue;
    const Count bytes = theirs.bytes_said();
    if (bytes > 0) members_.unpack(exchange.taken(giver), 0, theirs.block(), bytes);
  }
}

}  // namespace

std::unique_ptr<TeamForm> make_move_uneven(Members& members, Chunks& chunks, BlockMover& mover,
                                           DirectReads& direct) {
  return std::make_unique<MoveUneven>(members, chunks, mover, direct);
}

}  // namespace tutti::delegate
