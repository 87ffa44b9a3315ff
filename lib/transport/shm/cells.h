// Cells: two pieces of memory that two ranks of a host pass to and fro, each for one frame.
//
// A frame that lies in a cell takes it along: its reader, who has the lines in its core's cache
// then, writes its next frame of that kind there, which takes no time to fetch them (record 0077).
// Whoever has no cell uses its lane, as do messages longer than a frame: by the time that one of
// these is answered, its cells have left the caches. So nothing is given back and nobody waits for
// a cell: in a stream both lie with its reader.
//
// One object in each of the two ranks, used by its writer and its reader (lane.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti::transport::shm {

class Cells {
 public:
  static constexpr std::uint32_t kCells = 2;

  // Where they lie; this rank has that one at first, its peer the other.
  Cells(std::array<std::byte*, kCells> at, std::uint32_t held) : at_(at), held_{held}, count_(1) {}

  std::byte* at(std::uint32_t cell) const { return at_[cell]; }
  bool has_any() const { return count_ > 0; }
  bool has(std::uint32_t cell) const {
    return (count_ > 0 && held_[0] == cell) || (count_ > 1 && held_[1] == cell);
  }
  // The one that came last is the peer's from now on.
  std::uint32_t pass_on() { return held_[--count_]; }
  // Whatever its peer says: none twice, and no other.
  void came(std::uint32_t cell) {
    if (cell < kCells && !has(cell)) held_[count_++] = cell;
  }

 private:
  std::array<std::byte*, kCells> at_;
  std::array<std::uint32_t, kCells> held_;  // in the order in which they came
  std::uint32_t count_;
};

}  // namespace tutti::transport::shm
