// memory.h: what kinds of memory there are, a piece of one, and how the end of work on it is told.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti {

// Host memory is what the processor may load and store; of other kinds only a types::Device does.
enum class MemoryKind : std::uint8_t { host, cuda };

inline constexpr std::size_t kMemoryKinds = 2;
using MemoryKinds = unsigned;  // a set of them
constexpr MemoryKinds kinds_of(MemoryKind kind) {
  return 1U << static_cast<unsigned>(kind);
}
inline constexpr MemoryKinds kEveryKind = (1U << kMemoryKinds) - 1;

struct Memory {
  void* data = nullptr;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::host;
  int device = 0;
};

// Called once when something that was begun has ended, and its memory may be changed again.
struct Done {
  void (*fire)(Done* self, bool ok) = nullptr;
};

}  // namespace tutti
