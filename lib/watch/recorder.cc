// Keeping and sending what calls took.
#include "watch/recorder.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/clock.h"

namespace tutti::watch {
namespace {

constexpr std::size_t kMostEvents = (kMostParcel - sizeof(EventsHead)) / sizeof(Event);

constexpr std::int64_t kLongest_ns = 200'000'000;  // between two parcels of events, while calls end

template <class T>
void append(std::string& parcel, const T& value) {
  parcel.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::int64_t wall_minus_steady() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(wall).count() - now_ns();
}

}  // namespace

Recorder::Recorder(const wireup::WatchRecord& record, bool keeps_events, Send send)
    : record_(record), keeps_events_(keeps_events), send_(std::move(send)) {
  if (keeps_events_) events_.reserve(kMostEvents);
}

void Recorder::end(std::uint32_t function, std::int64_t begin_ns) {
  const std::int64_t now = now_ns();
  // relaxed: written by this rank alone.
  const bool detailed = record_.detailed == record_.calls.load(std::memory_order_relaxed);
  if (function >= spent_.size()) spent_.resize(function + 1);
  Spent& spent = spent_[function];
  const auto took = static_cast<std::uint64_t>(now - begin_ns);
  ++spent.calls;
  spent.total_ns += took;
  spent.longest_ns = std::max(spent.longest_ns, took);
  if (detailed) spent.bytes += record_.bytes;
  if (!keeps_events_) return;
  Event event{begin_ns, now, 0, 0, function, 0, 0, 0, detailed ? 1U : 0U, 0};
  if (detailed) {
    event.bytes = record_.bytes;
    event.sequence = record_.sequence;
    event.context = record_.context;
    event.peer = record_.peer;
    event.tag = record_.tag;
  }
  events_.push_back(event);
  if (events_.size() >= kMostEvents || now - sent_ns_ > kLongest_ns) send_events();
}

void Recorder::send_events() {
  if (events_.empty()) return;
  sent_ns_ = now_ns();
  std::string parcel;
  append(parcel, EventsHead{wall_minus_steady()});
  parcel.append(reinterpret_cast<const char*>(events_.data()), events_.size() * sizeof(Event));
  events_.clear();
  send_(true, parcel);
}

void Recorder::report() {
  std::string parcel;
  for (std::uint32_t i = 0; i < spent_.size(); ++i) {
    if (spent_[i].calls == 0) continue;
    spent_[i].function = i;
    append(parcel, spent_[i]);
    if (parcel.size() + sizeof(Spent) <= kMostParcel) continue;
    send_(false, parcel);
    parcel.clear();
  }
  if (!parcel.empty()) send_(false, parcel);
  spent_.clear();
  send_events();
}

}  // namespace tutti::watch
