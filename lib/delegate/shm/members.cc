// Members: hearing, waiting, and what ends a wait in vain.
#include "delegate/shm/members.h"

#include <algorithm>

#include "base/backoff.h"

namespace tutti::delegate {
namespace {

constexpr int kLooksPart = 4;  // of those at what is awaited are made between rounds of progress
constexpr std::uint32_t kStepsBetweenDeaths = 16;  // that waited, between looks at the members

}  // namespace

Members::Members(wireup::Wireup& wireup, std::vector<int> locals, int me, std::uint32_t area,
                 const Waiting& waiting)
    : TeamArea(wireup, std::move(locals), me, area),
      waiting_(waiting),
      past_by_(static_cast<std::size_t>(size())),
      faults_(*this, waiting) {}

Code Members::await_end(int member, std::uint64_t call) {
  std::uint64_t& past = past_by_[static_cast<std::size_t>(member)];
  if (past >= call) return Code::ok;
  const std::atomic<std::uint64_t>& done = control(member).done;
  if (const Code code = await(done, call); code != Code::ok) return code;
  // acquire: pairs with end_call; its reads of what is ours are over.
  past = done.load(std::memory_order_acquire);
  return Code::ok;
}

Code Members::await_end_of_all(std::uint64_t call) {
  for (int member = 0; member < size() && past_ < call; ++member) {
    if (member == me()) continue;
    if (const Code code = await_end(member, call); code != Code::ok) return code;
  }
  return Code::ok;
}

// Whoever has run ahead of the others by all entries waits until half of them are free: waiting for
// one at a time it would look at their `done` in each call, and take that line from them.
Code Members::claim_old_entry() {
  const std::uint64_t needed = number_ - kEntries / 2;
  std::uint64_t past = number_ - 1;
  for (int member = 0; member < size(); ++member) {
    if (member == me()) continue;
    if (const Code code = await_end(member, needed); code != Code::ok) return code;
    past = std::min(past, past_by_[static_cast<std::size_t>(member)]);
  }
  past_ = past;
  return Code::ok;
}

// Looks at `done` of that member only when it was waited for in vain: else each wait would take
// that line from its writer, whose next word goes out behind the one that takes it back.
Code Members::hear_late(int member, std::uint32_t fingerprint) {
  const std::atomic<std::uint64_t>& flag = entry(member).flag;
  const auto wanted = static_cast<std::uint32_t>(number_);
  const std::atomic<std::uint64_t>& done = control(member).done;
  const bool has_waited = awaited_.word == &flag && awaited_.least == number_;
  // acquire: pairs with end_call(). A member that is through with this call gives nothing more.
  const bool is_through = has_waited && done.load(std::memory_order_acquire) >= number_;
  const std::uint64_t seen = flag.load(std::memory_order_acquire);  // pairs with publish()
  if (static_cast<std::uint32_t>(seen) != wanted) {
    // Only a root's word is heard: a member that takes another for the root gives nothing.
    if (is_through) {
      differs_ = true;
      return faults_.mismatch({Fault::Kind::left_without, me(), member, fingerprint, 0});
    }
    awaited_ = {&flag, number_, &done};
    return look_closely() ? hear(member, fingerprint) : kNotYet;
  }
  const auto theirs = static_cast<std::uint32_t>(seen >> 32);
  if (theirs == fingerprint) return Code::ok;
  differs_ = true;
  if (fingerprint == kHasNothing) return Code::ok;
  if (theirs == kHasNothing) {
    without_data_ = member;
    return Code::ok;
  }
  return faults_.mismatch({Fault::Kind::different_calls, me(), member, fingerprint, theirs});
}

Code Members::await(const std::atomic<std::uint64_t>& counter, std::uint64_t least) {
  awaited_ = {&counter, least, nullptr};
  if (has_copied_much()) [[unlikely]]
    return kNotYet;
  return awaited_.is_there() || look_closely() ? Code::ok : kNotYet;
}

Code Members::pause() {
  awaited_ = {&control(me()).done, 0, nullptr};  // nothing
  return kNotYet;
}

void Members::end_call() {
  // release: our reads of others' entries and chunks end before they see it (claim_*).
  control(me()).done.store(number_, std::memory_order_release);
  wake_others();
}

// relax(): looks that are under way when the line changes would be thrown away, with all behind
// them (record 0075).
bool Members::look() const {
  for (int i = 0; i < waiting_.looks; ++i) {
    if (awaited_.is_there()) [[likely]]
      return true;
    relax();
  }
  return false;
}

// Until what is awaited is there, or never comes. It may be there already: then messages move.
void Members::wait_long() {
  const int looks = waiting_.looks / kLooksPart;
  const Awaited awaited = awaited_;
  copied_ = 0;
  for (std::uint32_t round = 0;; ++round) {
    if (waiting_.progress(waiting_.self) > 0)
      waiting_.active(waiting_.self);
    else if (!awaited.is_there())
      waiting_.idle(waiting_.self);
    bool is_ready = awaited.is_there();
    for (int i = 0; i < looks && !is_ready; ++i) {
      relax();
      is_ready = awaited.is_there();
    }
    if (is_ready || awaited.is_in_vain() || faults_.broken() != Code::ok) break;
    if (round % kStepsBetweenDeaths == 0) look_for_losses();
    if (faults_.broken() != Code::ok) break;
  }
  waiting_.active(waiting_.self);
}

void Members::waited_in_vain() {
  if (++in_vain_ % kStepsBetweenDeaths == 0) look_for_losses();
}

// What a member said before it died, or gave up, still counts.
void Members::look_for_losses() {
  int gone = 0, broken = 0;
  while (gone < size() && !is_gone(gone)) ++gone;
  while (broken < size() && !has_given_up(broken)) ++broken;
  if ((gone == size() && broken == size()) || awaited_.is_there()) return;
  faults_.break_off(gone < size() ? Code::proc_aborted : faults_.broken_by(broken));
}

}  // namespace tutti::delegate
