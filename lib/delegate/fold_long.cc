// Reductions of long vectors: reduce-scatter, then allgather where that is wanted, through the
// chunks, in rounds.
//
// A round carries `size` pieces of the vector; member i folds piece i: pieces that lie side by
// side, or, of a reduce-scatter, each from its member's block. Everyone copies the others' pieces
// into his chunks (fill), folds his own piece from all chunks (fold), and copies the folded pieces
// of the others out of their chunks (collect). The three stages of three rounds interleave, so that
// a wait is for something the others did a round ago:
//
//   iteration k:   fill(k)   fold(k-1)   collect(k-2)
//
// Chunks are kept three deep at least; of three, fill(k) overwrites round k-3, which all have
// folded: collect(k-3) saw that in iteration k-1. fold(k-1) overwrites the folded piece of k-4,
// which all have collected before their fill(k-1), whose count fold(k-1) waits for. All ranks fold
// in rank order. The root of a reduce collects; the others, and all in a reduce-scatter, only wait
// for the counters.
#include <algorithm>
#include <cstring>

#include "delegate/work.h"

namespace tutti::delegate {
namespace {

constexpr std::size_t kLeastRounds = 3;  // in the chunks

}  // namespace

Code ShmTeam::fold_long(Work& work) {
  if (const Code code = come_to_fold(work); code != Code::ok) return code;
  const Count rounds = work.folding->rounds;
  for (; work.round < rounds + 2; ++work.round) {
    if (work.stage == Work::Stage::give) {
      if (work.round < rounds) fill_pieces(*work.folding, work.round);
      work.enter(Work::Stage::fold);
    }
    if (work.stage == Work::Stage::fold) {
      if (const Code code = fold_round(work); code != Code::ok) return code;
      work.enter(Work::Stage::take);
    }
    if (work.round >= 2)
      if (const Code code = collect_pieces(work, work.round - 2); code != Code::ok) return code;
    work.enter(Work::Stage::give);
  }
  rounds_ += static_cast<std::uint64_t>(rounds);
  all_entered();
  end_call();
  return Code::ok;
}

Code ShmTeam::come_to_fold(Work& work) {
  if (!work.has_spoken) {
    if (const Code code = claim_entry(); code != Code::ok) return code;
    lay_out_folding(work);
    const Folding& folding = *work.folding;
    const Code code = claim_chunks(folding.depth * (size_ + 1) * folding.stride, (me_ + 1) % size_);
    if (code != Code::ok) return code;
    publish(work.call.fingerprint);
    work.has_spoken = true;
  }
  return hear_all(work);
}

void ShmTeam::lay_out_folding(Work& work) const {
  const TeamCall& call = work.call;
  const Count extent = call.type->extent();
  const Count line = static_cast<Count>(kCacheLine);
  Count share = (call.count + size_ - 1) / size_;  // to fold, of the member that has most
  for (std::size_t i = 0; i + 1 < starts_.size() && scatters(call); ++i)
    share = i == 0 ? starts_[1] : std::max(share, starts_[i + 1] - starts_[i]);
  const Count pieces = size_ + 1;
  const Rounds parts = rounds_of(share * extent, pieces, {kLeastRounds, kFoldDepth}, kBothWays);
  const Count most = parts.part / extent;
  const Count rounds = (share + most - 1) / most;
  // Even pieces, whole lines where that fits.
  Count piece = (share + rounds - 1) / rounds;
  if (line % extent == 0)
    piece = std::min(most, (piece * extent + line - 1) / line * line / extent);
  const bool collects = call.collective == coll::Collective::allreduce ||
                        (call.collective == coll::Collective::reduce && me_ == call.root);
  const Count stride = (piece * extent + line - 1) / line * line;
  const Count depth = std::min(parts.depth, std::max(rounds, static_cast<Count>(kLeastRounds)));
  work.folding.emplace(Folding{call, work.kernel, extent, piece, stride, rounds, depth, size_, me_,
                               scatters(call) ? starts_.data() : nullptr, collects});
}

// The round before the one that is filled, once all have filled theirs.
Code ShmTeam::fold_round(Work& work) {
  const Count k = work.round;
  if (k < 1 || k > work.folding->rounds) return Code::ok;
  for (; work.member < size_; ++work.member) {
    if (work.member == me_) continue;
    const Code code = await(filled(work.member).rounds, rounds_ + static_cast<std::uint64_t>(k));
    if (code != Code::ok) return code;
  }
  // The member before us hears how long its pieces take.
  const Folding& folding = *work.folding;
  take_from((me_ + size_ - 1) % size_, k - 1, folding.stride,
            folding.range(k - 1, me_).count * folding.extent, [&] { fold_piece(folding, k - 1); });
  return Code::ok;
}

void ShmTeam::fill_pieces(const Folding& folding, Count round) {
  begin_round(round, folding.depth, folding.stride);
  for (int i = 1; i < size_; ++i) {
    const int member = (me_ + i) % size_;
    const auto [from, count] = folding.range(round, member);
    if (count > 0)
      put(chunks(me_) + folding.given_at(round, member), folding.own(from), count * folding.extent);
  }
  tell_filled(round, true);
}

void ShmTeam::fold_piece(const Folding& folding, Count round) {
  const auto [from, count] = folding.range(round, me_);
  std::byte* const into = chunks(me_) + folding.folded_at(round);
  const Count block = kFoldBlock / folding.extent;
  const auto operand = [&](int member, Count at) -> const std::byte* {
    if (member == me_) return folding.own(from + at);
    return chunks(member) + folding.given_at(round, me_) + at * folding.extent;
  };
  alignas(kCacheLine) std::byte out[kFoldBlock];
  for (Count at = 0; at < count; at += block) {
    const Count length = std::min(block, count - at);
    folding.kernel(operand(0, at), operand(1, at), out, length);
    for (int member = 2; member < size_; ++member)
      folding.kernel(out, operand(member, at), out, length);
    if (folding.starts == nullptr) put(into + at * folding.extent, out, length * folding.extent);
    if (folding.collects || folding.starts != nullptr)
      std::memcpy(folding.result(from + at), out,
                  static_cast<std::size_t>(length * folding.extent));
  }
  tell(control(me_).folded, round + 1);
}

Code ShmTeam::collect_pieces(Work& work, Count round) {
  const Folding& folding = *work.folding;
  for (; work.member < size_; ++work.member) {
    const int member = (me_ + work.member) % size_;
    if (member == me_) continue;
    const Code code =
        await(control(member).folded, rounds_ + static_cast<std::uint64_t>(round) + 1);
    if (code != Code::ok) return code;
    const auto [from, count] = folding.range(round, member);
    copied_ += static_cast<std::size_t>(count * folding.extent);
    if (folding.collects && count > 0)
      std::memcpy(folding.result(from), chunks(member) + folding.folded_at(round),
                  static_cast<std::size_t>(count * folding.extent));
  }
  return Code::ok;
}

}  // namespace tutti::delegate
