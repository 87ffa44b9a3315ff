// Long vectors of two members. Each folds everything that is to be its result (the whole vector, or
// its own block), and reads the other's operands from that one's chunks as they come.
//
// Sharing the folding (fold_long.cc) would spare half of it, but moves as many bytes through the
// caches and waits twice as often: measured, it never won with two.
//
//   iteration k:   give(k)   fold(k-1)
#include <algorithm>
#include <cstring>

#include "delegate/work.h"

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

}  // namespace

Code ShmTeam::fold_pair(Work& work) {
  if (const Code code = come_to_pair(work); code != Code::ok) return code;
  for (; work.round <= work.pairing->rounds; ++work.round) {
    if (work.stage == Work::Stage::give) {
      if (const Code code = give_to_other(work); code != Code::ok) return code;
      work.enter(Work::Stage::fold);
    }
    if (const Code code = fold_others(work); code != Code::ok) return code;
    work.enter(Work::Stage::give);
  }
  rounds_ += static_cast<std::uint64_t>(work.pairing->rounds);
  all_entered();
  end_call();
  return Code::ok;
}

Code ShmTeam::come_to_pair(Work& work) {
  if (!work.has_spoken) {
    if (const Code code = claim_entry(); code != Code::ok) return code;
    pair(work);
    const Pairing& pairing = *work.pairing;
    const Code code = claim_chunks(pairing.depth * pairing.stride, 1 - me_);
    if (code != Code::ok) return code;
    publish(work.call.fingerprint);
    work.has_spoken = true;
  }
  return hear_all(work);
}

void ShmTeam::pair(Work& work) const {
  const TeamCall& call = work.call;
  Pairing& pairing = work.pairing.emplace();
  pairing.extent = call.type->extent();
  const auto* const vector = static_cast<const std::byte*>(call.send);
  pairing.given = pairing.own = vector;
  pairing.given_count = pairing.own_count = call.count;
  if (scatters(call)) {
    const Count second = starts_[1];
    const Count counts[] = {second, starts_[2] - second};
    pairing.own_count = counts[me_];
    pairing.given_count = counts[1 - me_];
    (me_ == 0 ? pairing.given : pairing.own) += second * pairing.extent;
  }
  const Count most = std::max(pairing.own_count, pairing.given_count);
  const bool is_reduce = call.collective == coll::Collective::reduce;
  const Rounds rounds = rounds_of(most * pairing.extent, 1, kFolded, is_reduce);
  pairing.stride = rounds.part;
  pairing.piece = pairing.stride / pairing.extent;
  pairing.rounds = (most + pairing.piece - 1) / pairing.piece;
  pairing.depth = std::min(rounds.depth, pairing.rounds);
  pairing.folds = !is_reduce || me_ == call.root;
  pairing.gives = !is_reduce || me_ != call.root;
}

Code ShmTeam::give_to_other(Work& work) {
  const Pairing& pairing = *work.pairing;
  const Count k = work.round;
  if (k == pairing.rounds || !pairing.gives) return Code::ok;
  // Chunk k-depth has been read.
  const auto over = static_cast<std::uint64_t>(std::max<Count>(0, k - pairing.depth + 1));
  const Code code = over == 0 ? Code::ok : await(control(1 - me_).read, rounds_ + over);
  if (code != Code::ok) return code;
  const Count count = std::clamp<Count>(pairing.given_count - k * pairing.piece, 0, pairing.piece);
  begin_round(k, pairing.depth, pairing.stride);
  put(chunks(me_) + k % pairing.depth * pairing.stride,
      pairing.given + k * pairing.piece * pairing.extent, count * pairing.extent);
  tell_filled(k, true);
  return Code::ok;
}

Code ShmTeam::fold_others(Work& work) {
  const Pairing& pairing = *work.pairing;
  const Count k = work.round;
  if (k == 0 || !pairing.folds) return Code::ok;
  const int other = 1 - me_;
  const Code code = await(filled(other).rounds, rounds_ + static_cast<std::uint64_t>(k));
  if (code != Code::ok) return code;
  const Count from = (k - 1) * pairing.piece;
  const std::byte* const mine = pairing.own + from * pairing.extent;
  const std::byte* const theirs = chunks(other) + (k - 1) % pairing.depth * pairing.stride;
  const Count count = std::clamp<Count>(pairing.own_count - from, 0, pairing.piece);
  std::byte* const out = static_cast<std::byte*>(work.call.recv) + from * pairing.extent;
  take_from(other, k - 1, pairing.stride, count * pairing.extent, [&] {
    fold_two(work.kernel, me_ == 0 ? mine : theirs, me_ == 0 ? theirs : mine,
             {out, count, pairing.extent});
  });
  tell(control(me_).read, k);
  return Code::ok;
}

}  // namespace tutti::delegate
