// Allreduce on an oversubscribed host: whoever comes once all have given folds for everybody, in
// rank order, part by part, as many members as happen to have a core.
//
// So a core changes hands about once a member and call: a member that comes gives its vector, and
// finds the result when it runs again. Sharing the folding by ranks (fold_long.cc) would wait for
// everybody four times, which costs more than the folding where ranks share cores. Parts are
// claimed in the first member's counters, and what is folded goes where the first member's vector
// stands, which nobody else reads by then.
#include <algorithm>
#include <cstring>

#include "delegate/shm/forms.h"

namespace tutti::delegate {
namespace {

constexpr Count kPart = 4 << 10;  // stays in L1 while it is folded

// What `claimed` and `served` say: of which call, and how many of its parts. In `served` the last
// bit says that some member had no data.
constexpr int kPartBits = 20;
constexpr std::uint64_t kMostParts = (std::uint64_t{1} << kPartBits) - 1;
constexpr std::uint64_t kWithoutData = 1;
std::uint64_t parts_of_call(std::uint64_t call, std::uint64_t parts) {
  return call << kPartBits | parts;
}

class FoldCrowd final : public TeamForm {
 public:
  FoldCrowd(Members& members, Chunks& chunks) : TeamForm(members), chunks_(chunks) {}
  Code go_on(Work& work) override;

 private:
  std::byte* vector_of(const Work& work, int member) const;
  Code give(Work& work);
  std::uint64_t claim_part(std::uint64_t parts);
  void fold_part(const Work& work, Count from, Count most);
  void tell_served(std::uint32_t fingerprint, std::uint64_t parts);

  Chunks& chunks_;
};

// Where a member's vector stands.
std::byte* FoldCrowd::vector_of(const Work& work, int member) const {
  return work.bytes <= members_.geometry().entry_bytes ? members_.entry(member).payload(work.bytes)
                                                       : chunks_.of(member);
}

Code FoldCrowd::give(Work& work) {
  if (work.has_spoken) return Code::ok;
  if (const Code code = members_.claim_entry(); code != Code::ok) return code;
  if (work.bytes > members_.geometry().entry_bytes) {
    const auto bytes = static_cast<Count>(bytes_in_crowd(work.bytes));
    if (const Code code = chunks_.claim(bytes, (me_ + 1) % size_); code != Code::ok) return code;
  }
  std::memcpy(vector_of(work, me_), work.call.send, work.bytes);
  members_.publish(work.call.fingerprint);
  work.has_spoken = true;
  return Code::ok;
}

Code FoldCrowd::go_on(Work& work) {
  const TeamCall& call = work.call;
  if (const Code code = give(work); code != Code::ok) return code;
  const Count part = std::max<Count>(kPart / call.type->extent(), 1);
  const auto parts = static_cast<std::uint64_t>((call.count + part - 1) / part);
  const std::atomic<std::uint64_t>& served = members_.control(0).served;
  const std::uint64_t wanted = parts_of_call(members_.number(), parts) << 1;
  // acquire, here and in await(): pairs with tell_served().
  if (served.load(std::memory_order_acquire) < wanted) {
    if (const Code code = hear_all(work); code != Code::ok) return code;
    while (const std::uint64_t claimed = claim_part(parts)) {
      fold_part(work, static_cast<Count>(claimed - 1) * part, part);
      tell_served(call.fingerprint, parts);
    }
    if (const Code code = members_.await(served, wanted); code != Code::ok) return code;
  }
  if ((served.load(std::memory_order_acquire) & kWithoutData) != 0) [[unlikely]]
    if (const Code code = hear_all(work); code != Code::ok) return code;  // this finds whose
  std::memcpy(call.recv, vector_of(work, 0), work.bytes);
  members_.all_entered();  // as who folded has heard
  if (work.bytes > members_.geometry().entry_bytes) members_.end_call();
  return Code::ok;
}

// Which part, from 1 on; 0: all are claimed. relaxed: the claim itself publishes nothing. Whoever
// makes it has heard all members, and what it does is published by `served`. All members are past
// the calls before this one, so that nobody claims parts of those any more.
std::uint64_t FoldCrowd::claim_part(std::uint64_t parts) {
  std::atomic<std::uint64_t>& claimed = members_.control(0).claimed;
  std::uint64_t before = claimed.load(std::memory_order_relaxed);
  std::uint64_t part = 0;
  do {
    part = before < parts_of_call(members_.number(), 0) ? 1 : (before & kMostParts) + 1;
    if (part > parts) return 0;
  } while (!claimed.compare_exchange_weak(before, parts_of_call(members_.number(), part),
                                          std::memory_order_relaxed));
  return part;
}

void FoldCrowd::fold_part(const Work& work, Count from, Count most) {
  const TeamCall& call = work.call;
  const Count count = std::min(most, call.count - from);
  const auto operand = [&](int member) {
    return vector_of(work, member) + from * call.type->extent();
  };
  std::byte* const into = operand(0);
  for (int member = 1; member < size_; ++member) work.kernel(into, operand(member), into, count);
}

// One more part. Who says the last one wakes those that wait.
void FoldCrowd::tell_served(std::uint32_t fingerprint, std::uint64_t parts) {
  std::atomic<std::uint64_t>& served = members_.control(0).served;
  const bool has_all = members_.without_data() < 0 && fingerprint != kHasNothing;
  std::uint64_t before = served.load(std::memory_order_relaxed), now = 0;
  do {
    now = std::max(before, parts_of_call(members_.number(), 0) << 1) + 2;
    if (!has_all) now |= kWithoutData;
    // acq_rel: pairs with the acquire in go_on(), after which the result is read, of all who
    // have folded a part before.
  } while (!served.compare_exchange_weak(before, now, std::memory_order_acq_rel,
                                         std::memory_order_relaxed));
  if ((now >> 1 & kMostParts) == parts) members_.wake_others();
}

}  // namespace

std::size_t bytes_in_crowd(std::size_t bytes) {  // whole lines
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

std::unique_ptr<TeamForm> make_fold_crowd(Members& members, Chunks& chunks) {
  return std::make_unique<FoldCrowd>(members, chunks);
}

}  // namespace tutti::delegate
