// Two messages overlap exactly when they have a byte in common: against sets of all their bytes.
#include <limits>
#include <set>

#include "random_types.h"

using namespace tutti::types;
using namespace tutti::types::test;

namespace {

constexpr Count kRoom = 1 << 22;

struct Message {
  std::vector<Sample> samples;  // keep the types
  std::vector<Buffer> parts;
  std::set<Count> bytes;
};

Message random_message(Random& random, std::byte* arena, Count around) {
  Message made;
  const Count parts = random.between(0, 3);
  for (Count i = 0; i < parts; ++i) {
    made.samples.push_back(any_type(random, static_cast<int>(random.between(0, 3))));
    const Sample& sample = made.samples.back();
    const Count count = random.between(0, 3);
    const Count at = kRoom / 2 + random.between(-around, around);
    made.parts.push_back(Buffer::whole(arena + at, count, *sample.type));
    for (Count element = 0; element < count; ++element)
      for (const Count byte : sample.model.map)
        made.bytes.insert(at + element * sample.model.extent() + byte);
  }
  return made;
}

bool share(const std::set<Count>& a, const std::set<Count>& b) {
  for (const Count byte : a)
    if (b.count(byte) != 0) return true;
  return false;
}

}  // namespace

TEST_CASE("messages of random types overlap exactly when they share a byte", "[types][overlap]") {
  std::vector<std::byte> arena(kRoom);
  Random random(4711);
  int yes = 0, no = 0, interleaved = 0;
  for (int round = 0; round < 6000; ++round) {
    const Count around = random.between(0, 1) == 0 ? 60 : 2000;
    const Message a = random_message(random, arena.data(), around);
    const Message b = random_message(random, arena.data(), around);
    if (a.bytes.size() + b.bytes.size() > 20000) continue;
    const bool expected = share(a.bytes, b.bytes);
    INFO("round " << round);
    REQUIRE(overlap(a.parts, b.parts) == expected);
    REQUIRE(overlap(b.parts, a.parts) == expected);
    ++(expected ? yes : no);
    if (!expected && !a.bytes.empty() && !b.bytes.empty() && *a.bytes.begin() < *b.bytes.rbegin() &&
        *b.bytes.begin() < *a.bytes.rbegin())
      ++interleaved;
  }
  CHECK(yes > 100);
  CHECK(no > 100);
  CHECK(interleaved > 30);
}

TEST_CASE("columns of one matrix do not overlap, and one of them does with itself",
          "[types][overlap]") {
  std::vector<double> matrix(1000 * 1000);
  Datatype& element = *predefined_type(0x214);
  const TypeRef column = *make_vector(1000, 1, 1000, element);
  const auto at = [&](std::size_t i) {
    return std::vector<Buffer>{Buffer::whole(&matrix[i], 1, *column)};
  };
  CHECK_FALSE(overlap(at(0), at(1)));
  CHECK_FALSE(overlap(at(500), at(499)));
  CHECK(overlap(at(7), at(7)));
  const std::vector<Buffer> row{Buffer::whole(&matrix[999 * 1000], 1000, element)};
  CHECK(overlap(at(3), row));
  CHECK(overlap(row, at(3)));
}

TEST_CASE("nothing, and what no memory holds, overlaps with nothing", "[types][overlap]") {
  std::vector<std::byte> arena(64);
  const std::vector<Buffer> some{Buffer::plain(arena.data(), 64)};
  CHECK(overlap(some, some));
  CHECK_FALSE(overlap(some, {}));
  CHECK_FALSE(overlap(some, std::vector<Buffer>{Buffer::plain(arena.data() + 3, 0)}));
  const TypeRef wide =
      *make_resized(*predefined_type(0x247), 0, std::numeric_limits<Count>::max() / 2);
  CHECK_FALSE(overlap(some, std::vector<Buffer>{Buffer::whole(arena.data() + 3, 9, *wide)}));
}
