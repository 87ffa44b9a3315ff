// scratch: memory of a GPU for temporaries, such as a reduction's.
//
// A few large blocks that are cut up, and kept to the end: in a steady state the driver, which may
// wait for streams when it allocates, is asked for nothing, and a neighbour that reads temporaries
// opens no more handles than there are blocks.
#pragma once

#include <cstddef>
#include <vector>

#include "device/cuda/driver.h"

namespace tutti::device::cuda {

class GpuScratch {
 public:
  // Four segments of the longest that calls are cut in (16 MiB), and what aligns them.
  static constexpr std::size_t kLeastBlock = (std::size_t{64} << 20) + 4096;
  static constexpr std::size_t kMost = std::size_t{1} << 30;  // bytes of all blocks

  explicit GpuScratch(const Driver& driver) : driver_(driver) {}
  // Null: there is none. Unless it may grow the driver is not asked. The context is current.
  std::byte* take(std::size_t bytes, bool may_grow);
  void give(std::byte* at);
  // A block is there, if the driver has room for it. The context is current.
  void prepare() {
    if (pieces_.empty()) grow(1);
  }
  void close();  // gives the blocks back; the context is current

 private:
  struct Piece {
    std::byte* at = nullptr;
    std::size_t bytes = 0;
    bool begins_block = false, is_taken = false;
  };
  using Place = std::vector<Piece>::iterator;
  Place find_free(std::size_t bytes);
  bool grow(std::size_t bytes);

  const Driver& driver_;
  std::vector<Piece> pieces_;  // block after block, in the order of their addresses
  std::size_t held_ = 0;       // bytes of all blocks
  unsigned to_pass_ = 0;       // requests before the driver, which had no room, is asked again
};

}  // namespace tutti::device::cuda
