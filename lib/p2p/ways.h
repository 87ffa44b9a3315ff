// ways: how the data of long messages from one peer come, where both ways are open: in frames, or
// read from its memory.
//
// The receiver alone chooses. Messages of one size that are under way together come one way and are
// timed together, from the first match until nothing of that peer is under way; a judge for each
// size (base/judge.h) keeps the way that is faster for this pair. What is under way for long, or
// together with messages of other sizes, says nothing, and comes the way that is kept.
//
// Where one way may be many times slower, a trial is of the first messages of a stretch alone:
// those behind them come the way that is kept, and the trial is timed until its own have ended.
//
// Of a GPU's memory short messages are judged, too. Those that come in frames need not be offered:
// the receiver says of how many the sender may think so (Unasked).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/judge.h"
#include "base/pace.h"

namespace tutti::p2p {

class Ways {
 public:
  enum Way : std::uint8_t { frames, get };
  static constexpr std::size_t kSizes = 10;  // that are told apart; the last one is open

  // `first` is kept until both are known. Shorter messages than `least` are taken for as long. No
  // message more goes the way that is tried once `most_tried` bytes of a stretch do.
  explicit Ways(Way first = frames, std::size_t least = std::size_t{32} << 10,
                std::uint64_t most_tried = UINT64_MAX)
      : first_(first), least_(least), most_tried_(most_tried) {
    for (std::size_t size = 0; size < kSizes && first == frames; ++size)
      judges_[size] = Judge(0, Pace::turns_unsettled(least << size));
  }

  // A message of so many bytes, at least one, was matched: how its data are to come.
  Way begin(std::uint64_t bytes, std::int64_t now_ns) {
    const std::size_t size = size_class(bytes, least_, kSizes);
    Judge& judge = judges_[size];
    if (under_way_++ == 0) stretch_ = {true, size, way_of(judge.next()), 0, 0, 0, now_ns};
    stretch_.is_judged &= size == stretch_.size && stretch_.messages < kMostTogether;
    const Way kept = way_of(judge.kept());
    if (!stretch_.is_judged) return kept;
    ++stretch_.messages;
    if (stretch_.way != kept && stretch_.bytes >= most_tried_) return kept;
    ++stretch_.left;
    stretch_.bytes += std::max<std::uint64_t>(bytes, least_);
    return stretch_.way;
  }
  // One that came this way has ended; well: all its data are here. True: from now on messages of
  // its size come another way.
  bool end(Way way, bool well, std::int64_t now_ns) {
    --under_way_;
    if (way != stretch_.way) return false;
    stretch_.is_judged &= well;
    if (!stretch_.is_judged || --stretch_.left > 0) return false;
    stretch_.is_judged = false;
    Judge& judge = judges_[stretch_.size];
    const unsigned kept = judge.kept();
    judge.took(way_of(stretch_.way), pace_of(now_ns - stretch_.began_ns, stretch_.bytes));
    return judge.kept() != kept;
  }
  Way kept(std::uint64_t bytes) const { return way_of(judge_of(bytes).kept()); }
  // What so many bytes take by a way, in ns; 0: nobody knows yet.
  double worth(std::uint64_t bytes, Way way) const {
    const auto counted = static_cast<double>(std::max<std::uint64_t>(bytes, least_));
    return judge_of(bytes).worth(way_of(way)) * counted / kPaceBytes;
  }
  // So many of the next messages of this size come in frames whatever they take. None while the
  // other way is tried: that may tell otherwise.
  std::uint32_t skip(std::uint64_t bytes) {
    const bool is_trial = stretch_.is_judged && stretch_.way != kept(bytes);
    if (is_trial || kept(bytes) != frames) return 0;
    return judges_[size_class(bytes, least_, kSizes)].skip();
  }

 private:
  static constexpr std::uint32_t kMostTogether = 64;  // messages of a stretch that is judged
  const Judge& judge_of(std::uint64_t bytes) const {
    return judges_[size_class(bytes, least_, kSizes)];
  }
  // A judge's way as ours, or ours as its: its way 0 is the first.
  Way way_of(unsigned way) const { return static_cast<Way>(way ^ first_); }

  const Way first_;
  const std::size_t least_;
  const std::uint64_t most_tried_;
  std::array<Judge, kSizes> judges_;
  std::uint32_t under_way_ = 0;
  struct {
    bool is_judged = false;
    std::size_t size = 0;
    Way way = frames;
    std::uint32_t messages = 0, left = 0;  // all of them; those that are timed and under way
    std::uint64_t bytes = 0;
    std::int64_t began_ns = 0;
  } stretch_;  // since messages are under way
};

// Messages of a GPU's memory that are judged, and how much of a stretch tries another way: through
// host memory may take a hundred times as long.
inline constexpr std::size_t kLeastOfDevice = std::size_t{4} << 10;
inline constexpr std::size_t kJudgedBelow = kLeastOfDevice << Ways::kSizes;  // 4 MiB
inline constexpr std::size_t kMostTriedOfDevice = std::size_t{1} << 20;

// How many of the next messages of each size a peer wants in frames without having been asked.
class Unasked {
 public:
  bool has(std::uint64_t bytes) const { return bytes < kJudgedBelow && left_[size_of(bytes)] > 0; }
  // One more is sent.
  void take(std::uint64_t bytes) {
    if (has(bytes)) --left_[size_of(bytes)];
  }
  void set(std::uint64_t bytes, std::uint32_t messages) {
    left_[size_of(bytes)] = std::min(messages, Judge::kTryAgainAtMost);
  }

 private:
  static std::size_t size_of(std::uint64_t bytes) {
    return size_class(bytes, kLeastOfDevice, Ways::kSizes);
  }
  std::array<std::uint32_t, Ways::kSizes> left_{};
};

}  // namespace tutti::p2p
