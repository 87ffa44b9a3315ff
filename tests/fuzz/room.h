// Memory of one message, in quiet surroundings: who writes beside it is seen.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace fuzz {

inline constexpr std::size_t kGuard = 256;
inline constexpr std::byte kQuiet{0x5a};

struct Room {
  explicit Room(std::size_t bytes) : size(bytes), memory(bytes + 2 * kGuard, kQuiet) {}
  std::byte* begin() { return memory.data() + kGuard; }
  bool is_intact() const {
    const auto quiet = [](std::byte byte) { return byte == kQuiet; };
    return std::all_of(memory.begin(), memory.begin() + kGuard, quiet) &&
           std::all_of(memory.end() - kGuard, memory.end(), quiet);
  }
  bool holds(const std::byte* at, std::size_t bytes) const {
    const std::byte* const first = memory.data() + kGuard;
    return at >= first && bytes <= size && at <= first + (size - bytes);
  }
  std::size_t size;
  std::vector<std::byte> memory;
};

}  // namespace fuzz
