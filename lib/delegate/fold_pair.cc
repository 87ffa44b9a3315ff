// Long vectors of two members: each folds all that it is to have, the other's part read from his
// chunks as it comes: the whole vector, or its own block of it.
//
// Sharing the folding (fold_long.cc) would spare half of it, but moves as many bytes through the
// caches and waits twice as often: measured, it never won with two.
//
//   iteration k:   give(k)   fold(k-1)
#include <algorithm>

#include "delegate/team.h"

namespace tutti::delegate {
namespace {

constexpr Count kDepth = 8;

}  // namespace

Code ShmTeam::fold_pair(const Call& call, types::Op::Kernel kernel) {
  if (const Code code = claim_entry(); code != Code::ok) return code;
  if (const Code code = claim_chunks(); code != Code::ok) return code;
  publish(call.fingerprint);
  if (const Code code = hear_all(call.fingerprint); code != Code::ok) return code;
  const Count extent = call.type->extent();
  const Count stride = part_bytes(kDepth, call.count * extent);
  const Count piece = stride / extent;
  const Count rounds = (call.count + piece - 1) / piece;
  const int other = 1 - me_;
  const bool is_reduce = call.collective == coll::Collective::reduce;
  const bool folds = !is_reduce || me_ == call.root;
  const bool gives = !is_reduce || me_ != call.root;
  const auto* const vector = static_cast<const std::byte*>(call.send);
  const Count block = scatters(call) ? call.count * extent : 0;
  const std::byte* const given = vector + other * block;
  const std::byte* const own = vector + me_ * block;
  const auto place = [&](Count round) { return round % kDepth * stride; };
  for (Count k = 0; k <= rounds; ++k) {
    if (k < rounds && gives) {
      // Chunk k-kDepth has been read.
      const auto over = static_cast<std::uint64_t>(std::max<Count>(0, k - kDepth + 1));
      const Code code = over == 0 ? Code::ok : await(control(other).read, rounds_ + over);
      if (code != Code::ok) return code;
      const Count count = std::min(piece, call.count - k * piece);
      put(chunks(me_) + place(k), given + k * piece * extent, count * extent);
      tell(control(me_).filled, k + 1);
    }
    if (k == 0 || !folds) continue;
    const Count from = (k - 1) * piece;
    const Code code = await(control(other).filled, rounds_ + static_cast<std::uint64_t>(k));
    if (code != Code::ok) return code;
    const std::byte* const mine = own + from * extent;
    const std::byte* const theirs = chunks(other) + place(k - 1);
    kernel(me_ == 0 ? mine : theirs, me_ == 0 ? theirs : mine,
           static_cast<std::byte*>(call.recv) + from * extent, std::min(piece, call.count - from));
    tell(control(me_).read, k);
  }
  rounds_ += static_cast<std::uint64_t>(rounds);
  all_entered();
  end_call();
  return Code::ok;
}

}  // namespace tutti::delegate
