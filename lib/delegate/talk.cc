// Saying and hearing in a team: entries, counters, faults.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/differing_calls.h"
#include "delegate/work.h"

namespace tutti::delegate {
namespace {

constexpr Count kLine = static_cast<Count>(kCacheLine);
// Of a round. Between distant cores to tell of a part takes as long as to copy 8 KiB (record 0071).
// Parts of 128 KiB were faster there, and slower where a cache is shared (record 0065).
constexpr Count kLeastPart = 8 << 10;
constexpr Count kMostPart = 64 << 10;

}  // namespace

std::uint32_t ShmTeam::local_of(int member) const {
  return static_cast<std::uint32_t>(locals_[static_cast<std::size_t>(member)]);
}

int ShmTeam::job_rank(int member) const {
  return segment_.rank_of(local_of(member));
}

Code ShmTeam::await_end(int member, std::uint64_t call) {
  std::uint64_t& past = past_by_[static_cast<std::size_t>(member)];
  if (past >= call) return Code::ok;
  const std::atomic<std::uint64_t>& done = control(member).done;
  if (const Code code = await(done, call); code != Code::ok) return code;
  // acquire: pairs with end_call; its reads of what is ours are over.
  past = done.load(std::memory_order_acquire);
  return Code::ok;
}

// Whoever has run ahead of the others by all entries waits until half of them are free: waiting for
// one at a time it would look at their `done` in each call, and take that line from them.
Code ShmTeam::claim_old_entry() {
  const std::uint64_t needed = number_ - kEntries / 2;
  std::uint64_t past = number_ - 1;
  for (int member = 0; member < size_; ++member) {
    if (member == me_) continue;
    if (const Code code = await_end(member, needed); code != Code::ok) return code;
    past = std::min(past, past_by_[static_cast<std::size_t>(member)]);
  }
  past_ = past;
  return Code::ok;
}

// Calls use the chunks in turn, as frames do a lane's ring and for the same reason: what is written
// has left the readers' caches (transport/shm/lane.h). So a giver may be calls ahead; only where
// they begin again, all calls before must be over.
Code ShmTeam::claim_chunks(Count bytes, int reader) {
  const auto wanted = static_cast<std::size_t>(bytes);
  const bool begins_again = chunks_from_ + chunks_used_ + wanted > geometry_.chunk_bytes;
  for (int member = 0; member < size_ && begins_again && past_ < last_chunked_; ++member) {
    if (member == me_) continue;
    if (const Code code = await_end(member, last_chunked_); code != Code::ok) return code;
  }
  last_chunked_ = number_;
  chunks_from_ = begins_again ? 0 : chunks_from_ + chunks_used_;
  chunks_used_ = wanted;
  is_new_ = false;
  reader_ = reader;
  return Code::ok;
}

void ShmTeam::wake_others() {
  for (const transport::Waker& other : others_) other.nudge();
}

// Looks at `done` of that member only when it was waited for in vain: else each wait would take
// that line from its writer, whose next word goes out behind the one that takes it back.
Code ShmTeam::hear_late(int member, std::uint32_t fingerprint) {
  const std::atomic<std::uint64_t>& flag = entry(member).flag;
  const auto wanted = static_cast<std::uint32_t>(number_);
  const std::atomic<std::uint64_t>& done = control(member).done;
  const bool has_waited = awaited_.word == &flag && awaited_.least == number_;
  // acquire: pairs with end_call(). A member that is through with this call gives nothing more.
  const bool is_through = has_waited && done.load(std::memory_order_acquire) >= number_;
  const std::uint64_t seen = flag.load(std::memory_order_acquire);  // pairs with publish()
  if (static_cast<std::uint32_t>(seen) != wanted) {
    // Only a root's word is heard: a member that takes another for the root gives nothing.
    if (is_through) return mismatch({Fault::Kind::left_without, me_, member, fingerprint, 0});
    awaited_ = {&flag, number_, &done};
    return look_closely() ? hear(member, fingerprint) : kNotYet;
  }
  const auto theirs = static_cast<std::uint32_t>(seen >> 32);
  if (theirs == fingerprint || fingerprint == kHasNothing) return Code::ok;
  if (theirs == kHasNothing) {
    without_data_ = member;
    return Code::ok;
  }
  return mismatch({Fault::Kind::different_calls, me_, member, fingerprint, theirs});
}

Code ShmTeam::await(const std::atomic<std::uint64_t>& counter, std::uint64_t least) {
  awaited_ = {&counter, least, nullptr};
  if (has_copied_much()) [[unlikely]]
    return kNotYet;
  return awaited_.is_there() || look_closely() ? Code::ok : kNotYet;
}

Code ShmTeam::pause() {
  awaited_ = {&control(me_).done, 0, nullptr};  // nothing
  return kNotYet;
}

void ShmTeam::tell(std::atomic<std::uint64_t>& counter, Count rounds) {
  // release: pairs with the acquire in await().
  counter.store(rounds_ + static_cast<std::uint64_t>(rounds), std::memory_order_release);
  wake_others();
}

// Who only takes can do so while others give, in quarters at least. Where all do both there is
// nothing to gain by that, and each part costs a wait.
ShmTeam::Rounds ShmTeam::rounds_of(Count bytes, Count pieces, const Kept& kept,
                                   bool one_way) const {
  const Count whole = (bytes + kLine - 1) / kLine * kLine;
  const Count quarter = (bytes / 4 + kLine - 1) / kLine * kLine;
  const Count all = static_cast<Count>(geometry_.chunk_bytes) / pieces;
  const Count wanted = std::clamp(one_way ? quarter : whole, kLeastPart, kMostPart);
  const Count part =
      std::min({wanted, whole, all / static_cast<Count>(kept.least) / kLine * kLine});
  return {part, (bytes + part - 1) / part, std::min(all / part, static_cast<Count>(kept.most))};
}

void ShmTeam::begin_round(Count round, Count depth, Count part) {
  part_ = static_cast<std::size_t>(part);
  way_ = {};
  // Ranks that share a core share its cache, which serves best. Pages that are new say nothing of
  // the stores.
  const bool is_new = touch(round, depth);
  is_new_ = is_new_ || is_new;
  if (!is_oversubscribed_ && !is_new && part_ >= kLeastPaced)
    way_ = pace_.way_for(part_, control(reader_).paces);
}

// What was begun is there. How it was written stands in the line that says so: written before, that
// line would be taken from who looks at it twice.
void ShmTeam::tell_filled(Count round, bool has_data) {
  const std::uint64_t way = has_data ? way_.told() : kNoData;
  Filled& mine = filled(me_);
  // relaxed: `rounds` tells of it, and only this rank writes it.
  const std::uint64_t others =
      mine.told.load(std::memory_order_relaxed) & ~(std::uint64_t{kNoData} << told_at(round));
  mine.told.store(others | way << told_at(round), std::memory_order_relaxed);
  tell(mine.rounds, round + 1);
}

// Whether a round goes to pages of our chunks that we never wrote to.
bool ShmTeam::touch(Count round, Count depth) {
  constexpr std::size_t kPage = 4096;
  if (round >= depth) return false;
  touched_.resize(geometry_.chunk_bytes / kPage + 1);
  const std::size_t bytes = chunks_used_ / static_cast<std::size_t>(depth);
  const std::size_t from = chunks_from_ + static_cast<std::size_t>(round) * bytes;
  bool is_new = false;
  for (std::size_t page = from / kPage; page * kPage < from + bytes; ++page) {
    is_new = is_new || !touched_[page];
    touched_[page] = true;
  }
  return is_new;
}

void ShmTeam::put(std::byte* to, const std::byte* from, Count bytes) {
  copied_ += static_cast<std::size_t>(bytes);
  pace_.copy(way_, to, from, static_cast<std::size_t>(bytes), part_);
}

void ShmTeam::end_call() {
  // release: our reads of others' entries and chunks end before they see it (claim_*).
  control(me_).done.store(number_, std::memory_order_release);
  wake_others();
}

std::string ShmTeam::describe(const Fault& fault) const {
  const std::string teller = "rank " + std::to_string(job_rank(fault.teller)),
                    member = "rank " + std::to_string(job_rank(fault.member));
  if (fault.kind == Fault::Kind::too_long)
    return member + " gives " + std::to_string(fault.bytes) + " bytes to " + teller +
           ", which has room for " + std::to_string(fault.room);
  const bool has_left = fault.kind == Fault::Kind::left_without;
  const std::string calls = waiting_.describe(fault.calls);
  const std::string theirs = has_left ? calls : waiting_.describe(fault.theirs);
  std::string line = differ_in(calls, theirs) + teller + " calls " + calls + ", " + member;
  if (has_left) return line + " has left that call and gave nothing: it named another root";
  line += " calls " + theirs;
  if (calls == theirs)
    line += "; their codes differ: " + std::to_string(fault.calls) + " and " +
            std::to_string(fault.theirs);
  return line;
}

Code ShmTeam::mismatch(const Fault& fault) {
  if (waiting_.overlook == nullptr) return give_up(fault);
  waiting_.overlook(waiting_.self, describe(fault));
  return Code::ok;
}

// Of several ranks that give up for one reason any may be heard first: all say the reason, and who
// has met it itself speaks for the job.
Code ShmTeam::give_up(const Fault& fault) {
  control(me_).fault = fault;  // break_off() publishes it
  const bool is_ours = fault.teller == me_;
  give_up_because(describe(fault), is_ours ? FailureCause::mismatch : FailureCause::mismatch_there);
  return fault.kind == Fault::Kind::too_long ? Code::truncate : Code::other;
}

Code ShmTeam::broken_by(int member) {
  const MemberCounters& theirs = control(member);
  const Fault fault = theirs.fault;  // of a rank that may run wild
  const bool is_known =
      std::min(fault.teller, fault.member) >= 0 && std::max(fault.teller, fault.member) < size_;
  if (fault.kind != Fault::Kind::other && is_known) return give_up(fault);
  // relaxed: has_given_up() has seen it.
  const std::uint32_t said = theirs.broken.load(std::memory_order_relaxed);
  if (said == static_cast<std::uint32_t>(Code::proc_aborted)) return Code::proc_aborted;
  give_up_because("rank " + std::to_string(job_rank(member)) +
                      " gave up on the collectives of this communicator",
                  FailureCause::failed_there);
  return Code::other;
}

void ShmTeam::give_up_because(std::string why, FailureCause cause) {
  waiting_.explain(waiting_.self, why, cause);
  why_broken_ = {std::move(why), cause};
}

// No call goes on from here; the first reason is that of all, but this one has met no other call.
// Without words its code says it.
Code ShmTeam::refuse() {
  const bool is_ours =
      why_broken_.cause == FailureCause::mismatch || why_broken_.cause == FailureCause::failure;
  if (!why_broken_.text.empty())
    waiting_.explain(waiting_.self, why_broken_.text + " in an earlier call",
                     is_ours ? FailureCause::failure : FailureCause::failed_there);
  return broken_;
}

// A member had no data for this call, so what the others received is worth nothing: an error.
Code ShmTeam::end_without_data() {
  const int member = std::exchange(without_data_, -1);
  waiting_.explain(waiting_.self,
                   member == me_ ? "a GPU could not copy this rank's data; see the line above"
                                 : "rank " + std::to_string(job_rank(member)) +
                                       " had no data for this call: it was refused there, its GPU "
                                       "has failed, or its buffer lies in memory that cannot be "
                                       "used",
                   member == me_ ? FailureCause::failure : FailureCause::failed_there);
  return Code::other;
}

bool ShmTeam::is_gone(int member) const {
  const auto rank = static_cast<std::uint32_t>(job_rank(member));
  // acquire: set by the daemon when the process has ended.
  return segment_.rank(rank).gone.load(std::memory_order_acquire) != 0;
}

// What a member said before it died, or gave up, still counts.
void ShmTeam::look_for_losses() {
  int gone = 0, broken = 0;
  while (gone < size_ && !is_gone(gone)) ++gone;
  while (broken < size_ && !has_given_up(broken)) ++broken;
  if ((gone == size_ && broken == size_) || awaited_.is_there()) return;
  break_off(gone < size_ ? Code::proc_aborted : broken_by(broken));
}

void ShmTeam::break_off(Code code) {
  broken_ = code;
  // release: pairs with has_given_up().
  control(me_).broken.store(static_cast<std::uint32_t>(code), std::memory_order_release);
  wake_others();
}

}  // namespace tutti::delegate
