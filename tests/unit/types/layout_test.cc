// Random nested types against a naive model: bounds, pack, unpack, copy and pieces.
#include <cstring>

#include "catch.h"
#include "random_types.h"

using namespace tutti;
using namespace tutti::types;
using namespace tutti::types::test;

namespace {

void check_bounds(const Sample& sample) {
  const Datatype& type = *sample.type;
  const Model& model = sample.model;
  CHECK(type.size() == static_cast<Count>(model.map.size()));
  CHECK(type.lower_bound() == model.begin);
  CHECK(type.extent() == model.extent());
  if (model.map.empty()) {
    CHECK(type.true_extent() == 0);
    return;
  }
  const auto [low, high] = std::minmax_element(model.map.begin(), model.map.end());
  CHECK(type.true_lower_bound() == *low);
  CHECK(type.true_extent() == *high - *low + 1);
}

// Memory around a message of `count` elements, and where each byte of its stream lies in it.
struct Field {
  std::vector<std::byte> memory;
  std::byte* origin = nullptr;
  std::vector<std::size_t> places;
  Buffer buffer;

  Field(const Sample& sample, Count count, Random& random) {
    Count low = 0;
    Count high = 1;
    std::vector<Count> all;
    for (Count i = 0; i < count; ++i) {
      for (const Count byte : sample.model.map) {
        all.push_back(i * sample.model.extent() + byte);
        low = std::min(low, all.back());
        high = std::max(high, all.back() + 1);
      }
    }
    memory.resize(static_cast<std::size_t>(high - low));
    for (std::byte& byte : memory) byte = static_cast<std::byte>(random.between(0, 255));
    origin = memory.data() - low;
    for (const Count place : all) places.push_back(static_cast<std::size_t>(place - low));
    buffer = Buffer::whole(origin, count, *sample.type);
  }

  std::vector<std::byte> stream() const {
    std::vector<std::byte> made;
    for (const std::size_t place : places) made.push_back(memory[place]);
    return made;
  }
  bool overlaps() const {
    std::vector<std::size_t> sorted = places;
    std::sort(sorted.begin(), sorted.end());
    return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  }
};

bool packs_right(const Field& field, Count from, Count to) {
  std::vector<std::byte> out(static_cast<std::size_t>(to - from) + 1, std::byte{77});
  pack(field.buffer, from, {out.data(), out.size() - 1});
  for (Count i = from; i < to; ++i) {
    const std::byte expected = field.memory[field.places[static_cast<std::size_t>(i)]];
    if (out[static_cast<std::size_t>(i - from)] != expected) return false;
  }
  return out.back() == std::byte{77};
}

bool unpacks_right(Field& field, Count from, Count to, Random& random) {
  std::vector<std::byte> in(static_cast<std::size_t>(to - from));
  for (std::byte& byte : in) byte = static_cast<std::byte>(random.between(0, 255));
  std::vector<std::byte> expected = field.memory;
  for (Count i = from; i < to; ++i) {
    expected[field.places[static_cast<std::size_t>(i)]] = in[static_cast<std::size_t>(i - from)];
  }
  unpack(field.buffer, from, in);
  return field.memory == expected;
}

bool lists_right(const Field& field, Count from, std::size_t most) {
  std::vector<Piece> out(most);
  Count covered = -1;
  const std::size_t used = pieces(field.buffer, from, out, &covered);
  auto place = field.places.begin() + from;
  Count seen = 0;
  for (std::size_t i = 0; i < used; ++i) {
    for (std::size_t byte = 0; byte < out[i].bytes; ++byte, ++seen) {
      if (out[i].data + byte != field.memory.data() + *place++) return false;
    }
  }
  const bool is_end = from + seen == field.buffer.bytes;
  return seen == covered && (is_end || used == most);
}

}  // namespace

TEST_CASE("random nested types have the bounds of their type maps", "[types][layout]") {
  Random random(1);
  for (int round = 0; round < 100000; ++round) {
    INFO("round " << round);
    check_bounds(any_type(random, static_cast<int>(random.between(1, 4))));
  }
}

TEST_CASE("random nested types pack, unpack and list any part of a message", "[types][layout]") {
  Random random(2);
  for (int round = 0; round < 100000; ++round) {
    INFO("round " << round);
    const Sample sample = any_type(random, static_cast<int>(random.between(1, 4)));
    Field field(sample, random.between(0, 4), random);
    const Count total = field.buffer.bytes;
    REQUIRE(total == static_cast<Count>(field.places.size()));
    if (sample.type->is_contiguous() && total > 0) {
      REQUIRE(std::memcmp(field.origin, field.stream().data(), field.places.size()) == 0);
    }
    REQUIRE(packs_right(field, 0, total));
    const Count from = random.between(0, total);
    const Count to = random.between(from, total);
    REQUIRE(packs_right(field, from, to));
    REQUIRE(lists_right(field, from, static_cast<std::size_t>(random.between(1, 40))));
    if (!field.overlaps()) REQUIRE(unpacks_right(field, from, to, random));
  }
}

TEST_CASE("a part of a buffer addresses its own bytes of the stream", "[types][layout]") {
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    INFO("round " << round);
    const Sample sample = any_type(random, 3);
    const Field field(sample, 3, random);
    const Count from = random.between(0, field.buffer.bytes);
    const Count length = random.between(0, field.buffer.bytes - from);
    std::vector<std::byte> out(static_cast<std::size_t>(length));
    pack(field.buffer.part(from, length), 0, out);
    const std::vector<std::byte> stream = field.stream();
    CHECK(std::equal(out.begin(), out.end(), stream.begin() + from));
  }
}

TEST_CASE("copy moves a message between any two layouts of equal size", "[types][layout]") {
  Random random(4);
  int copied = 0;
  for (int round = 0; round < 3000; ++round) {
    INFO("round " << round);
    const Sample left = any_type(random, 3);
    const Sample right = any_type(random, 3);
    const Field from(left, random.between(1, 30), random);
    Field into(right, random.between(1, 30), random);
    if (into.overlaps()) continue;
    const Count bytes = copy(from.buffer, into.buffer);
    REQUIRE(bytes == std::min(from.buffer.bytes, into.buffer.bytes));
    const std::vector<std::byte> source = from.stream();
    const std::vector<std::byte> target = into.stream();
    REQUIRE(std::equal(source.begin(), source.begin() + bytes, target.begin()));
    ++copied;
  }
  CHECK(copied > 500);
}

TEST_CASE("a vector of a million blocks packs any part without listing its blocks",
          "[types][layout]") {
  const Count blocks = 1'000'000;
  auto type = make_vector(blocks, 1, 3, *predefined_type(0x209));
  REQUIRE(type);
  std::vector<std::int32_t> memory(static_cast<std::size_t>(3 * blocks));
  std::iota(memory.begin(), memory.end(), 0);
  const Buffer buffer = Buffer::whole(memory.data(), 1, **type);
  std::vector<std::int32_t> out(1000);
  pack(buffer, 4 * 777'000, std::as_writable_bytes(std::span(out)));
  for (std::size_t i = 0; i < out.size(); ++i) {
    REQUIRE(out[i] == static_cast<std::int32_t>(3 * (777'000 + i)));
  }
}

TEST_CASE("pieces that touch are one piece", "[types][layout]") {
  const std::vector<Count> blocks = {1, 2, 1};
  const std::vector<Count> offsets = {0, 1, 7};
  auto type = make_indexed(blocks, offsets, *predefined_type(0x214));
  REQUIRE(type);
  std::vector<double> memory(16);
  std::vector<Piece> out(8);
  Count covered = 0;
  REQUIRE(pieces(Buffer::whole(memory.data(), 1, **type), 4, out, &covered) == 2);
  CHECK(covered == 28);
  CHECK(out[0].bytes == 20);
  CHECK(out[1].bytes == 8);
  // The last run of one element and the first of the next.
  REQUIRE(pieces(Buffer::whole(memory.data(), 2, **type), 0, out, &covered) == 3);
  CHECK(out[1].bytes == 32);
}

TEST_CASE("rows are listed until no more are wanted", "[types]") {
  constexpr Count kRuns = 100'000;
  std::vector<Count> places;
  for (Count i = 0; i < kRuns; ++i) places.push_back(3 * i + i * i % 2);
  const std::vector<Count> lengths(kRuns, 1);
  std::vector<std::int32_t> memory(3 * kRuns);
  auto type = *make_indexed(lengths, places, *predefined_type(0x209));
  type->commit();
  struct Listed {
    Count rows = 0, most = 0;
  };
  const auto give = [](void* self, const Row&) {
    auto& listed = *static_cast<Listed*>(self);
    return ++listed.rows < listed.most;
  };
  for (const Count most : {Count{1}, Count{1000}, kRuns}) {
    Listed listed{0, most};
    rows(Buffer::whole(memory.data(), 1, *type), 0, type->size(), &listed, give);
    CHECK(listed.rows == most);
  }
}
