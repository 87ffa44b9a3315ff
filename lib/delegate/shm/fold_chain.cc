// Scan and exscan: what a member gets is folded from those before it, in their order.
//
// Short: everyone says his vector in his entry, and folds the entries before his own. Long: a
// member reads the result of all before it, part by part, out of the chunks of the one before it,
// folds its own vector into that, and passes it on. So each folds once, and all of them at a time
// after the first parts have come down the chain.
#include <algorithm>
#include <cstring>

#include "delegate/shm/forms.h"

namespace tutti::delegate {
namespace {

class ScanShort final : public TeamForm {
 public:
  explicit ScanShort(Members& members) : TeamForm(members) {}
  Code go_on(Work& work) override;
};

Code ScanShort::go_on(Work& work) {
  const TeamCall& call = work.call;
  const std::size_t bytes = work.bytes;
  if (const Code code = say_vector(work); code != Code::ok) return code;
  for (; work.member < me_; ++work.member)
    if (const Code code = members_.hear(work.member, call.fingerprint); code != Code::ok)
      return code;
  const int last = call.collective == coll::Collective::scan ? me_ : me_ - 1;
  const bool is_kept = call.send != call.recv;
  const auto operand = [&](int member) { return vector_of(work, member, is_kept); };
  if (last >= 0 && bytes > 0) std::memcpy(call.recv, operand(0), bytes);
  for (int member = 1; member <= last && bytes > 0; ++member)
    work.kernel(call.recv, operand(member), call.recv, call.count);
  members_.end_call();
  return Code::ok;
}

class ScanLong final : public TeamForm {
 public:
  ScanLong(Members& members, Chunks& chunks) : TeamForm(members), chunks_(chunks) {}
  Code go_on(Work& work) override;

 private:
  Code come(Work& work);
  void scan_round(const Work& work);

  Chunks& chunks_;
  // Of the call under way.
  struct {
    Count extent, stride, piece, rounds, depth;  // of a round: bytes, elements
    bool gives, folds;
  } chain_{};
};

Code ScanLong::go_on(Work& work) {
  if (const Code code = come(work); code != Code::ok) return code;
  for (; work.round < chain_.rounds; ++work.round) {
    const Count k = work.round;
    if (chain_.gives && k >= chain_.depth)
      if (const Code code = chunks_.await(members_.control(me_ + 1).read, k - chain_.depth + 1);
          code != Code::ok)
        return code;
    if (chain_.folds)
      if (const Code code = chunks_.await_filled(me_ - 1, k + 1); code != Code::ok) return code;
    scan_round(work);
  }
  chunks_.end(chain_.rounds);
  members_.end_call();
  return Code::ok;
}

Code ScanLong::come(Work& work) {
  const TeamCall& call = work.call;
  if (!work.has_spoken) {
    if (const Code code = members_.claim_entry(); code != Code::ok) return code;
    chain_ = {};
    chain_.extent = call.type->extent();
    const Chunks::Rounds rounds =
        chunks_.rounds_of(call.count * chain_.extent, 1, Chunks::kFolded, Chunks::kOneWay);
    chain_.stride = rounds.part;
    chain_.piece = chain_.stride / chain_.extent;
    chain_.rounds = (call.count + chain_.piece - 1) / chain_.piece;
    chain_.depth = std::min(rounds.depth, chain_.rounds);
    chain_.gives = me_ + 1 < size_;
    chain_.folds = me_ > 0;
    const Code code = chunks_.claim(chain_.depth * chain_.stride, (me_ + 1) % size_);
    if (code != Code::ok) return code;
    members_.publish(call.fingerprint);
    work.has_spoken = true;
  }
  for (; work.member < me_; ++work.member)
    if (const Code code = members_.hear(work.member, call.fingerprint); code != Code::ok)
      return code;
  return Code::ok;
}

// Of blocks: what stands in `recv` may be our own contribution, so that is read first.
void ScanLong::scan_round(const Work& work) {
  const TeamCall& call = work.call;
  const Count k = work.round, from = k * chain_.piece;
  const Count count = std::min(chain_.piece, call.count - from);
  const bool is_inclusive = call.collective == coll::Collective::scan;
  const Count chunk = k % chain_.depth * chain_.stride;
  std::byte* const to = chunks_.of(me_) + chunk;
  if (chain_.gives) chunks_.begin_round(k, chain_.depth, chain_.stride);
  alignas(kCacheLine) std::byte folded[kFoldBlock];
  for (Count at = 0, block = kFoldBlock / chain_.extent; at < count; at += block) {
    const Count length = std::min(block, count - at), bytes = length * chain_.extent;
    const Count element = (from + at) * chain_.extent;
    const std::byte* total = static_cast<const std::byte*>(call.send) + element;
    std::byte* const out = static_cast<std::byte*>(call.recv) + element;
    const std::byte* const before =
        chain_.folds ? chunks_.of(me_ - 1) + chunk + at * chain_.extent : nullptr;
    if (before != nullptr && (is_inclusive || chain_.gives)) {
      work.kernel(before, total, folded, length);
      total = folded;
    }
    if (chain_.gives) chunks_.put(to + at * chain_.extent, total, bytes);
    const std::byte* const result = is_inclusive ? total : before;
    if (result != nullptr && result != out)
      std::memcpy(out, result, static_cast<std::size_t>(bytes));
  }
  if (chain_.folds) chunks_.tell(members_.control(me_).read, k + 1);
  if (chain_.gives) chunks_.tell_filled(k, true);
}

}  // namespace

std::unique_ptr<TeamForm> make_scan_short(Members& members) {
  return std::make_unique<ScanShort>(members);
}

std::unique_ptr<TeamForm> make_scan_long(Members& members, Chunks& chunks) {
  return std::make_unique<ScanLong>(members, chunks);
}

}  // namespace tutti::delegate
