// Scan and exscan: what a member gets is folded from those before it, in their order.
//
// Short: everyone says his vector in his entry, and folds the entries before his own. Long: a
// member reads the result of all before it, part by part, out of the chunks of the one before it,
// folds its own vector into that, and passes it on. So each folds once, and all of them at a time
// after the first parts have come down the chain.
#include <cstring>

#include "delegate/work.h"

namespace tutti::delegate {

void ShmTeam::choose_scan(Work& work) const {
  const TeamCall& call = work.call;
  work.kernel = call.op->kernel(*call.type);
  work.bytes = static_cast<std::size_t>(call.count * call.type->extent());
  const bool is_short =
      work.bytes <= kAlwaysShort || work.bytes * static_cast<std::size_t>(size_ - 1) <= kMostRead;
  work.form =
      is_short && work.bytes <= geometry_.entry_bytes ? &ShmTeam::scan_short : &ShmTeam::scan_long;
}

Code ShmTeam::scan_short(Work& work) {
  const TeamCall& call = work.call;
  const std::size_t bytes = work.bytes;
  if (!work.has_spoken) {
    if (const Code code = claim_entry(); code != Code::ok) return code;
    AreaEntry& mine = entry(me_);
    if (bytes > 0) std::memcpy(mine.payload(bytes), call.send, bytes);
    publish(mine, call.fingerprint);
    work.has_spoken = true;
  }
  for (; work.member < me_; ++work.member)
    if (const Code code = hear(work.member, call.fingerprint); code != Code::ok) return code;
  const int last = call.collective == coll::Collective::scan ? me_ : me_ - 1;
  const auto operand = [&](int member) { return entry(member).payload(bytes); };
  if (last >= 0 && bytes > 0) std::memcpy(call.recv, operand(0), bytes);
  for (int member = 1; member <= last && bytes > 0; ++member)
    work.kernel(call.recv, operand(member), call.recv, call.count);
  end_call();
  return Code::ok;
}

Code ShmTeam::scan_long(Work& work) {
  if (const Code code = come_to_scan(work); code != Code::ok) return code;
  const Pairing& chain = *work.pairing;
  for (; work.round < chain.rounds; ++work.round) {
    const auto k = static_cast<std::uint64_t>(work.round);
    const auto depth = static_cast<std::uint64_t>(chain.depth);
    if (chain.gives && k >= depth)
      if (const Code code = await(control(me_ + 1).read, rounds_ + k - depth + 1); code != Code::ok)
        return code;
    if (chain.folds)
      if (const Code code = await(filled(me_ - 1).rounds, rounds_ + k + 1); code != Code::ok)
        return code;
    scan_round(work);
  }
  rounds_ += static_cast<std::uint64_t>(chain.rounds);
  end_call();
  return Code::ok;
}

Code ShmTeam::come_to_scan(Work& work) {
  const TeamCall& call = work.call;
  if (!work.has_spoken) {
    if (const Code code = claim_entry(); code != Code::ok) return code;
    Pairing& chain = work.pairing.emplace();
    chain.extent = call.type->extent();
    const Rounds rounds = rounds_of(call.count * chain.extent, 1, kFolded, kOneWay);
    chain.stride = rounds.part;
    chain.piece = chain.stride / chain.extent;
    chain.rounds = (call.count + chain.piece - 1) / chain.piece;
    chain.depth = std::min(rounds.depth, chain.rounds);
    chain.gives = me_ + 1 < size_;
    chain.folds = me_ > 0;
    const Code code = claim_chunks(chain.depth * chain.stride, (me_ + 1) % size_);
    if (code != Code::ok) return code;
    publish(call.fingerprint);
    work.has_spoken = true;
  }
  for (; work.member < me_; ++work.member)
    if (const Code code = hear(work.member, call.fingerprint); code != Code::ok) return code;
  return Code::ok;
}

// Of blocks: what stands in `recv` may be our own contribution, so that is read first.
void ShmTeam::scan_round(const Work& work) {
  const TeamCall& call = work.call;
  const Pairing& chain = *work.pairing;
  const Count k = work.round, from = k * chain.piece;
  const Count count = std::min(chain.piece, call.count - from);
  const bool is_inclusive = call.collective == coll::Collective::scan;
  const Count chunk = k % chain.depth * chain.stride;
  std::byte* const to = chunks(me_) + chunk;
  if (chain.gives) begin_round(k, chain.depth, chain.stride);
  alignas(kCacheLine) std::byte folded[kFoldBlock];
  for (Count at = 0, block = kFoldBlock / chain.extent; at < count; at += block) {
    const Count length = std::min(block, count - at), bytes = length * chain.extent;
    const Count element = (from + at) * chain.extent;
    const std::byte* total = static_cast<const std::byte*>(call.send) + element;
    std::byte* const out = static_cast<std::byte*>(call.recv) + element;
    const std::byte* const before =
        chain.folds ? chunks(me_ - 1) + chunk + at * chain.extent : nullptr;
    if (before != nullptr && (is_inclusive || chain.gives)) {
      work.kernel(before, total, folded, length);
      total = folded;
    }
    if (chain.gives) put(to + at * chain.extent, total, bytes);
    const std::byte* const result = is_inclusive ? total : before;
    if (result != nullptr && result != out)
      std::memcpy(out, result, static_cast<std::size_t>(bytes));
  }
  if (chain.folds) tell(control(me_).read, k + 1);
  if (chain.gives) tell_filled(k, true);
}

}  // namespace tutti::delegate
