// Data movement: bcast, gather, scatter, allgather, alltoall are one thing here. Some members
// give blocks (one for all, or one per member), some take from some.
//
// Short: a giver puts all its blocks into its entry. Long: through its chunks in rounds; a round
// carries the same part of every block. Chunks are kept kDepth deep: round k overwrites k-kDepth
// when all who take have counted that in `read`.
#include <algorithm>
#include <cstring>

#include "delegate/team.h"

namespace tutti::delegate {
namespace {

using coll::Collective;

constexpr Count kDepth = 8;

void pack(const types::Buffer& from, Count offset, std::byte* out, Count bytes) {
  if (bytes == 0) return;
  if (from.is_contiguous())
    std::memcpy(out, from.at() + offset, static_cast<std::size_t>(bytes));
  else
    types::pack(from, offset, {out, static_cast<std::size_t>(bytes)});
}

void unpack(const types::Buffer& into, Count offset, const std::byte* in, Count bytes) {
  if (bytes == 0) return;
  if (into.is_contiguous())
    std::memcpy(into.at() + offset, in, static_cast<std::size_t>(bytes));
  else
    types::unpack(into, offset, {in, static_cast<std::size_t>(bytes)});
}

}  // namespace

struct ShmTeam::Exchange {
  const Call& call;
  types::Buffer from;   // what this member gives
  bool everyone_gives;  // else the root
  bool everyone_takes;  // else the root
  bool to_each;         // a giver has a block for each member
  int size, me;
  Count part = 0;  // bytes of a block in a round
  Count rounds = 0;

  bool gives(int member) const { return everyone_gives || member == call.root; }
  bool takes(int member) const { return everyone_takes || member == call.root; }
  Count blocks() const { return to_each ? size : 1; }
  // Which of a giver's blocks is ours, and where it goes in `into`.
  Count block_for(int member) const { return to_each ? member : 0; }
  Count place_of(int giver) const { return everyone_gives ? giver * call.block : 0; }
  Count part_of(Count round) const { return std::min(part, call.block - round * part); }
  Count chunk_at(Count round) const { return round % kDepth * blocks() * part; }
};

Code ShmTeam::move(const Call& call) {
  const bool scatters = call.collective == Collective::scatter;
  const bool to_each = scatters || call.collective == Collective::alltoall;
  const bool rooted = scatters || call.collective == Collective::bcast;
  Exchange exchange{call,    call.collective == Collective::bcast ? call.into : call.from,
                    !rooted, call.collective != Collective::gather,
                    to_each, size_,
                    me_};
  if (call.in_place && !scatters) exchange.from = call.into.part(me_ * call.block, call.block);
  const bool moves_own = exchange.gives(me_) && exchange.takes(me_) && !call.in_place &&
                         call.collective != Collective::bcast && call.block > 0;
  if (moves_own)
    types::copy(exchange.from.part(exchange.block_for(me_) * call.block, call.block),
                call.into.part(exchange.place_of(me_), call.block));
  if (exchange.blocks() * call.block <= static_cast<Count>(geometry_.entry_bytes))
    return move_short(call, exchange);
  return move_long(call, exchange);
}

Code ShmTeam::move_short(const Call& call, const Exchange& exchange) {
  if (const Code code = claim_entry(); code != Code::ok) return code;
  const Count bytes = exchange.blocks() * call.block;
  const auto length = static_cast<std::size_t>(bytes);
  if (exchange.gives(me_)) {
    pack(exchange.from, 0, entry(me_).payload(length), bytes);
    publish(call.fingerprint);
  }
  for (int i = 1; i < size_ && exchange.takes(me_); ++i) {
    const int giver = (me_ + i) % size_;
    if (!exchange.gives(giver)) continue;
    if (const Code code = hear(giver, call.fingerprint); code != Code::ok) return code;
    unpack(call.into, exchange.place_of(giver),
           entry(giver).payload(length) + exchange.block_for(me_) * call.block, call.block);
  }
  if (exchange.everyone_gives && exchange.takes(me_)) all_entered();
  if (!exchange.everyone_gives || !exchange.everyone_takes) end_call();
  return Code::ok;
}

Code ShmTeam::move_long(const Call& call, const Exchange& plan) {
  if (const Code code = claim_entry(); code != Code::ok) return code;
  if (const Code code = claim_chunks(); code != Code::ok) return code;
  Exchange exchange = plan;
  exchange.part = part_bytes(kDepth * exchange.blocks(), call.block);
  exchange.rounds = (call.block + exchange.part - 1) / exchange.part;
  if (exchange.gives(me_)) publish(call.fingerprint);
  for (int member = 0; member < size_ && exchange.takes(me_); ++member)
    if (member != me_ && exchange.gives(member))
      if (const Code code = hear(member, call.fingerprint); code != Code::ok) return code;
  for (Count k = 0; k <= exchange.rounds; ++k) {
    if (k < exchange.rounds && exchange.gives(me_))
      if (const Code code = give_round(exchange, k); code != Code::ok) return code;
    if (k >= 1 && exchange.takes(me_))
      if (const Code code = take_round(exchange, k - 1); code != Code::ok) return code;
  }
  rounds_ += static_cast<std::uint64_t>(exchange.rounds);
  end_call();
  return Code::ok;
}

Code ShmTeam::give_round(const Exchange& exchange, Count round) {
  for (int member = 0; member < size_ && round >= kDepth; ++member) {
    if (member == me_ || !exchange.takes(member)) continue;
    const Code code =
        await(control(member).read, rounds_ + static_cast<std::uint64_t>(round - kDepth) + 1);
    if (code != Code::ok) return code;
  }
  const Count bytes = exchange.part_of(round);
  for (Count block = 0; block < exchange.blocks(); ++block) {
    if (exchange.to_each && block == me_) continue;  // it does not travel
    const Count offset = block * exchange.call.block + round * exchange.part;
    std::byte* const to = chunks(me_) + exchange.chunk_at(round) + block * exchange.part;
    if (exchange.from.is_contiguous())
      put(to, exchange.from.at() + offset, bytes);
    else
      pack(exchange.from, offset, to, bytes);
  }
  tell(control(me_).filled, round + 1);
  return Code::ok;
}

Code ShmTeam::take_round(const Exchange& exchange, Count round) {
  const std::uint64_t count = rounds_ + static_cast<std::uint64_t>(round) + 1;
  for (int i = 1; i < size_; ++i) {
    const int giver = (me_ + i) % size_;
    if (!exchange.gives(giver)) continue;
    if (const Code code = await(control(giver).filled, count); code != Code::ok) return code;
    unpack(exchange.call.into, exchange.place_of(giver) + round * exchange.part,
           chunks(giver) + exchange.chunk_at(round) + exchange.block_for(me_) * exchange.part,
           exchange.part_of(round));
  }
  tell(control(me_).read, round + 1);
  return Code::ok;
}

}  // namespace tutti::delegate
