// How blocks are moved. In rounds: a round carries the same part of every block. Round k overwrites
// the one `depth` rounds before when all who take have counted that in `read`; in cells, the own
// one four rounds before, and the other's two before, which was taken here; in a turn's cell, what
// was taken here in an earlier call (chunks.h). What a member gives itself does not travel: it is
// moved beside what is given to the others.
#include "delegate/shm/block_mover.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/register_copy.h"
#include "base/stream_copy.h"

namespace tutti::delegate {
namespace {

constexpr std::size_t kBlockSizes = 63;  // of which the stores are judged: each power of two
std::size_t block_size(Count bytes) {
  return size_class(static_cast<std::size_t>(bytes), 1, kBlockSizes);
}

// What is given and what is taken do not fit the last cache together: past it, at first.
std::vector<Judge> judges_of_stores() {
  const std::size_t cache = last_level_cache();
  std::vector<Judge> judges;
  for (std::size_t size = 0; size < kBlockSizes; ++size) {
    const bool is_longer = 2 * (std::size_t{1} << size) >= cache;
    judges.emplace_back(static_cast<unsigned>(is_longer ? Stores::streaming : Stores::ordinary));
  }
  return judges;
}

}  // namespace

// What a member gives itself, up to that byte. In rounds it goes part by part beside what is given
// to others: where one block is for all, the part is in this core's cache then (record 0071).
// Derived types go in long pieces, device memory at once: each piece has a price.
Code BlockMover::move_own(Work& work, Count upto) {
  BlockExchange& exchange = *work.exchange;
  if (exchange.is_own_moved || !exchange.moves_own()) return Code::ok;
  const types::Buffer from = exchange.given(me_);
  const types::Buffer into = exchange.taken(me_);
  const Count bytes = std::min(from.bytes, into.bytes);
  const bool is_plain = from.is_contiguous() && into.is_contiguous();
  const bool is_host = from.device == nullptr && into.device == nullptr;
  const Count end = is_plain ? std::min(upto, bytes) : bytes;
  const Count most = is_host ? static_cast<Count>(Members::kMostCopied) : bytes;
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
    members_.count_copied(length);
    if (at < bytes && members_.has_copied_much()) return members_.pause();
  }
  exchange.is_own_moved = at == bytes;
  members_.note_failure(from.device);
  members_.note_failure(into.device);
  return Code::ok;
}

Code BlockMover::move_long(Work& work) {
  if (const Code code = move_directly(work); code != Code::ok) return code;
  if (const Code code = move_in_rounds(work); code != Code::ok) return code;
  direct_.tell_span(*work.exchange);
  return Code::ok;
}

Code BlockMover::move_directly(Work& work) {
  BlockExchange& exchange = *work.exchange;
  if (!exchange.is_direct) return Code::ok;
  if (!exchange.has_read && exchange.takes(me_)) {
    if (const Code code = direct_.read_blocks(work); code != Code::ok) return code;
    exchange.has_read = true;
  }
  if (const Code code = move_own(work); code != Code::ok) return code;
  const bool has_begun_rounds = work.round > 0 || work.stage != Work::Stage::give;
  return has_begun_rounds ? Code::ok : direct_.await_answers(work);
}

// In iteration k round k is given, with that part of the own block, and the one before taken.
Code BlockMover::move_in_rounds(Work& work) {
  BlockExchange& exchange = *work.exchange;
  if (exchange.in_cells && exchange.ahead > 0 && !goes_to(exchange, 1 - me_))
    chunks_.forget_cell();  // nobody takes that round
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
  chunks_.end(exchange.rounds);
  judge_stores(exchange);
  return Code::ok;
}

// The first round waits for nobody, as a rule; where it would, it is given in its turn. So a giver
// does not wait for whoever chooses the way to come, either, where it is likely that the blocks go
// through the chunks.
Code BlockMover::give_ahead(BlockExchange& exchange) {
  if (!exchange.gives_away() || !direct_.expects_rounds(exchange)) return Code::ok;
  const Code code = give_round(exchange, 0);
  exchange.ahead = code == Code::ok ? 1 : 0;
  return code == kNotYet ? Code::ok : code;
}

Code BlockMover::claim_chunks(const BlockExchange& exchange, int reader) {
  if (!exchange.in_cells)
    return chunks_.claim(exchange.depth * exchange.blocks() * exchange.part, reader);
  chunks_.claim_cells();
  return Code::ok;
}

std::uint64_t BlockMover::say_turn(BlockExchange& exchange) {
  if (!exchange.has_root() || !exchange.gives_away()) return 0;
  const std::optional<int> cell = chunks_.give_turn(exchange.depth * exchange.part);
  exchange.in_turn = cell.has_value();
  if (!cell) return 0;
  return kInTurn | (*cell == 1 ? kSecondTurn : 0);
}

void BlockMover::hear_turn(BlockExchange& exchange) {
  if (size_ != 2 || !exchange.has_root() || exchange.gives_away()) return;
  const std::uint64_t word = members_.entry(1 - me_).word;
  exchange.in_turn = (word & kInTurn) != 0;
  if (exchange.in_turn)
    chunks_.take_turn((word & kSecondTurn) != 0 ? 1 : 0, exchange.depth * exchange.part);
}

// For a round of what this member gives. Members whose block was over, or is read, are not waited
// for.
Code BlockMover::await_room(const BlockExchange& exchange, Count round) {
  const Count before = round - exchange.depth;
  if (exchange.in_cells)
    return exchange.part_of(round, exchange.bytes_given(1 - me_)) > 0 ? chunks_.begin_cell(round)
                                                                      : Code::ok;
  for (int member = 0; member < size_ && before >= 0; ++member) {
    if (!goes_to(exchange, member) || exchange.bytes_given(member) <= before * exchange.part)
      continue;
    const Code code = chunks_.await(members_.control(member).read, before + 1);
    if (code != Code::ok) return code;
  }
  chunks_.begin_round(round, exchange.depth, exchange.part);
  return Code::ok;
}

std::byte* BlockMover::chunk_of(const BlockExchange& exchange, int giver, int taker,
                                Count round) const {
  if (exchange.in_cells) return chunks_.cell_of(giver, round);
  return chunks_.of(giver) + exchange.chunk_at(round, taker);
}

// One round of what this member gives. Uneven blocks have rounds of their own number, or none when
// they are read directly.
Code BlockMover::give_round(BlockExchange& exchange, Count round) {
  bool gives = false;
  for (int member = 0; member < size_ && !gives; ++member) gives = goes_to(exchange, member);
  if (!gives) return Code::ok;
  if (const Code code = await_room(exchange, round); code != Code::ok) return code;
  bool has_data = true;
  for (Count block = 0; block < exchange.blocks(); ++block) {
    const auto member = static_cast<int>(block);
    if (exchange.to_each && !goes_to(exchange, member)) continue;
    const types::Buffer from = exchange.given(member);
    const Count bytes = exchange.part_of(round, from.bytes);
    std::byte* const to = chunk_of(exchange, me_, member, round);
    if (bytes > 0 && from.is_contiguous())
      chunks_.put(to, from.at() + round * exchange.part, bytes);
    else
      has_data = members_.pack(from, round * exchange.part, to, bytes) && has_data;
  }
  chunks_.tell_filled(round, has_data);
  return Code::ok;
}

Code BlockMover::take_round(Work& work, Count round) {
  BlockExchange& exchange = *work.exchange;
  bool takes = false;
  for (; work.member < size_; ++work.member) {
    const int giver = (me_ + work.member) % size_;
    if (giver == me_ || !exchange.gives(giver) || !goes_in_rounds(exchange, giver, me_)) continue;
    const Count bytes = exchange.part_of(round, GiverEntry(members_, exchange, giver).bytes());
    if (bytes == 0) continue;
    takes = true;
    if (const Code code = chunks_.await_filled(giver, round + 1); code != Code::ok) return code;
    if (!chunks_.has_data(giver, round)) [[unlikely]] {
      members_.note_without_data(giver);
      continue;
    }
    chunks_.take_from(giver, round, exchange.part, bytes, [&] {
      take_part(exchange, giver, round * exchange.part, chunk_of(exchange, giver, me_, round),
                bytes);
    });
  }
  if (takes) chunks_.tell(members_.control(me_).read, round + 1);
  return Code::ok;
}

// A block that is longer than the caches is best written past them: an ordinary store would read
// its line first, and what the giver is about to read leaves the caches for it. From which size on,
// and whether at all, a judge finds out, by what all rounds take from the first part on: a giver
// that is slower for our stores counts, too (record 0074). Ordinary ones go by registers: the giver
// writes the next part meanwhile, by `rep movsb` (record 0067).
void BlockMover::take_part(BlockExchange& exchange, int giver, Count offset, const std::byte* in,
                           Count bytes) {
  const types::Buffer into = exchange.taken(giver);
  if (exchange.rounds <= exchange.depth || !into.is_contiguous())
    return members_.unpack(into, offset, in, bytes);
  if (!exchange.stores) exchange.stores = stores_for(exchange);
  std::byte* const to = into.at() + offset;
  if (*exchange.stores == Stores::ordinary)
    register_copy(to, in, static_cast<std::size_t>(bytes));
  else
    copy_by(*exchange.stores, to, in, static_cast<std::size_t>(bytes));
}

Stores BlockMover::stores_for(BlockExchange& exchange) {
  if (members_.is_oversubscribed()) return Stores::ordinary;  // as in Chunks::begin_round()
  Judge& judge = judge_of(exchange);
  const unsigned way = judge.next();
  // A begun call may lie still between its steps.
  if (judge.asks() && members_.is_running()) exchange.storing_since_ns = now_ns();
  return static_cast<Stores>(way);
}

void BlockMover::judge_stores(const BlockExchange& exchange) {
  if (exchange.storing_since_ns == 0) return;
  drain_stores();
  judge_of(exchange).took(
      static_cast<unsigned>(*exchange.stores),
      pace_of(now_ns() - exchange.storing_since_ns, static_cast<std::size_t>(exchange.longest)));
}

Judge& BlockMover::judge_of(const BlockExchange& exchange) {
  std::vector<Judge>& judges = stores_[static_cast<std::size_t>(exchange.call.collective)];
  if (judges.empty()) judges = judges_of_stores();
  return judges[block_size(exchange.longest)];
}

bool BlockMover::goes_to(const BlockExchange& exchange, int member) const {
  return member != me_ && exchange.takes(member) && goes_in_rounds(exchange, me_, member);
}

bool BlockMover::goes_in_rounds(const BlockExchange& exchange, int giver, int taker) const {
  if (exchange.call.uneven != nullptr && !GiverEntry(members_, exchange, giver).is_in_rounds())
    return false;
  return !direct_.is_direct(exchange, giver) || direct_.has_failed(taker);
}

}  // namespace tutti::delegate
