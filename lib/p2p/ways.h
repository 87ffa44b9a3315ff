// ways: how the data of long messages from one peer come, where both ways are open: in frames, or
// read from its memory.
//
// The receiver alone chooses. Messages of one size that are under way together come one way and are
// timed together, from the first match until nothing of that peer is under way; a judge for each
// size (base/judge.h) keeps the way that is faster for this pair. What is under way for long, or
// together with messages of other sizes, says nothing, and comes the way that is kept.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/judge.h"

namespace tutti::p2p {

class Ways {
 public:
  enum Way : std::uint8_t { frames, get };

  // A message of so many bytes, at least one, was matched: how its data are to come.
  Way begin(std::uint64_t bytes, std::int64_t now_ns) {
    const std::size_t size = size_class(bytes, kLeast, judges_.size());
    Judge& judge = judges_[size];
    if (under_way_++ == 0) stretch_ = {true, size, static_cast<Way>(judge.next()), 0, 0, now_ns};
    stretch_.is_judged &= size == stretch_.size && stretch_.messages < kMostTogether;
    if (!stretch_.is_judged) return static_cast<Way>(judge.kept());
    ++stretch_.messages;
    stretch_.bytes += bytes;
    return stretch_.way;
  }
  // One of them has ended; well: all its data are here.
  void end(bool well, std::int64_t now_ns) {
    stretch_.is_judged &= well;
    if (--under_way_ > 0 || !stretch_.is_judged) return;
    judges_[stretch_.size].took(stretch_.way, pace_of(now_ns - stretch_.began_ns, stretch_.bytes));
  }

 private:
  static constexpr std::size_t kLeast = std::size_t{32} << 10;
  static constexpr std::uint32_t kMostTogether = 64;

  std::array<Judge, 10> judges_;  // the last one: of 16 MiB and more
  std::uint32_t under_way_ = 0;
  struct {
    bool is_judged = false;
    std::size_t size = 0;
    Way way = frames;
    std::uint32_t messages = 0;
    std::uint64_t bytes = 0;
    std::int64_t began_ns = 0;
  } stretch_;  // since messages are under way
};

}  // namespace tutti::p2p
