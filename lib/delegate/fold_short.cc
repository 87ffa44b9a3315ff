// Reductions of short vectors: everyone says his vector in his entry, who needs the result, or a
// block of it, folds all of them in rank order. The order is fixed, so all ranks get the same bits,
// and operations that do not commute are right.
#include <cstring>

#include "delegate/work.h"

namespace tutti::delegate {
namespace {

constexpr std::size_t kPairShort = 4 << 10;

}  // namespace

// Of a reduce-scatter, by members: where their blocks begin.
void ShmTeam::find_starts(const TeamCall& call) {
  starts_.resize(static_cast<std::size_t>(size_) + 1);
  for (std::size_t member = 0; member + 1 < starts_.size(); ++member)
    starts_[member + 1] =
        starts_[member] + (call.uneven == nullptr ? call.count : call.uneven->into.counts[member]);
}

void ShmTeam::choose_fold(Work& work) {
  const TeamCall& call = work.call;
  if (scans(call)) return choose_scan(work);
  work.kernel = call.op->kernel(*call.type);
  Count whole = call.count;
  if (scatters(call)) {
    find_starts(call);
    whole = starts_.back();
  }
  work.bytes = static_cast<std::size_t>(whole * call.type->extent());
  const auto others = static_cast<std::size_t>(size_ - 1);
  const std::size_t read =  // by one member, in the middle
      scatters(call) ? work.bytes / static_cast<std::size_t>(size_) * others : work.bytes * others;
  const bool is_short = size_ == 2 && !is_oversubscribed_
                            ? work.bytes <= kPairShort
                            : work.bytes <= kAlwaysShort || read <= kMostRead;
  if (is_short && work.bytes <= geometry_.entry_bytes)
    work.form = short_form_;
  else if (is_for_crowd(work))
    work.form = &ShmTeam::fold_crowd;
  else
    work.form = size_ == 2 ? &ShmTeam::fold_pair : &ShmTeam::fold_long;
}

Code ShmTeam::fold_short(Work& work) {
  const TeamCall& call = work.call;
  const std::size_t bytes = work.bytes;
  if (!work.has_spoken) {
    if (const Code code = claim_entry(); code != Code::ok) return code;
    AreaEntry& mine = entry(me_);
    if (bytes > 0) std::memcpy(mine.payload(bytes), call.send, bytes);
    publish(mine, call.fingerprint);
    work.has_spoken = true;
  }
  const bool everyone = call.collective != coll::Collective::reduce;
  if (everyone || me_ == call.root) {
    if (const Code code = hear_all(work); code != Code::ok) return code;
    const auto from =
        scatters(call)
            ? static_cast<std::size_t>(starts_[static_cast<std::size_t>(me_)] * call.type->extent())
            : 0;
    const auto operand = [&](int member) { return entry(member).payload(bytes) + from; };
    if (bytes > 0) work.kernel(operand(0), operand(1), call.recv, call.count);
    for (int member = 2; member < size_ && bytes > 0; ++member)
      work.kernel(call.recv, operand(member), call.recv, call.count);
    all_entered();
  }
  if (!everyone) end_call();
  return Code::ok;
}

}  // namespace tutti::delegate
