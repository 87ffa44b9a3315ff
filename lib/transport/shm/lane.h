// lane: the road from one local rank to another in the job segment. One writer, one reader.
//
//   | counters (4 lines) | lines: lane_lines x 64 B | ring: lane_data_bytes | a cell (cells.h) |
//
// A frame is one line: control word, frame header, and up to 24 bytes of payload, so flag and
// data travel in one cache line. A longer payload goes on in the lines behind it; one of more than
// eight lines, or for which there is a cell, lies in the ring or that cell, and the line says
// where. The control word is (lap << 32 | payload bytes): a line is new when its lap is the one the
// reader is in, so no line need be cleared, but for those that payload went on in: they may look
// like anything, and are cleared when a frame before them is shown, behind which the reader waits.
// The reader publishes how far it has read on a line of its own; the writer looks there only when
// the lane seems full. Zeroed memory is an empty lane.
//
// A long frame is shown when its first part is in the ring, and its line then says how much of it
// is there: so the reader copies out what the writer has copied in, at the same time. The ring is
// longer than what a core caches for itself: a line that is written again has then left the
// reader's cache, from where it would have to be fetched first, four times as slow.
//
// A long payload may be lent instead of copied out (lent.h): its room, and that of what comes
// behind it, is the writer's again when the loan has ended. Lines are not held up by that.
//
// Both ends are plain single-threaded objects; what they share is in lane_layout.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/fresh.h"
#include "base/pace.h"
#include "base/prefetch.h"
#include "transport/shm/cells.h"
#include "transport/shm/lane_layout.h"
#include "transport/shm/lent.h"

namespace tutti::transport::shm {

// So far ahead a writer asks for the line it will write: it comes from the reader's cache, which
// takes as long as a few calls. Nearer, the reader may be looking at it.
inline constexpr std::ptrdiff_t kOwnAhead = 5;

inline constexpr std::uint32_t kNoLap = 0xffffffff;  // no line is of this one, nor of 0: cleared
inline std::uint32_t lap_after(std::uint32_t lap) {
  return lap + 1 == kNoLap ? 1 : lap + 1;
}

// memcpy for 0..24 bytes without a call: the compiler cannot inline a variable length.
inline void copy_short(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes >= 8) {
    std::memcpy(to, from, 8);
    if (bytes > 16) std::memcpy(to + 8, from + 8, 8);
    std::memcpy(to + bytes - 8, from + bytes - 8, 8);
  } else if (bytes >= 4) {
    std::memcpy(to, from, 4);
    std::memcpy(to + bytes - 4, from + bytes - 4, 4);
  } else if (bytes > 0) {
    to[0] = from[0];
    to[bytes / 2] = from[bytes / 2];
    to[bytes - 1] = from[bytes - 1];
  }
}

// As the sender has just stored it.
inline void copy_header(FrameHeader& to, const FrameHeader& from) {
  to.context = fresh(from.context);
  to.tag = fresh(from.tag);
  to.source = fresh(from.source);
  to.kind = fresh(from.kind);
  to.flags = fresh(from.flags);
  to.aux = fresh(from.aux);
  to.length = fresh(from.length);
  to.cookie = fresh(from.cookie);
}

// The writer's end.
class Writer {
 public:
  // Null: no frame goes in a cell.
  Writer(std::byte* lane, const LaneGeometry& geometry, Cells* cells = nullptr)
      : counters_(reinterpret_cast<LaneCounters*>(lane)),
        begin_(reinterpret_cast<LaneLine*>(lane + kCounterLines * kCacheLine)),
        end_(begin_ + geometry.lines),
        next_(begin_),
        ring_(reinterpret_cast<std::byte*>(end_)),
        cells_(cells),
        has_payload_(geometry.lines),
        geometry_(geometry) {}

  // False: full. It has max_frame() bytes at most.
  bool try_write(const FrameView& frame) {
    if (!has_lines(1)) return starve();
    if (frame.bytes > kInlineBytes) return write_longer(frame);
    LaneLine& line = *next_;
    copy_short(line.inlined, frame.payload, frame.bytes);
    publish(line, *frame.header, frame.bytes, 1);
    return true;
  }

 private:
  bool starve() {
    // Written once: the line stays with us until the reader clears it. Pairs with take_starved.
    if (counters_->starving.load(std::memory_order_relaxed) == 0)
      counters_->starving.store(1, std::memory_order_relaxed);
    return false;
  }

  bool has_lines(std::uint32_t count) {
    if (free_lines_ >= count) [[likely]]
      return true;
    refresh();
    return free_lines_ >= count;
  }

  void refresh() {
    // acquire: what was read is read to the end before we write over it.
    const std::uint64_t consumed = counters_->consumed.load(std::memory_order_acquire);
    free_lines_ = geometry_.lines - (written_ - static_cast<std::uint32_t>(consumed >> 32));
    units_read_ = static_cast<std::uint32_t>(consumed);
  }

  // The next lines: payload, or first part, is there.
  void publish(LaneLine& line, const FrameHeader& header, std::uint64_t what, std::uint32_t lines) {
    copy_header(line.header, header);
    const std::uint64_t lap = lap_;
    free_lines_ -= lines;
    written_ += lines;
    next_ += lines;
    if (next_ == end_) {
      next_ = begin_;
      lap_ = lap_after(lap_);
    }
    if (has_payload_[static_cast<std::size_t>(next_ - begin_)]) [[unlikely]]
      clear_next();
    // release: whoever sees this lap sees header and payload, and nothing old behind them.
    line.control.store(lap << 32 | what, std::memory_order_release);
    if (end_ - next_ > kOwnAhead) prefetch_to_write(next_ + kOwnAhead);
  }

  // It is free: where the lane is full, the line behind is the oldest frame's first, which is none
  // of those.
  void clear_next() {
    next_->control.store(0, std::memory_order_relaxed);  // nobody looks there yet
    has_payload_[static_cast<std::size_t>(next_ - begin_)] = 0;
  }

  struct Place {
    std::byte* payload;
    std::uint32_t at;  // as its line says it
  };
  // lane.cc
  bool write_longer(const FrameView& frame);
  void write_beside(const FrameHeader& header, std::span<const std::byte> payload,
                    const Place& place, Pace::Way way);
  std::optional<Place> allot(std::uint32_t bytes);
  Place pass_cell();
  Pace::Way way_for(std::size_t bytes);

  LaneCounters* counters_;
  LaneLine* begin_;
  LaneLine* end_;
  LaneLine* next_;
  std::byte* ring_;
  Cells* cells_;
  std::vector<std::uint8_t> has_payload_;  // by line: a frame's went on there
  std::uint32_t free_lines_ = 0;           // known to be free; 0 at first, so the first write looks
  std::uint32_t lap_ = 1;
  std::uint32_t written_ = 0;
  std::uint32_t ring_at_ = 0;
  std::uint32_t units_written_ = 0;
  std::uint32_t units_read_ = 0;
  LaneGeometry geometry_;
  Pace pace_;
};

// The reader's end.
class Reader {
 public:
  // Null: it lends nothing; no frame comes in a cell.
  Reader(std::byte* lane, const LaneGeometry& geometry, int from, Lender* lender = nullptr,
         Cells* cells = nullptr)
      : begin_(reinterpret_cast<LaneLine*>(lane + kCounterLines * kCacheLine)),
        end_(begin_ + geometry.lines),
        next_(begin_),
        counters_(reinterpret_cast<LaneCounters*>(lane)),
        geometry_(geometry),
        from_(from),
        lender_(lender),
        cells_(cells) {}

  bool has_frame() const {
    // acquire: pairs with the release in publish.
    return static_cast<std::uint32_t>(next_->control.load(std::memory_order_acquire) >> 32) == lap_;
  }

  enum class Got : std::uint8_t { nothing, part, frame, unbelieved };

  // Hands the next frame, which must be there, to the sink; its space is free afterwards, unless
  // it is lent or lies behind one that is. Of a long one, what is there of it: then the frame is
  // still the next. unbelieved: it lies nowhere here, or the sink does not believe it, and from
  // now on there is none. Where the sink throws, it has not taken the frame: that is still the
  // next.
  Got deliver(Sink& sink) {
    LaneLine& line = *next_;
    const auto bytes = static_cast<std::uint32_t>(line.control.load(std::memory_order_relaxed));
    if (bytes > kInlineBytes) return deliver_longer(sink, line, bytes);
    if (is_under_way_) [[unlikely]]
      return disbelieve();  // it was a long one when its place was asked for
    return hand_over(sink, line, {line.inlined, bytes}, 1);
  }

  // There is no frame any more, and nothing of one under way is written anywhere. What was lent
  // stays so.
  void give_up() { lap_ = kNoLap; }

  // A loan of this lane's has ended. To the lender its number is this, with from() above it.
  void take_back(std::uint32_t number);

  // True once after the writer found the lane full: it may sleep until it is woken.
  bool take_starved() {
    if (counters_->starving.load(std::memory_order_relaxed) == 0) return false;
    counters_->starving.store(0, std::memory_order_relaxed);
    return true;
  }

  int from() const { return from_; }

 private:
  Got hand_over(Sink& sink, LaneLine& line, std::span<std::byte> payload, std::uint32_t lines) {
    if (!sink.on_frame(from_, line.header, payload)) [[unlikely]]
      return disbelieve();
    pass_lines(lines);
    give_room();
    return Got::frame;
  }

  void pass_lines(std::uint32_t lines) {
    read_ += lines;
    next_ += lines;
    if (next_ != end_) return;
    next_ = begin_;
    if (lap_ != kNoLap) lap_ = lap_after(lap_);  // the sink may have given the lane up meanwhile
  }

  void give_room() {
    // release: our reads of line and ring are done before the writer may reuse them.
    counters_->consumed.store(std::uint64_t{read_} << 32 | units_read_, std::memory_order_release);
  }

  Got disbelieve() {
    give_up();
    return Got::unbelieved;
  }

  std::byte* ring_at(std::size_t units) const {
    return reinterpret_cast<std::byte*>(end_) + units * kUnit;
  }
  bool has_lent() const { return lent_ != nullptr && !lent_->is_empty(); }

  // A rank that runs wild may write anything there, at any time.
  bool lies_in_ring(std::size_t at, std::uint32_t bytes) const {
    return bytes <= geometry_.max_frame() && at + (bytes + kUnit - 1) / kUnit <= geometry_.units;
  }

  // lane.cc
  Got deliver_longer(Sink& sink, LaneLine& line, std::uint32_t control);
  Got deliver_from_ring(Sink& sink, LaneLine& line, std::uint32_t at, std::uint32_t bytes);
  Got deliver_from_cell(Sink& sink, LaneLine& line, std::uint32_t at, std::uint32_t bytes);
  Got deliver_long(Sink& sink, LaneLine& line, std::uint32_t bytes);
  bool find_payload(std::uint32_t at, std::uint32_t bytes);
  void begin_long(Sink& sink, const LaneLine& line);
  Got take_part(const LaneLine& line);
  Got hand_over_long(Sink& sink, LaneLine& line, std::span<std::byte> payload);
  bool can_lend(const LaneLine& line) const;
  Loan lend();
  void follow_loans();
  void take_cell_back(std::uint32_t cell);

  LaneLine* begin_;
  LaneLine* end_;
  LaneLine* next_;
  LaneCounters* counters_;
  std::uint32_t lap_ = 1;
  std::uint32_t read_ = 0;
  std::uint32_t units_read_ = 0;  // and given back
  LaneGeometry geometry_;
  int from_;  // rank in the job
  // Payloads beside the lines of up to so many bytes are handed over and forgotten: 0 while a
  // longer one is under way or lent.
  std::uint32_t plain_bytes_ = kLeastPart;
  Lender* lender_;
  Cells* cells_;
  std::unique_ptr<Lent> lent_;      // made with the first loan
  std::uint32_t units_passed_ = 0;  // while some are lent: read, of which not all are given back
  // The next frame, where it is a long one of which a part was taken:
  bool is_under_way_ = false;
  bool is_to_be_lent_ = false;
  std::uint32_t length_ = 0, taken_ = 0;
  std::byte* at_ = nullptr;                         // in the ring, or
  bool is_in_cell_ = false, is_cell_lent_ = false;  // in this one
  std::uint32_t cell_ = 0;
  std::byte* into_ = nullptr;  // null: it stays where it is
};

}  // namespace tutti::transport::shm
