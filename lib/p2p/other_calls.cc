// Calls that differ, in words.
#include "p2p/other_calls.h"

#include <new>
#include <utility>

#include "base/differing_calls.h"
#include "base/log.h"
#include "base/text.h"

namespace tutti::p2p {
namespace {

std::string number_of_call(const Transfer& transfer) {
  return " (call number " + std::to_string(transfer.tag & 0x3fffffff) + " of this communicator)";
}

}  // namespace

void OtherCalls::meet(Transfer& transfer, std::uint32_t theirs, GaveUp gave_up) {
  const bool is_failure = gave_up != GaveUp::no;
  if (transfer.fingerprint == 0) {
    if (is_failure) transfer.status.code = Code::other;
    return;
  }
  const std::string& wish = knobs_.text("TUTTI_MISMATCH");
  if (!is_failure && wish == "off") return;
  if (!is_failure && wish == "warn" && std::exchange(has_warned_, true)) return;
  transfer.other_call = theirs;
  transfer.gave_up = gave_up;
  if (!is_failure && wish == "warn") try {
      return log::warn(describe_mismatch(transfer) + " (TUTTI_MISMATCH=warn: the job goes on)");
    } catch (const std::bad_alloc&) {  // the message is here, told or not
      return;
    }
  transfer.status.bytes = 0;
  transfer.status.code = gave_up == GaveUp::lost_peer ? Code::proc_aborted : Code::other;
}

std::string OtherCalls::describe(std::uint32_t fingerprint) const {
  return text_ ? text_(fingerprint) : "call " + std::to_string(fingerprint);
}

std::string OtherCalls::describe_mismatch(const Transfer& transfer) const {
  const std::uint32_t ours = transfer.fingerprint, theirs = transfer.other_call;
  const std::string here = describe(ours), there = describe(theirs);
  std::string text = differ_in(here, there) + "rank " + std::to_string(wireup_.rank()) + " calls " +
                     here + ", rank " + std::to_string(transfer.peer) + " calls " + there +
                     number_of_call(transfer);
  if (here == there)
    text += "; their codes differ: " + std::to_string(ours) + " and " + std::to_string(theirs);
  return text;
}

// The sender did not come to this message of its call, and knows why. That its call is another one
// than ours, it may not know.
MessageFailure OtherCalls::sender_failure(const Transfer& transfer) const {
  const bool has_met = transfer.gave_up == GaveUp::differs;
  const std::string rank = "rank " + std::to_string(transfer.peer);
  const std::string& wish = knobs_.text("TUTTI_MISMATCH");
  const bool may_differ = wish == "off" || wish == "warn";
  if (transfer.other_call != transfer.fingerprint && !may_differ)
    return {describe_mismatch(transfer) + ", which it gave up", true, has_met};
  const std::string call = describe(transfer.other_call) + number_of_call(transfer);
  return {has_met ? "ranks call different collectives, or give one different arguments: " + rank +
                        " has found that, and gave up " + call
                  : rank + " gave up " + call,
          has_met, true};
}

MessageFailure OtherCalls::failure_of(const Transfer& transfer) const {
  if (transfer.fingerprint == 0) return {};
  if (transfer.status.code == Code::other && transfer.other_call != 0)
    return transfer.gave_up != GaveUp::no
               ? sender_failure(transfer)
               : MessageFailure{describe_mismatch(transfer), true, false};
  if (transfer.status.code != Code::truncate) return {};
  return {"rank " + std::to_string(transfer.peer) + " gives " + std::to_string(transfer.came) +
              " bytes to rank " + std::to_string(wireup_.rank()) + ", which has room for " +
              std::to_string(transfer.buffer.bytes),
          true, false};
}

std::string describe_failure(const Status& status) {
  if (status.code != Code::truncate || status.source < 0) return {};
  return "the message of rank " + std::to_string(status.source) + ", tag " +
         std::to_string(status.tag) + ", is longer than the receive buffer of " +
         text::format_bytes(static_cast<std::uint64_t>(status.bytes));
}

}  // namespace tutti::p2p
