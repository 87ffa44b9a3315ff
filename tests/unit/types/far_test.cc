// Blocks of layouts that no cache holds: asked for ahead and stored past the caches, they arrive
// like any others, wherever they begin and however many there are.
#include "types/far.h"

#include <cstring>
#include <vector>

#include "catch.h"

using namespace tutti::types;

namespace {

void one_by_one(std::byte* to, const std::byte* from, const FarBlocks& some) {
  for (Count i = 0; i < some.count; ++i)
    std::memcpy(to + i * some.to_stride, from + i * some.from_stride,
                static_cast<std::size_t>(some.bytes));
}

// In a room with a margin on both sides, which nothing may touch; `at` is where in a line it
// begins.
bool copies_right(const FarBlocks& blocks, Count at) {
  constexpr Count kMargin = 128;
  const auto room = [&](Count stride) {
    return static_cast<std::size_t>(blocks.count * stride + blocks.bytes + 3 * kMargin);
  };
  std::vector<std::byte> from(room(blocks.from_stride)),
      to(room(blocks.to_stride), std::byte{0xee});
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 + i / 251);
  std::vector<std::byte> wanted = to;
  const auto begins = [&](std::vector<std::byte>& memory) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data() + kMargin);
    return memory.data() + kMargin + (64 - address % 64) % 64 + at;
  };
  std::byte* const into = begins(to);
  one_by_one(wanted.data() + (into - to.data()), begins(from), blocks);
  copy_far(into, begins(from), blocks, one_by_one);
  return to == wanted;
}

}  // namespace

TEST_CASE("far blocks are copied whole and nothing else is touched", "[types][far]") {
  for (const Count bytes : {1, 4, 8, 12, 16, 24, 64, 80, 100, 128, 256, 1000})
    for (const Count count : {1, 7, 8, 9, 16, 17, 100, 200})
      for (const Count at : {0, 8, 16}) {
        INFO(count << " blocks of " << bytes << " at " << at);
        const Count stride = bytes + 64 - bytes % 64 + 64;
        CHECK(copies_right({bytes, count, bytes, stride}, at));
        CHECK(copies_right({bytes, count, stride, bytes}, at));
        CHECK(copies_right({bytes, count, stride + 24, stride}, at));
      }
}

TEST_CASE("only what no cache holds is far", "[types][far]") {
  CHECK_FALSE(are_far({8, 1000, 8, 512}));
  CHECK_FALSE(are_far({128, 4096, 128, 256}));
  CHECK(are_far({8, tutti::types::Count{1} << 32, 8, 512}));
  CHECK(are_far({8, tutti::types::Count{1} << 32, -512, 8}));
}
