// The collective calls that a rank began last, kept where its daemon can read them, so that prun
// can compare those of ranks that exchange no message; and fingerprints: what members of a
// communicator must say alike, in 32 bits and in words.
//
// Owner: one rank writes its own RecentCalls in the job segment, with its gate held; the daemon
// only reads. No store that waits, nothing allocated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wireup/segment.h"

namespace tutti::watch {

// A fingerprint: collective + 1 in 4 bits (0: none), operation in 5 (0: none), root or the type of
// a reduction that has no root in 7, bytes in 16: below 1 KiB exactly; else about how many (to one
// in 16), and what neighbours of that number differ in (by 31). So longer ones are alike if they
// are nearly as long and differ by a multiple of 31 bytes.
struct Fingerprint {
  std::uint32_t collective = 0;  // tutti::Collective
  std::uint32_t op = 0;          // handle - MPI_OP_NULL, or kUserOp
  std::uint32_t root = 0;
  std::uint32_t element = 0;  // types::Element
  std::uint64_t bytes = 0;
};
inline constexpr std::uint32_t kUserOp = 31;
std::uint32_t pack_fingerprint(const Fingerprint& print);
// Neighbours need not say alike how much.
std::uint32_t neighbour_fingerprint(std::uint32_t collective);
// Of a collective that a function makes for itself, so that nobody takes it for a user's call: the
// purpose and all that the fingerprint says, but the type, and a root where there is an operation.
enum class Purpose : std::uint32_t { users, finalize, makes_comm, asks };
std::uint32_t mark_own(Purpose purpose, std::uint32_t fingerprint);
// "MPI_Bcast(root 0, 16 B)"
std::string describe_fingerprint(std::uint32_t fingerprint);

bool has_root(std::uint32_t collective);
const char* collective_name(std::uint32_t collective);  // "reduce_scatter"
const char* op_name(std::uint32_t op);                  // as Fingerprint::op: "MPI_SUM"

// CallRecord::flags
inline constexpr std::uint32_t kNonblocking = 1;
inline constexpr std::uint32_t kInter = 4;       // of an intercommunicator
inline constexpr std::uint32_t kSecondSide = 8;  // by a member of its second group
inline constexpr std::uint32_t kOnlyWarns = 16;  // TUTTI_MISMATCH=warn
// The same with what the record knows exactly, and the function that the user called.
std::string describe_call(const wireup::CallRecord& call);
// Of calls of the same number. `terms`: of one side of an intercommunicator.
bool is_same_call(const wireup::CallRecord& a, const wireup::CallRecord& b, bool terms = false);
// What makes two of them different that look alike in words: "roots 1 and 129".
std::string difference_between(const wireup::CallRecord& a, const wireup::CallRecord& b);

// A call is written where it is kept: `open_record` gives up the oldest one's place, `close_record`
// says that the new one is there.
inline wireup::CallRecord& open_record(wireup::RecentCalls::Kind& kind) {
  // relaxed: only this rank writes.
  const std::uint64_t begun = kind.begun.load(std::memory_order_relaxed);
  // release: who sees a word of what is written now sees that the slot was given up, too; its
  // partner is the acquire fence in recent_calls().
  std::atomic_thread_fence(std::memory_order_release);
  return kind.calls[begun % wireup::kRecentCalls];
}
inline void close_record(wireup::RecentCalls::Kind& kind) {
  // release: its partner is the acquire in recent_calls().
  kind.begun.store(kind.begun.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

// The daemon's view: calls that were not being overwritten while it looked.
std::vector<wireup::CallRecord> recent_calls(const wireup::RecentCalls& recent);
std::uint64_t calls_begun(const wireup::RecentCalls& recent);

}  // namespace tutti::watch
