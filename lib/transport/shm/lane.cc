// Payloads of more than one line; long ones are copied out while they are copied in.
#include "transport/shm/lane.h"

#include "base/clock.h"
#include "base/register_copy.h"

namespace tutti::transport::shm {
namespace {

// What fits in fewer lines is as quick there; a cell costs a line more.
constexpr std::size_t kLeastInCell = kInlineBytes + 2 * kCacheLine + 1;

}  // namespace

bool Writer::write_longer(const FrameView& frame) {
  const std::size_t bytes = frame.bytes;
  LaneLine& line = *next_;
  if (bytes >= kLeastInCell && bytes <= geometry_.cell_bytes && !frame.is_piece &&
      cells_ != nullptr && cells_->has_any()) {
    write_beside(*frame.header, {frame.payload, bytes}, pass_cell(), {});
    return true;
  }
  const std::uint32_t lines = lines_of(static_cast<std::uint32_t>(bytes));
  if (bytes <= kMostInLines && end_ - next_ >= lines && has_lines(lines)) {
    std::memcpy(line.inlined, frame.payload, bytes);
    std::memset(&has_payload_[static_cast<std::size_t>(next_ - begin_) + 1], 1, lines - 1);
    publish(line, *frame.header, bytes, lines);
    return true;
  }
  const std::optional<Place> place = allot(static_cast<std::uint32_t>(bytes));
  if (!place) return starve();
  write_beside(*frame.header, {frame.payload, bytes}, *place, way_for(bytes));
  return true;
}

// A payload of the next line goes there. The line is written behind the first part, in one go: its
// reader looks at it all the time, and takes it away.
void Writer::write_beside(const FrameHeader& header, std::span<const std::byte> payload,
                          const Place& place, Pace::Way way) {
  LaneLine& line = *next_;
  std::byte* const to = place.payload;
  const std::size_t bytes = payload.size(), most = part_of(bytes);
  for (std::size_t at = 0; at < bytes; at += most) {
    const std::size_t part = std::min(most, bytes - at);
    pace_.copy(way, to + at, payload.data() + at, part, bytes);
    if (at == 0) {
      line.ring.at = place.at;
      line.ring.end = units_written_;
      line.ring.stores = way.stores;
      line.ring.timed = way.told();
    }
    // release: pairs with the acquire in take_part.
    line.ring.shown.store(static_cast<std::uint32_t>(at + part), std::memory_order_release);
    if (at == 0) publish(line, header, kBeside | bytes, 1);
  }
}

// Room in the ring for a payload. None: full.
std::optional<Writer::Place> Writer::allot(std::uint32_t bytes) {
  const std::uint32_t units = (bytes + kUnit - 1) / kUnit;
  // A payload is contiguous: one that does not fit before the end starts at the beginning.
  const bool wraps = ring_at_ + units > geometry_.units;
  const std::uint32_t skipped = wraps ? geometry_.units - ring_at_ : 0;
  const std::uint32_t end = units_written_ + skipped + units;
  if (end - units_read_ > geometry_.units) {
    refresh();
    if (end - units_read_ > geometry_.units) return std::nullopt;
  }
  if (wraps) ring_at_ = 0;
  const Place place{ring_ + std::size_t{ring_at_} * kUnit, ring_at_};
  ring_at_ += units;
  units_written_ = end;
  return place;
}

// The cell that came last, which lies in our caches: ordinary stores are best.
Writer::Place Writer::pass_cell() {
  const std::uint32_t cell = cells_->pass_on();
  return {cells_->at(cell), kInCell | cell};
}

Pace::Way Writer::way_for(std::size_t bytes) {
  // The first time round each page of the ring is new, which says nothing of the stores.
  const bool is_judged = bytes >= kLeastPaced && units_written_ > geometry_.units;
  return is_judged ? pace_.way_for(bytes, counters_->paces) : Pace::Way{};
}

Reader::Got Reader::deliver_longer(Sink& sink, LaneLine& line, std::uint32_t control) {
  const std::uint32_t bytes = control & ~kBeside;
  if ((control & kBeside) != 0) {
    if (is_under_way_ || bytes > plain_bytes_) return deliver_long(sink, line, bytes);
    const std::uint32_t at = line.ring.at;
    return at < kInCell ? deliver_from_ring(sink, line, at, bytes)
                        : deliver_from_cell(sink, line, at, bytes);
  }
  const std::uint32_t lines = lines_of(bytes);
  if (is_under_way_ || lines > static_cast<std::size_t>(end_ - next_)) return disbelieve();
  return hand_over(sink, line, {line.inlined, bytes}, lines);
}

Reader::Got Reader::deliver_from_ring(Sink& sink, LaneLine& line, std::uint32_t at,
                                      std::uint32_t bytes) {
  if (!lies_in_ring(at, bytes)) return disbelieve();
  const std::uint32_t timed = line.ring.timed;  // the line is the writer's after hand_over
  const bool is_timed = timed < kStoreKinds && bytes >= kLeastPaced;
  units_read_ = line.ring.end;
  const std::int64_t began = is_timed ? now_ns() : 0;
  const Got got = hand_over(sink, line, {ring_at(at), bytes}, 1);
  if (is_timed) counters_->paces.took(bytes, bytes, timed, now_ns() - began);
  return got;
}

Reader::Got Reader::deliver_from_cell(Sink& sink, LaneLine& line, std::uint32_t at,
                                      std::uint32_t bytes) {
  if (!find_payload(at, bytes)) return disbelieve();
  const Got got = hand_over(sink, line, {at_, bytes}, 1);
  if (got == Got::frame) cells_->came(cell_);
  return got;
}

// A long frame; or any that lies beside, while one before it is lent.
Reader::Got Reader::deliver_long(Sink& sink, LaneLine& line, std::uint32_t bytes) {
  if (!is_under_way_) {
    if (!find_payload(line.ring.at, bytes)) return disbelieve();
    begin_long(sink, line);
  }
  if (const Got got = take_part(line); got != Got::frame) return got;
  const std::uint32_t timed = line.ring.timed;
  const bool is_timed =
      timed < kStoreKinds && length_ >= kLeastPaced && into_ == nullptr && !is_to_be_lent_;
  const std::int64_t began = is_timed ? now_ns() : 0;
  const Got got = hand_over_long(sink, line, {into_ != nullptr ? into_ : at_, length_});
  if (is_timed) counters_->paces.took(length_, length_, timed, now_ns() - began);
  return got;
}

// False: it lies nowhere.
bool Reader::find_payload(std::uint32_t at, std::uint32_t bytes) {
  is_in_cell_ = at >= kInCell;
  is_cell_lent_ = false;
  cell_ = at & ~kInCell;
  length_ = bytes;
  if (!is_in_cell_) {
    if (!lies_in_ring(at, bytes)) return false;
    at_ = ring_at(at);
    return true;
  }
  if (cells_ == nullptr || cell_ >= Cells::kCells || cells_->has(cell_)) return false;
  at_ = cells_->at(cell_);
  return bytes <= geometry_.cell_bytes;
}

void Reader::begin_long(Sink& sink, const LaneLine& line) {
  is_under_way_ = true;
  plain_bytes_ = 0;
  taken_ = 0;
  into_ = nullptr;
  const bool is_long = length_ > kLeastPart;
  is_to_be_lent_ = is_long && can_lend(line) && sink.wants_loan(from_, line.header, length_);
  if (is_long && !is_to_be_lent_) into_ = sink.place(from_, line.header, length_);
}

// Copies what is there of a long frame to where the sink wants it. A sink that wants it nowhere
// gets it from the ring, when all is there. In the ring a writer may be frames ahead: what it
// writes there by `rep movsb` is copied by registers (record 0067). It has two cells at most.
Reader::Got Reader::take_part(const LaneLine& line) {
  // acquire: pairs with the release in write_beside.
  const std::uint32_t shown = std::min(line.ring.shown.load(std::memory_order_acquire), length_);
  if (into_ == nullptr) return shown == length_ ? Got::frame : Got::nothing;
  if (taken_ == length_) return Got::frame;  // the sink had no memory for it
  if (shown <= taken_) return Got::nothing;
  const std::uint32_t timed = line.ring.timed;
  const bool is_timed = timed < kStoreKinds;
  const std::int64_t began = is_timed ? now_ns() : 0;
  if (is_in_cell_ || line.ring.stores == Stores::streaming)
    std::memcpy(into_ + taken_, at_ + taken_, shown - taken_);
  else
    register_copy(into_ + taken_, at_ + taken_, shown - taken_);
  if (is_timed) counters_->paces.took(length_, shown - taken_, timed, now_ns() - began);
  taken_ = shown;
  return shown == length_ ? Got::frame : Got::part;
}

// What the sink does may end loans: until it returns, nothing of this frame is given back.
Reader::Got Reader::hand_over_long(Sink& sink, LaneLine& line, std::span<std::byte> payload) {
  const std::uint32_t end = line.ring.end;
  if (!has_lent()) units_passed_ = units_read_;
  const bool is_believed = is_to_be_lent_ ? sink.on_lent(from_, line.header, payload, lend())
                                          : sink.on_frame(from_, line.header, payload);
  if (!is_believed) return disbelieve();
  pass_lines(1);
  is_under_way_ = false;
  if (is_in_cell_ && !is_cell_lent_) cells_->came(cell_);
  units_passed_ = end;
  follow_loans();
  give_room();
  return Got::frame;
}

// What is lent, and what has come since the oldest of it, fits in half of the ring: the writer goes
// on in the other half.
bool Reader::can_lend(const LaneLine& line) const {
  return lender_ != nullptr &&
         (is_in_cell_ || (line.ring.end - units_read_ <= geometry_.units / 2 &&
                          (lent_ == nullptr || !lent_->is_full())));
}

Loan Reader::lend() {
  const std::uint64_t from = std::uint64_t{static_cast<std::uint32_t>(from_)} << 32;
  is_cell_lent_ = is_in_cell_;
  if (is_in_cell_) return {*lender_, from | kInCell | cell_};
  // Shorter ones are not lent. A rank that runs wild may say that they take no room.
  if (lent_ == nullptr) lent_ = std::make_unique<Lent>(geometry_.units / (2 * kLeastPart / kUnit));
  const std::uint32_t number = lent_->begin(units_passed_) & ~kInCell;
  return {*lender_, from | number};
}

void Reader::follow_loans() {
  units_read_ = has_lent() ? lent_->before_oldest() : units_passed_;
  plain_bytes_ = has_lent() || is_under_way_ ? 0 : kLeastPart;
}

// A sink that has not taken the frame of it will be offered it again.
void Reader::take_cell_back(std::uint32_t cell) {
  if (is_under_way_ && is_in_cell_ && cell == cell_)
    is_cell_lent_ = false;
  else
    cells_->came(cell);
}

void Reader::take_back(std::uint32_t number) {
  if ((number & kInCell) != 0) return take_cell_back(number & ~kInCell);
  lent_->end(number);
  follow_loans();
  give_room();
}

}  // namespace tutti::transport::shm
