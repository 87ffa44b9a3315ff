// Payloads that lie in the ring; long ones are copied out while they are copied in.
#include "transport/shm/lane.h"

#include "base/backoff.h"
#include "base/clock.h"

namespace tutti::transport::shm {
namespace {

// Looks at a claim before it is void: more than reading the longest frame takes.
constexpr int kPatience = 400;

}  // namespace

bool Writer::write_to_ring(const FrameHeader& header, const std::byte* payload, std::size_t bytes) {
  LaneLine& line = *next_;
  std::byte* const to = allot(line, static_cast<std::uint32_t>(bytes));
  if (to == nullptr) return starve();
  const Pace::Way way = way_for(line, bytes);
  const bool may_be_claimed =
      (counters_->wanted.load(std::memory_order_relaxed) & claim_bit(bytes)) != 0;
  if (may_be_claimed) {
    line.ring.source = reinterpret_cast<std::uint64_t>(payload);
    line.ring.shown.store(0, std::memory_order_relaxed);  // publish() tells of it
    publish(line, header, bytes);
  }
  const std::size_t most = part_of(bytes);
  for (std::size_t at = 0; at < bytes; at += most) {
    const std::size_t part = std::min(most, bytes - at);
    pace_.copy(way, to + at, payload + at, part, bytes);
    if (at == 0 && may_be_claimed) {
      if (is_taken(line, static_cast<std::uint32_t>(part))) return true;
      continue;
    }
    // release: pairs with the acquire in take_part.
    line.ring.shown.store(static_cast<std::uint32_t>(at + part), std::memory_order_release);
    if (at == 0) publish(line, header, bytes);
  }
  return true;
}

// The first part of a frame that may be claimed is in the ring. True: the reader has the frame from
// our memory. Else its first part is shown.
bool Writer::is_taken(LaneLine& line, std::uint32_t part) {
  std::atomic<std::uint32_t>& shown = line.ring.shown;
  // relaxed: the exchange below is what counts.
  for (int look = 0; look < kPatience && shown.load(std::memory_order_relaxed) == kClaimed; ++look)
    relax();
  // release: pairs with the acquire in take_part. acquire: with the release in Claims::take.
  return shown.exchange(part, std::memory_order_acq_rel) == kTaken;
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
  if (!is_under_way_) begin(sink, line, bytes, shown);
  if (into_ == nullptr) return shown == bytes ? Got::frame : Got::nothing;
  if (is_claimed_) return Got::frame;
  if (shown <= taken_) return Got::nothing;
  const std::uint32_t timed = line.ring.timed;
  const bool is_timed = timed < kStoreKinds;
  const std::int64_t began = is_timed ? now_ns() : 0;
  std::memcpy(into_ + taken_, payload + taken_, shown - taken_);
  if (is_timed) counters_->paces.took(bytes, shown - taken_, timed, now_ns() - began);
  taken_ = shown;
  if (shown < bytes) return Got::part;
  end_judged();
  return Got::frame;
}

// A long frame is seen for the first time.
void Reader::begin(Sink& sink, LaneLine& line, std::uint32_t bytes, std::uint32_t shown) {
  is_under_way_ = true;
  taken_ = 0;
  is_claimed_ = false;
  into_ = sink.place(from_, line.header, bytes);
  // One that is there says nothing of how long it took.
  const bool is_judged = into_ != nullptr && shown < bytes && claims_.is_judging(bytes);
  began_ns_ = is_judged ? now_ns() : 0;
  shown_at_first_ = shown;
  if (into_ == nullptr || shown > 0 || !claims_.wants(bytes)) return;
  is_claimed_ = claims_.take(line.ring.shown, line.ring.source, into_, bytes);
  if (is_claimed_) return end_judged();
  began_ns_ = 0;
  say_wanted();
}

void Reader::end_judged() {
  if (began_ns_ == 0) return;
  claims_.took(is_claimed_, length_, length_ - shown_at_first_, now_ns() - began_ns_);
  began_ns_ = 0;
  say_wanted();
}

}  // namespace tutti::transport::shm
