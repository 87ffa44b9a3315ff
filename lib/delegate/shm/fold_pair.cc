// Vectors of two members: reduce, reduce-scatter, and allreduce where sharing the folding does not
// pay (fold_halves.cc). Each folds everything that is to be its result (the whole vector, or its
// own block), and reads the other's operands where that one gave them, as they come.
//
//   iteration k:   give(k)   fold(k-1)
#include <algorithm>
#include <cstring>

#include "delegate/shm/forms.h"

namespace tutti::delegate {
namespace {

struct Folded {
  std::byte* at;
  Count count, extent;
};

bool begins_before(const std::byte* out, const std::byte* in, Count bytes) {
  return in > out && in < out + bytes;
}

// In a reduce-scatter in place the second member's operand may overlap its result by a part, which
// kernels do not allow (the same memory, or none of it, is fine): then it is folded by way of a
// block.
void fold_two(types::Op::Kernel kernel, const std::byte* a, const std::byte* b, const Folded& to) {
  const Count bytes = to.count * to.extent;
  if (!begins_before(to.at, a, bytes) && !begins_before(to.at, b, bytes)) [[likely]]
    return kernel(a, b, to.at, to.count);
  alignas(kCacheLine) std::byte folded[kFoldBlock];
  const Count block = kFoldBlock / to.extent * to.extent;
  for (Count at = 0; at < bytes; at += block) {
    const Count length = std::min(block, bytes - at);
    kernel(a + at, b + at, folded, length / to.extent);
    std::memcpy(to.at + at, folded, static_cast<std::size_t>(length));
  }
}

class FoldPair final : public TeamForm {
 public:
  FoldPair(Members& members, Chunks& chunks) : TeamForm(members), chunks_(chunks) {}
  Code go_on(Work& work) override;

 private:
  Code come(Work& work);
  void lay_out(const Work& work);
  Code give_to_other(const Work& work);
  Code fold_others(const Work& work);
  Code await_room(Count round);
  std::byte* chunk_of(int member, Count round) const;

  Chunks& chunks_;
  // Of the call under way.
  struct {
    Count extent, stride, piece, rounds, depth;  // of a round: bytes, elements
    const std::byte *given, *own;                // the vector's part for the other, and for us
    Count given_count, own_count;                // elements
    bool in_cells, gives, folds;
  } pairing_{};
};

Code FoldPair::go_on(Work& work) {
  if (const Code code = come(work); code != Code::ok) return code;
  for (; work.round <= pairing_.rounds; ++work.round) {
    if (work.stage == Work::Stage::give) {
      if (const Code code = give_to_other(work); code != Code::ok) return code;
      work.enter(Work::Stage::fold);
    }
    if (const Code code = fold_others(work); code != Code::ok) return code;
    work.enter(Work::Stage::give);
  }
  chunks_.end(pairing_.rounds);
  members_.all_entered();
  if (pairing_.gives && pairing_.folds) members_.all_exchanged();
  members_.end_call();
  return Code::ok;
}

Code FoldPair::come(Work& work) {
  if (!work.has_spoken) {
    if (const Code code = members_.claim_entry(); code != Code::ok) return code;
    lay_out(work);
    if (pairing_.in_cells)
      chunks_.claim_cells();
    else if (const Code code = chunks_.claim(pairing_.depth * pairing_.stride, 1 - me_);
             code != Code::ok)
      return code;
    members_.publish(work.call.fingerprint);
    work.has_spoken = true;
  }
  // In cells the first round waits for nobody, as a rule.
  if (pairing_.in_cells && work.stage == Work::Stage::give && work.round == 0) {
    if (const Code code = give_to_other(work); code != Code::ok) return code;
    work.enter(Work::Stage::fold);
  }
  return hear_all(work);
}

void FoldPair::lay_out(const Work& work) {
  const TeamCall& call = work.call;
  pairing_.extent = call.type->extent();
  const auto* const vector = static_cast<const std::byte*>(call.send);
  pairing_.given = pairing_.own = vector;
  pairing_.given_count = pairing_.own_count = call.count;
  if (work.starts != nullptr) {
    const Count second = work.starts[1];
    const Count counts[] = {second, work.starts[2] - second};
    pairing_.own_count = counts[me_];
    pairing_.given_count = counts[1 - me_];
    (me_ == 0 ? pairing_.given : pairing_.own) += second * pairing_.extent;
  }
  const Count most = std::max(pairing_.own_count, pairing_.given_count);
  const bool is_reduce = call.collective == coll::Collective::reduce;
  const Chunks::Rounds rounds =
      chunks_.rounds_of(most * pairing_.extent, 1, Chunks::kFolded, is_reduce);
  pairing_.stride = rounds.part;
  pairing_.piece = pairing_.stride / pairing_.extent;
  pairing_.rounds = (most + pairing_.piece - 1) / pairing_.piece;
  pairing_.depth = std::min(rounds.depth, pairing_.rounds);
  pairing_.in_cells = rounds.in_cells;
  pairing_.folds = !is_reduce || me_ == call.root;
  pairing_.gives = !is_reduce || me_ != call.root;
}

Code FoldPair::give_to_other(const Work& work) {
  const Count k = work.round;
  if (k == pairing_.rounds || !pairing_.gives) return Code::ok;
  if (const Code code = await_room(k); code != Code::ok) return code;
  const Count count =
      std::clamp<Count>(pairing_.given_count - k * pairing_.piece, 0, pairing_.piece);
  chunks_.put(chunk_of(me_, k), pairing_.given + k * pairing_.piece * pairing_.extent,
              count * pairing_.extent);
  chunks_.tell_filled(k, true);
  return Code::ok;
}

// The chunk of the round depth before has been read.
Code FoldPair::await_room(Count round) {
  if (pairing_.in_cells) return chunks_.begin_cell(round);
  const Count over = std::max<Count>(0, round - pairing_.depth + 1);
  const Code code = over == 0 ? Code::ok : chunks_.await(members_.control(1 - me_).read, over);
  if (code == Code::ok) chunks_.begin_round(round, pairing_.depth, pairing_.stride);
  return code;
}

std::byte* FoldPair::chunk_of(int member, Count round) const {
  if (pairing_.in_cells) return chunks_.cell_of(member, round);
  return chunks_.of(member) + round % pairing_.depth * pairing_.stride;
}

Code FoldPair::fold_others(const Work& work) {
  const Count k = work.round;
  if (k == 0 || !pairing_.folds) return Code::ok;
  const int other = 1 - me_;
  const Code code = chunks_.await_filled(other, k);
  if (code != Code::ok) return code;
  const Count from = (k - 1) * pairing_.piece;
  const std::byte* const mine = pairing_.own + from * pairing_.extent;
  const std::byte* const theirs = chunk_of(other, k - 1);
  const Count count = std::clamp<Count>(pairing_.own_count - from, 0, pairing_.piece);
  std::byte* const out = static_cast<std::byte*>(work.call.recv) + from * pairing_.extent;
  chunks_.take_from(other, k - 1, pairing_.stride, count * pairing_.extent, [&] {
    fold_two(work.kernel, me_ == 0 ? mine : theirs, me_ == 0 ? theirs : mine,
             {out, count, pairing_.extent});
  });
  chunks_.tell(members_.control(me_).read, k);
  return Code::ok;
}

}  // namespace

std::unique_ptr<TeamForm> make_fold_pair(Members& members, Chunks& chunks) {
  return std::make_unique<FoldPair>(members, chunks);
}

}  // namespace tutti::delegate
