// Saying and hearing in a team: entries, counters, waiting, faults.
#include <algorithm>
#include <cstring>
#include <string>

#include "base/backoff.h"
#include "base/stream_copy.h"
#include "delegate/team.h"

namespace tutti::delegate {
namespace {

constexpr Count kLeastPart = 4 << 10;
constexpr Count kMostPart = 32 << 10;
constexpr Count kStreamFrom = 2 << 10;
constexpr int kLooksPart = 32;  // of those at the flag are made between rounds of progress
constexpr int kRoundsBetweenDeaths = 16;  // rounds of progress between looks at the members

}  // namespace

int ShmTeam::job_rank(int member) const {
  return segment_.rank_of(static_cast<std::uint32_t>(locals_[static_cast<std::size_t>(member)]));
}

Code ShmTeam::claim_entry() {
  if (past_ + kEntries >= number_) [[likely]]
    return Code::ok;
  const std::uint64_t needed = number_ - kEntries;
  std::uint64_t past = number_ - 1;
  for (int member = 0; member < size_; ++member) {
    if (member == me_) continue;
    if (const Code code = await(control(member).done, needed); code != Code::ok) return code;
    // acquire: pairs with end_call; its reads of our entry are over.
    past = std::min(past, control(member).done.load(std::memory_order_acquire));
  }
  past_ = past;
  return Code::ok;
}

Code ShmTeam::claim_chunks() {
  if (past_ < last_chunked_)
    for (int member = 0; member < size_; ++member) {
      if (member == me_) continue;
      const Code code = await(control(member).done, last_chunked_);
      if (code != Code::ok) return code;
    }
  last_chunked_ = number_;
  return Code::ok;
}

void ShmTeam::publish(std::uint32_t fingerprint) {
  const std::uint64_t flag = (number_ & 0xffffffffU) | std::uint64_t{fingerprint} << 32;
  entry(me_).flag.store(flag, std::memory_order_release);  // pairs with hear()
  wake_others();
}

void ShmTeam::wake_others() {
  for (int member = 0; member < size_; ++member)
    if (member != me_) transport::nudge(wireup_, locals_[static_cast<std::size_t>(member)]);
}

Code ShmTeam::hear(int member, std::uint32_t fingerprint) {
  const std::atomic<std::uint64_t>& flag = entry(member).flag;
  const auto wanted = static_cast<std::uint32_t>(number_);
  std::uint64_t seen = 0;
  std::uint32_t looks = 0;
  const std::atomic<std::uint64_t>& done = control(member).done;
  const auto published = [&flag, &seen, &looks, &done, wanted, this] {
    // acquire: pairs with end_call(). A member that is through with this call gives nothing more.
    const bool through = (++looks & 63U) == 0 && done.load(std::memory_order_acquire) >= number_;
    seen = flag.load(std::memory_order_acquire);  // pairs with publish()
    return static_cast<std::uint32_t>(seen) == wanted || through;
  };
  if (const Code code = wait_until(published); code != Code::ok) return code;
  if (static_cast<std::uint32_t>(seen) != wanted) [[unlikely]]
    // Only a root's word is heard: a member that takes another for the root gives nothing.
    return mismatch({Fault::Kind::left_without, me_, member, fingerprint, 0});
  const auto theirs = static_cast<std::uint32_t>(seen >> 32);
  if (theirs == fingerprint) [[likely]]
    return Code::ok;
  return mismatch({Fault::Kind::different_calls, me_, member, fingerprint, theirs});
}

Code ShmTeam::hear_all(std::uint32_t fingerprint) {
  for (int member = 0; member < size_; ++member)
    if (member != me_)
      if (const Code code = hear(member, fingerprint); code != Code::ok) return code;
  return Code::ok;
}

Code ShmTeam::await(const std::atomic<std::uint64_t>& counter, std::uint64_t least) {
  return wait_until([&counter, least] {
    return counter.load(std::memory_order_acquire) >= least;  // pairs with the counter's store
  });
}

void ShmTeam::tell(std::atomic<std::uint64_t>& counter, Count rounds) {
  // release: pairs with the acquire in await().
  counter.store(rounds_ + static_cast<std::uint64_t>(rounds), std::memory_order_release);
  wake_others();
}

Count ShmTeam::part_bytes(Count pieces, Count bytes) const {
  const Count line = static_cast<Count>(kCacheLine);
  const Count room = static_cast<Count>(geometry_.chunk_bytes) / pieces / line * line;
  // Two rounds at least overlap; beyond the most, more of them gain nothing.
  const Count wanted = std::clamp((bytes / 2 + line - 1) / line * line, kLeastPart, kMostPart);
  return std::min(wanted, room);
}

void ShmTeam::put(std::byte* to, const std::byte* from, Count bytes) const {
  // A crowd shares cores, and its caches serve best.
  if (is_oversubscribed_ || bytes < kStreamFrom)
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  else
    stream_copy(to, from, static_cast<std::size_t>(bytes));
}

void ShmTeam::end_call() {
  // release: our reads of others' entries and chunks end before they see it (claim_*).
  control(me_).done.store(number_, std::memory_order_release);
  wake_others();
}

Code ShmTeam::mismatch(const Fault& fault) {
  const std::string calls = waiting_.describe(fault.calls);
  std::string line = "ranks call different collectives: rank " +
                     std::to_string(job_rank(fault.teller)) + " calls " + calls + ", rank " +
                     std::to_string(job_rank(fault.member));
  if (fault.kind == Fault::Kind::left_without) {
    line += " has left that call and gave nothing: it named another root";
  } else {
    const std::string theirs = waiting_.describe(fault.theirs);
    line += " calls " + theirs;
    if (calls == theirs)
      line += "; their codes differ: " + std::to_string(fault.calls) + " and " +
              std::to_string(fault.theirs);
  }
  if (waiting_.overlook != nullptr) {
    waiting_.overlook(waiting_.self, std::move(line));
    return Code::ok;
  }
  control(me_).fault = fault;  // run() publishes it
  waiting_.explain(waiting_.self, std::move(line));
  return Code::other;
}

// Of several ranks that give up for one reason any may be heard first: all say the reason.
Code ShmTeam::broken_by(int member) {
  const Fault& fault = control(member).fault;
  if (fault.kind != Fault::Kind::other) return mismatch(fault);
  waiting_.explain(waiting_.self, "rank " + std::to_string(job_rank(member)) +
                                      " gave up on the collectives of this communicator");
  return Code::other;
}

Code ShmTeam::lost_member() {
  for (int member = 0; member < size_; ++member) {
    const auto rank = static_cast<std::uint32_t>(job_rank(member));
    // acquire: set by the daemon when the process has ended.
    if (segment_.rank(rank).gone.load(std::memory_order_acquire) != 0) return Code::proc_aborted;
  }
  for (int member = 0; member < size_; ++member)
    // acquire: pairs with run(), which has written why before.
    if (control(member).broken.load(std::memory_order_acquire) != 0) return broken_by(member);
  return Code::ok;
}

Code ShmTeam::wait_long(const void* self, bool (*ready)(const void* self)) {
  const int looks = waiting_.looks / kLooksPart;
  Code code = Code::ok;
  for (int round = 0;; ++round) {
    if (waiting_.progress(waiting_.self) > 0)
      waiting_.active(waiting_.self);
    else
      waiting_.idle(waiting_.self);
    bool is_ready = ready(self);
    for (int i = 0; i < looks && !is_ready; ++i) {
      relax();
      is_ready = ready(self);
    }
    if (is_ready) break;
    if (round % kRoundsBetweenDeaths != 0) continue;
    code = lost_member();
    // What a member said before it died still counts.
    if (code != Code::ok && !ready(self)) break;
    code = Code::ok;
  }
  waiting_.active(waiting_.self);
  return code;
}

}  // namespace tutti::delegate
