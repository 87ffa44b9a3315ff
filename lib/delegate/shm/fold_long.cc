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
#include <optional>

#include "delegate/shm/forms.h"

namespace tutti::delegate {
namespace {

constexpr std::size_t kLeastRounds = 3;  // in the chunks

struct Folding {
  const TeamCall& call;
  types::Op::Kernel kernel;
  Count extent;
  Count piece;   // elements
  Count stride;  // bytes of a piece in the chunks
  Count rounds;
  Count depth;  // rounds kept in the chunks
  int size;
  int me;
  const Count* starts;  // of blocks, in a reduce-scatter; else null
  bool collects;        // the folded pieces of the others, too

  struct Range {
    Count from, count;  // elements of the vector
  };
  Range range(Count round, int member) const {
    if (starts != nullptr) {
      const Count from = std::min(starts[member + 1], starts[member] + round * piece);
      return {from, std::min(piece, starts[member + 1] - from)};
    }
    const Count from = std::min(call.count, (round * size + member) * piece);
    return {from, std::min(piece, call.count - from)};
  }
  // In a rank's chunks: pieces for the others to fold, then its own folded one.
  Count given_at(Count round, int member) const {
    return (round % depth * (size + 1) + member) * stride;
  }
  Count folded_at(Count round) const { return given_at(round, size); }
  const std::byte* own(Count element) const {
    return static_cast<const std::byte*>(call.send) + element * extent;
  }
  std::byte* result(Count element) const {
    const Count first = starts != nullptr ? starts[me] : 0;
    return static_cast<std::byte*>(call.recv) + (element - first) * extent;
  }
};

class FoldLong final : public TeamForm {
 public:
  FoldLong(Members& members, Chunks& chunks) : TeamForm(members), chunks_(chunks) {}
  Code go_on(Work& work) override;

 private:
  Code come(Work& work);
  void lay_out(const Work& work);
  Code fold_round(Work& work);
  void fill_pieces(Count round);
  void fold_piece(Count round);
  Code collect_pieces(Work& work, Count round);

  Chunks& chunks_;
  std::optional<Folding> folding_;  // of the call under way
};

Code FoldLong::go_on(Work& work) {
  if (const Code code = come(work); code != Code::ok) return code;
  const Count rounds = folding_->rounds;
  for (; work.round < rounds + 2; ++work.round) {
    if (work.stage == Work::Stage::give) {
      if (work.round < rounds) fill_pieces(work.round);
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
  chunks_.end(rounds);
  members_.all_entered();
  members_.end_call();
  return Code::ok;
}

Code FoldLong::come(Work& work) {
  if (!work.has_spoken) {
    if (const Code code = members_.claim_entry(); code != Code::ok) return code;
    lay_out(work);
    const Folding& folding = *folding_;
    const Code code =
        chunks_.claim(folding.depth * (size_ + 1) * folding.stride, (me_ + 1) % size_);
    if (code != Code::ok) return code;
    members_.publish(work.call.fingerprint);
    work.has_spoken = true;
  }
  return hear_all(work);
}

void FoldLong::lay_out(const Work& work) {
  const TeamCall& call = work.call;
  const Count extent = call.type->extent();
  const Count line = static_cast<Count>(kCacheLine);
  Count share = (call.count + size_ - 1) / size_;  // to fold, of the member that has most
  for (std::size_t i = 0; work.starts != nullptr && i < static_cast<std::size_t>(size_); ++i)
    share = i == 0 ? work.starts[1] : std::max(share, work.starts[i + 1] - work.starts[i]);
  const Count pieces = size_ + 1;
  const Chunks::Rounds parts =
      chunks_.rounds_of(share * extent, pieces, {kLeastRounds, kFoldDepth}, Chunks::kBothWays);
  const Count most = parts.part / extent;
  const Count piece = even_part(share, most, extent);
  const Count rounds = (share + piece - 1) / piece;
  const bool collects = call.collective == coll::Collective::allreduce ||
                        (call.collective == coll::Collective::reduce && me_ == call.root);
  const Count stride = (piece * extent + line - 1) / line * line;
  const Count depth = std::min(parts.depth, std::max(rounds, static_cast<Count>(kLeastRounds)));
  folding_.emplace(Folding{call, work.kernel, extent, piece, stride, rounds, depth, size_, me_,
                           work.starts, collects});
}

// The round before the one that is filled, once all have filled theirs.
Code FoldLong::fold_round(Work& work) {
  const Count k = work.round;
  if (k < 1 || k > folding_->rounds) return Code::ok;
  for (; work.member < size_; ++work.member) {
    if (work.member == me_) continue;
    const Code code = chunks_.await_filled(work.member, k);
    if (code != Code::ok) return code;
  }
  // The member before us hears how long its pieces take.
  const Folding& folding = *folding_;
  chunks_.take_from((me_ + size_ - 1) % size_, k - 1, folding.stride,
                    folding.range(k - 1, me_).count * folding.extent, [&] { fold_piece(k - 1); });
  return Code::ok;
}

void FoldLong::fill_pieces(Count round) {
  const Folding& folding = *folding_;
  chunks_.begin_round(round, folding.depth, folding.stride);
  for (int i = 1; i < size_; ++i) {
    const int member = (me_ + i) % size_;
    const auto [from, count] = folding.range(round, member);
    if (count > 0)
      chunks_.put(chunks_.of(me_) + folding.given_at(round, member), folding.own(from),
                  count * folding.extent);
  }
  chunks_.tell_filled(round, true);
}

void FoldLong::fold_piece(Count round) {
  const Folding& folding = *folding_;
  const auto [from, count] = folding.range(round, me_);
  std::byte* const into = chunks_.of(me_) + folding.folded_at(round);
  const Count block = kFoldBlock / folding.extent;
  const auto operand = [&](int member, Count at) -> const std::byte* {
    if (member == me_) return folding.own(from + at);
    return chunks_.of(member) + folding.given_at(round, me_) + at * folding.extent;
  };
  alignas(kCacheLine) std::byte out[kFoldBlock];
  for (Count at = 0; at < count; at += block) {
    const Count length = std::min(block, count - at);
    folding.kernel(operand(0, at), operand(1, at), out, length);
    for (int member = 2; member < size_; ++member)
      folding.kernel(out, operand(member, at), out, length);
    if (folding.starts == nullptr)
      chunks_.put(into + at * folding.extent, out, length * folding.extent);
    if (folding.collects || folding.starts != nullptr)
      std::memcpy(folding.result(from + at), out,
                  static_cast<std::size_t>(length * folding.extent));
  }
  chunks_.tell(members_.control(me_).folded, round + 1);
}

Code FoldLong::collect_pieces(Work& work, Count round) {
  const Folding& folding = *folding_;
  for (; work.member < size_; ++work.member) {
    const int member = (me_ + work.member) % size_;
    if (member == me_) continue;
    const Code code = chunks_.await(members_.control(member).folded, round + 1);
    if (code != Code::ok) return code;
    const auto [from, count] = folding.range(round, member);
    members_.count_copied(static_cast<std::size_t>(count * folding.extent));
    if (folding.collects && count > 0)
      std::memcpy(folding.result(from), chunks_.of(member) + folding.folded_at(round),
                  static_cast<std::size_t>(count * folding.extent));
  }
  return Code::ok;
}

}  // namespace

std::unique_ptr<TeamForm> make_fold_long(Members& members, Chunks& chunks) {
  return std::make_unique<FoldLong>(members, chunks);
}

}  // namespace tutti::delegate
