// Payloads that lie in the ring; long ones are copied out while they are copied in.
#include "transport/shm/lane.h"

#include "base/clock.h"

namespace tutti::transport::shm {

bool Writer::write_to_ring(const FrameHeader& header, const std::byte* payload, std::size_t bytes) {
  LaneLine& line = *next_;
  std::byte* const to = allot(line, static_cast<std::uint32_t>(bytes));
  if (to == nullptr) return starve();
  const Pace::Way way = way_for(line, bytes);
  const std::size_t most = part_of(bytes);
  for (std::size_t at = 0; at < bytes; at += most) {
    const std::size_t part = std::min(most, bytes - at);
    pace_.copy(way, to + at, payload + at, part, bytes);
    // release: pairs with the acquire in take_part.
    line.ring.shown.store(static_cast<std::uint32_t>(at + part), std::memory_order_release);
    if (at == 0) publish(line, header, bytes);
  }
  return true;
}

// Room in the ring for the payload of that line. Null: full.
std::byte* Writer::allot(LaneLine& line, std::uint32_t bytes) {
  const std::uint32_t units = (bytes + kUnit - 1) / kUnit;
  // A payload is contiguous: one that does not fit before the end starts at the beginning.
  const bool wraps = ring_at_ + units > geometry_.units;
  const std::uint32_t skipped = wraps ? geometry_.units - ring_at_ : 0;
  const std::uint32_t end = units_written_ + skipped + units;
  if (end - units_read_ > geometry_.units) {
    refresh();
    if (end - units_read_ > geometry_.units) return nullptr;
  }
  if (wraps) ring_at_ = 0;
  std::byte* const to = ring_ + std::size_t{ring_at_} * kUnit;
  line.ring.at = ring_at_;
  line.ring.end = end;
  ring_at_ += units;
  units_written_ = end;
  return to;
}

Pace::Way Writer::way_for(LaneLine& line, std::size_t bytes) {
  Pace::Way way;
  // The first time round each page of the ring is new, which says nothing of the stores.
  const bool is_judged = bytes >= kLeastPaced && units_written_ > geometry_.units;
  if (is_judged) way = pace_.way_for(bytes, counters_->paces);
  line.ring.timed = way.told();
  return way;
}

// A rank that runs wild may write anything there, at any time.
Reader::Got Reader::deliver_from_ring(Sink& sink, LaneLine& line, std::uint32_t bytes) {
  std::size_t at = line.ring.at;
  if (is_under_way_) {
    bytes = length_;
    at = at_;
  } else if (bytes > geometry_.max_frame() || at + (bytes + kUnit - 1) / kUnit > geometry_.units) {
    give_up();
    return Got::unbelieved;
  }
  std::byte* payload = reinterpret_cast<std::byte*>(end_) + at * kUnit;
  const std::uint32_t timed = line.ring.timed;  // the line is the writer's after hand_over
  bool is_timed = timed < kStoreKinds && bytes >= kLeastPaced;
  if (bytes > kLeastPart) {
    at_ = at;
    length_ = bytes;
    if (const Got got = take_part(sink, line, payload, bytes); got != Got::frame) return got;
    is_under_way_ = false;
    if (into_ != nullptr) {
      payload = into_;
      is_timed = false;
    }
  }
  units_read_ = line.ring.end;
  const std::int64_t began = is_timed ? now_ns() : 0;
  const Got got = hand_over(sink, line, {payload, bytes});
  if (is_timed) counters_->paces.took(bytes, bytes, timed, now_ns() - began);
  return got;
}

// Copies what is there of a long frame to where the sink wants it. A sink that wants it nowhere
// gets it from the ring, when all is there.
Reader::Got Reader::take_part(Sink& sink, LaneLine& line, const std::byte* payload,
                              std::uint32_t bytes) {
  // acquire: pairs with the release in write_to_ring.
  const std::uint32_t shown = std::min(line.ring.shown.load(std::memory_order_acquire), bytes);
  if (!is_under_way_) {
    is_under_way_ = true;
    taken_ = 0;
    into_ = sink.place(from_, line.header, bytes);
  }
  if (into_ == nullptr) return shown == bytes ? Got::frame : Got::nothing;
  if (shown <= taken_) return Got::nothing;
  const std::uint32_t timed = line.ring.timed;
  const bool is_timed = timed < kStoreKinds;
  const std::int64_t began = is_timed ? now_ns() : 0;
  std::memcpy(into_ + taken_, payload + taken_, shown - taken_);
  if (is_timed) counters_->paces.took(bytes, shown - taken_, timed, now_ns() - began);
  taken_ = shown;
  return shown == bytes ? Got::frame : Got::part;
}

}  // namespace tutti::transport::shm
