// Recorder: what `prun --stats` and `prun --trace` want to know of one rank. Off, it costs a call
// one comparison; on, two looks at the clock.
//
// Owner: the bindings, one per world; used by one thread at a time. Sends what it has through
// `send`, in parcels of at most kMostParcel bytes; the head (launcher/job) reads them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "wireup/segment.h"

namespace tutti::watch {

// One call in a timeline, as it travels; times are this host's steady clock.
struct Event {
  std::int64_t begin_ns, end_ns;
  std::uint64_t bytes, sequence;
  std::uint32_t function, context;
  std::int32_t peer, tag;
  std::uint32_t detailed, spare;
};
// A parcel of events begins with this, so that the clocks of hosts can be put together.
struct EventsHead {
  std::int64_t wall_minus_steady_ns;
};
// One function, as it travels.
struct Spent {
  std::uint64_t calls, total_ns, longest_ns, bytes;
  std::uint32_t function, spare;
};
inline constexpr std::size_t kMostParcel = 60 * 1024;

class Recorder {
 public:
  using Send = std::function<void(bool events, std::string_view parcel)>;
  Recorder(const wireup::WatchRecord& record, bool keeps_events, Send send);

  // A call that began then has ended. The record still says what it was about. Events go off after
  // a moment at the latest: a job that is ended from outside has most of its timeline.
  void end(std::uint32_t function, std::int64_t begin_ns);
  // Everything so far; then it starts afresh.
  void report();

 private:
  void send_events();

  const wireup::WatchRecord& record_;
  bool keeps_events_;
  Send send_;
  std::vector<Spent> spent_;  // by function
  std::vector<Event> events_;
  std::int64_t sent_ns_ = 0;
};

}  // namespace tutti::watch
