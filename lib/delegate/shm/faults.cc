// What is said of a call that ends badly.
#include "delegate/shm/faults.h"

#include <algorithm>
#include <utility>

#include "base/differing_calls.h"

namespace tutti::delegate {

std::string Faults::describe(const Fault& fault) const {
  const std::string teller = "rank " + std::to_string(area_.job_rank(fault.teller)),
                    member = "rank " + std::to_string(area_.job_rank(fault.member));
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

Code Faults::mismatch(const Fault& fault) {
  if (waiting_.overlook == nullptr) return give_up(fault);
  waiting_.overlook(waiting_.self, describe(fault));
  return Code::ok;
}

// Of several ranks that give up for one reason any may be heard first: all say the reason, and who
// has met it itself speaks for the job.
Code Faults::give_up(const Fault& fault) {
  area_.control(area_.me()).fault = fault;  // break_off() publishes it
  const bool is_ours = fault.teller == area_.me();
  give_up_because(describe(fault), is_ours ? FailureCause::mismatch : FailureCause::mismatch_there);
  return fault.kind == Fault::Kind::too_long ? Code::truncate : Code::other;
}

Code Faults::broken_by(int member) {
  const MemberCounters& theirs = area_.control(member);
  const Fault fault = theirs.fault;  // of a rank that may run wild
  const bool is_known = std::min(fault.teller, fault.member) >= 0 &&
                        std::max(fault.teller, fault.member) < area_.size();
  if (fault.kind != Fault::Kind::other && is_known) return give_up(fault);
  // relaxed: has_given_up() has seen it.
  const std::uint32_t said = theirs.broken.load(std::memory_order_relaxed);
  if (said == static_cast<std::uint32_t>(Code::proc_aborted)) return Code::proc_aborted;
  give_up_because("rank " + std::to_string(area_.job_rank(member)) +
                      " gave up on the collectives of this communicator",
                  FailureCause::failed_there);
  return Code::other;
}

void Faults::give_up_because(std::string why, FailureCause cause) {
  waiting_.explain(waiting_.self, why, cause);
  why_broken_ = {std::move(why), cause};
}

// No call goes on from here; the first reason is that of all, but this one has met no other call.
// Without words its code says it.
Code Faults::refuse() {
  const bool is_ours =
      why_broken_.cause == FailureCause::mismatch || why_broken_.cause == FailureCause::failure;
  if (!why_broken_.text.empty())
    waiting_.explain(waiting_.self, why_broken_.text + " in an earlier call",
                     is_ours ? FailureCause::failure : FailureCause::failed_there);
  return broken_;
}

// A member had no data for this call, so what the others received is worth nothing: an error.
Code Faults::end_without_data(int member) {
  waiting_.explain(waiting_.self,
                   member == area_.me()
                       ? "a GPU could not copy this rank's data; see the line above"
                       : "rank " + std::to_string(area_.job_rank(member)) +
                             " had no data for this call: it was refused there, its GPU "
                             "has failed, or its buffer lies in memory that cannot be "
                             "used",
                   member == area_.me() ? FailureCause::failure : FailureCause::failed_there);
  return Code::other;
}

void Faults::break_off(Code code) {
  broken_ = code;
  // release: pairs with has_given_up().
  area_.control(area_.me())
      .broken.store(static_cast<std::uint32_t>(code), std::memory_order_release);
  area_.wake_others();
}

}  // namespace tutti::delegate
