// memory.h: what kinds of memory there are, a piece of one, and how the end of work on it is told.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti {

// Host memory is what the processor may load and store; of other kinds only a types::Device does.
enum class MemoryKind : std::uint8_t { host, cuda };

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
