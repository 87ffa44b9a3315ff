// Allreduce of long vectors of two members. Each folds one half of the vector, where the other gave
// it, and copies what it folded to its own result; the other copies it from there, too.
//
// What is given comes back to where it lay: a core writes next what it read last (record 0077), and
// who has taken a part back needs no word that its place is free.
//
//   iteration k:   give(k)   fold(k-1)   take(k-2)
//
// So three parts of each member are under way at most (Chunks::kReturning).
#include <algorithm>
#include <cstring>

#include "delegate/shm/forms.h"

namespace tutti::delegate {
namespace {

class FoldHalves final : public TeamForm {
 public:
  FoldHalves(Members& members, Chunks& chunks) : TeamForm(members), chunks_(chunks) {}
  Code go_on(Work& work) override;

 private:
  // Elements of the vector.
  struct Part {
    Count from, count;
  };
  Part part_of(int folder, Count round) const;
  Code come(Work& work);
  void lay_out(const TeamCall& call);
  void give(const Work& work);
  Code fold(const Work& work);
  Code take(const Work& work);

  Chunks& chunks_;
  // Of the call under way; elements but for `extent`, which is in bytes.
  struct {
    Count extent, count, first_half, piece, rounds;
  } halves_{};
};

Code FoldHalves::go_on(Work& work) {
  if (const Code code = come(work); code != Code::ok) return code;
  for (; work.round < halves_.rounds + 2; ++work.round) {
    if (work.stage == Work::Stage::give) {
      give(work);
      work.enter(Work::Stage::fold);
    }
    if (work.stage == Work::Stage::fold) {
      if (const Code code = fold(work); code != Code::ok) return code;
      work.enter(Work::Stage::take);
    }
    if (const Code code = take(work); code != Code::ok) return code;
    work.enter(Work::Stage::give);
  }
  chunks_.end(halves_.rounds);
  members_.all_exchanged();
  members_.end_call();
  return Code::ok;
}

// The first part waits for nobody.
Code FoldHalves::come(Work& work) {
  if (!work.has_spoken) {
    if (const Code code = members_.claim_entry(); code != Code::ok) return code;
    lay_out(work.call);
    chunks_.claim_returning();
    members_.publish(work.call.fingerprint);
    work.has_spoken = true;
    give(work);
    work.enter(Work::Stage::fold);
  }
  return hear_all(work);
}

void FoldHalves::lay_out(const TeamCall& call) {
  halves_.extent = call.type->extent();
  halves_.count = call.count;
  halves_.first_half = (call.count + 1) / 2;
  const Chunks::Rounds rounds =
      chunks_.rounds_of(halves_.first_half * halves_.extent, 1, Chunks::kFolded, Chunks::kBothWays);
  halves_.piece = even_part(halves_.first_half, rounds.part / halves_.extent, halves_.extent);
  halves_.rounds = (halves_.first_half + halves_.piece - 1) / halves_.piece;
}

// Of the half that this member folds.
FoldHalves::Part FoldHalves::part_of(int folder, Count round) const {
  const Count begin = folder == 0 ? 0 : halves_.first_half;
  const Count end = folder == 0 ? halves_.first_half : halves_.count;
  const Count from = std::min(begin + round * halves_.piece, end);
  return {from, std::min(halves_.piece, end - from)};
}

void FoldHalves::give(const Work& work) {
  if (work.round >= halves_.rounds) return;
  const Part part = part_of(1 - me_, work.round);
  chunks_.put(chunks_.returning_of(me_, work.round),
              static_cast<const std::byte*>(work.call.send) + part.from * halves_.extent,
              part.count * halves_.extent);
  chunks_.tell_filled(work.round, true);
}

// In rank order, and block by block: what was folded is copied while it is in L1.
Code FoldHalves::fold(const Work& work) {
  const Count round = work.round - 1;
  if (round < 0 || round >= halves_.rounds) return Code::ok;
  if (const Code code = chunks_.await_filled(1 - me_, round + 1); code != Code::ok) return code;
  const Part part = part_of(me_, round);
  const std::byte* mine =
      static_cast<const std::byte*>(work.call.send) + part.from * halves_.extent;
  std::byte* theirs = chunks_.returning_of(1 - me_, round);
  std::byte* out = static_cast<std::byte*>(work.call.recv) + part.from * halves_.extent;
  const Count block = kFoldBlock / halves_.extent;
  for (Count left = part.count; left > 0; left -= block) {
    const Count count = std::min(left, block);
    const Count bytes = count * halves_.extent;
    work.kernel(me_ == 0 ? mine : theirs, me_ == 0 ? theirs : mine, theirs, count);
    std::memcpy(out, theirs, static_cast<std::size_t>(bytes));
    mine += bytes;
    theirs += bytes;
    out += bytes;
  }
  members_.count_copied(static_cast<std::size_t>(part.count * halves_.extent));
  chunks_.tell(members_.control(me_).folded, round + 1);
  return Code::ok;
}

Code FoldHalves::take(const Work& work) {
  const Count round = work.round - 2;
  if (round < 0) return Code::ok;
  const Code code = chunks_.await(members_.control(1 - me_).folded, round + 1);
  if (code != Code::ok) return code;
  const Part part = part_of(1 - me_, round);
  std::memcpy(static_cast<std::byte*>(work.call.recv) + part.from * halves_.extent,
              chunks_.returning_of(me_, round),
              static_cast<std::size_t>(part.count * halves_.extent));
  members_.count_copied(static_cast<std::size_t>(part.count * halves_.extent));
  return Code::ok;
}

}  // namespace

std::unique_ptr<TeamForm> make_fold_halves(Members& members, Chunks& chunks) {
  return std::make_unique<FoldHalves>(members, chunks);
}

}  // namespace tutti::delegate
