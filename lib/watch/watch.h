// watch: what a rank is in, kept where its daemon can read it.
//
// Owner: each rank writes its own WatchRecord in the job segment; the daemon only reads. Two
// or three stores a call, no read-modify-write, no clock: the daemon sees by `calls` and
// `function` whether anything moved between two looks, and does the timing itself.
//
//   watch::Scope scope(record, kFunctionSend);          // in a binding
//   watch::detail(record, {.context = c, .peer = 3, ...});   // by calls that may wait
#pragma once

#include <cstdint>

#include "wireup/segment.h"

namespace tutti::watch {

// A call that was over before anything could be said of it.
inline void tick(wireup::WatchRecord& record) {
  // Relaxed, like all below: the daemon samples, and a sample from between two stores is as
  // good as one a moment earlier. Only this rank writes, so load and store make no race.
  record.calls.store(record.calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// function_index: index in the interface table. Calls do not nest: the outermost counts.
inline void enter(wireup::WatchRecord& record, std::uint32_t function_index) {
  tick(record);
  record.function.store(function_index + 1, std::memory_order_relaxed);
}

inline void leave(wireup::WatchRecord& record) {
  record.function.store(0, std::memory_order_relaxed);
}

// In a call from construction to destruction.
class Scope {
 public:
  Scope(wireup::WatchRecord& record, std::uint32_t function_index) : record_(record) {
    enter(record_, function_index);
  }
  ~Scope() { leave(record_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  wireup::WatchRecord& record_;
};

inline constexpr std::int32_t kAnyPeer = -1;
inline constexpr std::int32_t kNoPeer = -2;  // a collective without root

// What a call that may wait is about. Plain fields: the daemon reads them for a report only,
// after `calls` stood still, when nothing writes them any more.
struct Detail {
  std::uint32_t context = 0;
  std::int32_t peer = kNoPeer;  // rank in the job; of a collective: its root
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sequence = 0;
};

inline void detail(wireup::WatchRecord& record, const Detail& what) {
  record.context = what.context;
  record.peer = what.peer;
  record.tag = what.tag;
  record.bytes = what.bytes;
  record.sequence = what.sequence;
  record.detailed = record.calls.load(std::memory_order_relaxed);
}

// The function of this index ("MPI_Send"), or "?"; a number as `function` holds it, less one.
const char* function_name(std::uint32_t index);

}  // namespace tutti::watch
