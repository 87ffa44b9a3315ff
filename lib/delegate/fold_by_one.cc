// Reductions on an oversubscribed host whose vectors fit the entries: whoever is first to see all
// of them folds for everybody, in rank order, and puts the result into its own entry.
//
// So a core changes hands once a member and call: a member that comes gives its vector, and finds
// the result when it runs again. Sharing the folding (fold_long.cc) would wait for everybody four
// times, which costs more, where ranks share cores, than that one member folds alone. Only the
// member that folds reads the others' entries, so its own is free for the result.
#include <cstring>

#include "delegate/work.h"

namespace tutti::delegate {
namespace {

// What `served` says: of which call, and in whose entry the result stands.
constexpr int kMemberBits = 16;
constexpr std::uint64_t kWithoutData = std::uint64_t{1} << (kMemberBits - 1);  // of a member
constexpr std::uint64_t kMemberMask = kWithoutData - 1;

}  // namespace

bool ShmTeam::is_for_one(const Work& work) const {
  return is_oversubscribed_ && size_ > 2 && static_cast<std::uint64_t>(size_) <= kMemberMask &&
         work.call.collective == coll::Collective::allreduce && work.bytes <= geometry_.entry_bytes;
}

Code ShmTeam::fold_by_one(Work& work) {
  const TeamCall& call = work.call;
  if (!work.has_spoken) {
    if (const Code code = claim_entry(); code != Code::ok) return code;
    AreaEntry& mine = entry(me_);
    std::memcpy(mine.payload(work.bytes), call.send, work.bytes);
    publish(mine, call.fingerprint);
    work.has_spoken = true;
  }
  const std::atomic<std::uint64_t>& served = control(0).served;
  const std::uint64_t wanted = number_ << kMemberBits;
  // acquire, here and in await(): pairs with fold_for_all().
  if (served.load(std::memory_order_acquire) < wanted) {
    if (const Code code = hear_all(work); code != Code::ok) return code;
    if (claim_folding()) {
      fold_for_all(work);
      all_entered();
      return Code::ok;
    }
    if (const Code code = await(served, wanted); code != Code::ok) return code;
  }
  const std::uint64_t said = served.load(std::memory_order_acquire);
  if ((said & kWithoutData) != 0) [[unlikely]]  // all have spoken: this finds whose
    if (const Code code = hear_all(work); code != Code::ok) return code;
  const auto folder = static_cast<int>(said & kMemberMask);
  std::memcpy(call.recv, entry(folder).payload(work.bytes), work.bytes);
  all_entered();  // as who folded has heard
  return Code::ok;
}

// relaxed: the claim itself publishes nothing. Whoever makes it has heard all members, and what it
// does is published by `served`. All members are past the calls before this one, so that nobody
// claims those any more.
bool ShmTeam::claim_folding() {
  std::atomic<std::uint64_t>& claimed = control(0).claimed;
  std::uint64_t before = claimed.load(std::memory_order_relaxed);
  return before < number_ &&
         claimed.compare_exchange_strong(before, number_, std::memory_order_relaxed);
}

void ShmTeam::fold_for_all(const Work& work) {
  const TeamCall& call = work.call;
  const auto operand = [&](int member) { return entry(member).payload(work.bytes); };
  work.kernel(operand(0), operand(1), call.recv, call.count);
  for (int member = 2; member < size_; ++member)
    work.kernel(call.recv, operand(member), call.recv, call.count);
  std::memcpy(operand(me_), call.recv, work.bytes);
  // release: pairs with the acquire in fold_by_one(), after which the result is read.
  control(0).served.store(number_ << kMemberBits | (without_data_ < 0 ? 0 : kWithoutData) |
                              static_cast<std::uint64_t>(me_),
                          std::memory_order_release);
  wake_others();
}

}  // namespace tutti::delegate
