// Which form a reduction takes.
#include "delegate/shm/reductions.h"

namespace tutti::delegate {
namespace {

// Two members with cores of their own: so far each reads the other's whole vector from its entry,
// in one exchange; beyond, it goes through chunks, whose rounds overlap with the folding. Chosen,
// not measured.
constexpr std::size_t kPairShort = 4 << 10;
// An allreduce of theirs is shared beyond: up to there folding less does not pay for one more wait
// (measured where they share a cache and where they do not, record 0089).
constexpr std::size_t kPairWhole = 32 << 10;

bool scatters(const TeamCall& call) {
  return call.collective == coll::Collective::reduce_scatter;
}

bool scans(const TeamCall& call) {
  return call.collective == coll::Collective::scan || call.collective == coll::Collective::exscan;
}

}  // namespace

Reductions::Reductions(Members& members, Chunks& chunks, const model::BoundAt& place)
    : members_(members),
      barrier_(make_barrier(members)),
      short_(make_fold_short(members)),
      halves_(chunks.has_returning() ? make_fold_halves(members, chunks) : nullptr),
      pair_(make_fold_pair(members, chunks)),
      long_(make_fold_long(members, chunks)),
      crowd_(make_fold_crowd(members, chunks)),
      scan_short_(make_scan_short(members)),
      scan_long_(make_scan_long(members, chunks)),
      shorts_{barrier_.get(), short_.get()},
      by_levels_(make_by_levels(members, shorts_, place)),
      starts_(static_cast<std::size_t>(members.size()) + 1) {}

void Reductions::choose(Work& work) {
  const TeamCall& call = work.call;
  const int size = members_.size();
  work.kernel = call.op->kernel(*call.type);
  Count whole = call.count;
  if (scatters(call)) {
    work.starts = find_starts(call);
    whole = starts_.back();
  }
  work.bytes = static_cast<std::size_t>(whole * call.type->extent());
  const auto others = static_cast<std::size_t>(size - 1);
  const std::size_t read =  // by one member, in the middle
      scatters(call) ? work.bytes / static_cast<std::size_t>(size) * others : work.bytes * others;
  const bool is_pair = size == 2 && !members_.is_oversubscribed() && !scans(call);
  const bool is_short =
      (is_pair ? work.bytes <= kPairShort : work.bytes <= kAlwaysShort || read <= kMostRead) &&
      work.bytes <= members_.geometry().entry_bytes;
  if (scans(call)) [[unlikely]]
    work.form = is_short ? scan_short_.get() : scan_long_.get();
  else if (is_short)
    work.form = shorts_.fold;
  else if (is_for_crowd(work))
    work.form = crowd_.get();
  else if (is_for_halves(work))
    work.form = halves_.get();
  else
    work.form = size == 2 ? pair_.get() : long_.get();
}

bool Reductions::is_for_halves(const Work& work) const {
  return halves_ != nullptr && work.call.collective == coll::Collective::allreduce &&
         work.bytes > kPairWhole;
}

// By members: where their blocks begin.
const Count* Reductions::find_starts(const TeamCall& call) {
  for (std::size_t member = 0; member + 1 < starts_.size(); ++member)
    starts_[member + 1] =
        starts_[member] + (call.uneven == nullptr ? call.count : call.uneven->into.counts[member]);
  return starts_.data();
}

// Longer ones go in rounds: what they cost is their bytes.
bool Reductions::is_for_crowd(const Work& work) const {
  return members_.is_oversubscribed() && members_.size() > 2 &&
         work.call.collective == coll::Collective::allreduce &&
         bytes_in_crowd(work.bytes) <= members_.geometry().chunk_bytes;
}

}  // namespace tutti::delegate
