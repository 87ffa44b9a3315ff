// Asking for blocks ahead, and storing past the caches.
#include "types/far.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/bytes.h"
#include "base/prefetch.h"
#include "base/stream_copy.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tutti::types {
namespace {

constexpr Count kLeast = Count{8} << 20;  // nobody asks for the size of the caches below it
constexpr Count kGroup = 8;               // blocks asked for, then copied, at a time
constexpr Count kAheadShort = 64, kAheadLong = 8;  // blocks; long: a line or more
constexpr Count kLine = kCacheLine;
constexpr Count kFollowed = 4 * kLine;  // so far apart the processor fetches lines to write itself

// Every line of a block; rounding down keeps one that begins in the middle of a line whole.
template <class Ask>
void each_line(const std::byte* block, Count bytes, Ask ask) {
  const std::byte* const end = block + bytes;
  const auto begins = static_cast<Count>(reinterpret_cast<std::uintptr_t>(block) % kCacheLine);
  for (const std::byte* line = block - begins; line < end; line += kLine) ask(line);
}

void ask_to_read(const std::byte* block, Count bytes) {
  each_line(block, bytes, [](const std::byte* line) { __builtin_prefetch(line); });
}

void ask_to_write(const std::byte* block, Count bytes) {
  each_line(block, bytes, [](const std::byte* line) { prefetch_to_write(line); });
}

#if defined(__SSE2__)
// Whether what is written fills lines: one that is filled in part would be read after all.
bool fills_lines(const std::byte* to, const FarBlocks& blocks) {
  constexpr Count kStore = 16;
  const auto at = static_cast<Count>(reinterpret_cast<std::uintptr_t>(to) % kCacheLine);
  if (blocks.bytes < kLine || blocks.bytes % kStore != 0 || at % kStore != 0) return false;
  return blocks.to_stride == blocks.bytes ||
         (at == 0 && blocks.bytes % kLine == 0 && blocks.to_stride % kLine == 0);
}

void copy_past_caches(std::byte* to, const std::byte* from, const FarBlocks& some) {
  for (Count i = 0; i < some.count; ++i) {
    for (Count at = 0; at < some.bytes; at += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
    to += some.to_stride;
    from += some.from_stride;
  }
}

// Stores past the caches are not ordered with others.
void finish_past_caches() {
  _mm_sfence();
}
#else
bool fills_lines(const std::byte*, const FarBlocks&) {
  return false;
}
void copy_past_caches(std::byte*, const std::byte*, const FarBlocks&) {}
void finish_past_caches() {}
#endif

// Blocks that lie in one line, mostly: nothing but the copy and the asking.
template <std::size_t kBytes>
void copy_short(std::byte* to, const std::byte* from, const FarBlocks& blocks) {
  const auto [length, count, to_stride, from_stride] = blocks;
  const std::byte* ask = from_stride != length ? from : to;
  const Count stride = from_stride != length ? from_stride : to_stride;
  ask += kAheadShort * stride;
  for (Count i = 0; i < count; ++i) {
    __builtin_prefetch(ask);  // one behind the end is no fault
    std::memcpy(to, from, kBytes);
    to += to_stride;
    from += from_stride;
    ask += stride;
  }
}

}  // namespace

bool are_far(const FarBlocks& blocks) {
  const Count span = blocks.count * (std::abs(blocks.to_stride) + std::abs(blocks.from_stride));
  return span >= kLeast && span > static_cast<Count>(last_level_cache());
}

void copy_far(std::byte* to, const std::byte* from, const FarBlocks& blocks, CopyNear copy_near) {
  switch (blocks.bytes) {
    case 4:
      return copy_short<4>(to, from, blocks);
    case 8:
      return copy_short<8>(to, from, blocks);
    case 16:
      return copy_short<16>(to, from, blocks);
    default:
      break;
  }
  if (blocks.bytes < kLine) return copy_near(to, from, blocks);
  const bool fills = fills_lines(to, blocks);
  const bool asks_to_read = blocks.from_stride != blocks.bytes;
  const bool asks_to_write = std::abs(blocks.to_stride) > kFollowed && !fills;
  FarBlocks some = blocks;
  for (Count left = blocks.count; left > 0; left -= kGroup) {
    some.count = std::min(kGroup, left);
    for (Count i = kAheadLong; i < std::min(kAheadLong + kGroup, left); ++i) {
      if (asks_to_read) ask_to_read(from + i * blocks.from_stride, blocks.bytes);
      if (asks_to_write) ask_to_write(to + i * blocks.to_stride, blocks.bytes);
    }
    (fills ? copy_past_caches : copy_near)(to, from, some);
    to += some.count * blocks.to_stride;
    from += some.count * blocks.from_stride;
  }
  if (fills) finish_past_caches();
}

}  // namespace tutti::types
