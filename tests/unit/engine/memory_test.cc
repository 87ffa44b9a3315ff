// Slices find their memory: strided types, blocks apart, scratch elements with odd bounds.
#include "engine/memory.h"

#include <cstring>

#include "catch.h"

namespace {

using namespace tutti;
using engine::BoundMemory;
using sched::Slice;
using sched::Space;

constexpr Handle kInt = 0x209, kSum = 0x21;

// Another rank is sent the copy: one that nothing reads would be no step.
engine::Program moving(Slice from, Slice into) {
  sched::Builder builder;
  builder.copy(from, into);
  builder.send(into, 1);
  return engine::Program(builder.finish());
}

void move(BoundMemory& memory, BoundMemory::Moved way) {
  for (const auto& [from, into] : memory.moves(way)) types::copy(from, into);
}

}  // namespace

TEST_CASE("a slice of packed bytes is a part of the message", "[engine][memory]") {
  engine::ScratchPool pool;
  std::int32_t ints[8] = {};
  auto strided = *types::make_vector(4, 1, 2, *types::predefined_type(kInt));
  engine::Binding binding;
  binding.out.whole = {ints, 1, strided.get()};
  BoundMemory memory(pool);
  memory.bind(binding, moving({Space::out, 0, 4}, {Space::out, 8, 4}));
  const types::Buffer part = memory.buffer({Space::out, 4, 8});
  const std::int32_t values[] = {7, 8};
  types::unpack(part, 0, std::as_bytes(std::span(values)));
  CHECK(ints[2] == 7);
  CHECK(ints[4] == 8);
  CHECK(ints[3] == 0);
}

TEST_CASE("blocks that follow one another serve as one, blocks apart are staged",
          "[engine][memory]") {
  engine::ScratchPool pool;
  std::int32_t ints[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const types::Datatype* integer = types::predefined_type(kInt);
  engine::Binding binding;
  for (const int gap : {0, 2}) {
    binding.out.blocks = {{ints, 2, integer}, {ints + 2, 0, integer}, {ints + 2 + gap, 3, integer}};
    BoundMemory memory(pool);
    memory.bind(binding, moving({Space::out, 4, 12}, {Space::scratch, 0, 12}));
    CHECK(memory.is_staged() == (gap != 0));
    move(memory, BoundMemory::Moved::in);
    const types::Buffer both = memory.buffer({Space::out, 4, 12});
    CHECK(both.is_contiguous());
    CHECK((both.at() == reinterpret_cast<std::byte*>(ints + 1)) == (gap == 0));
    std::int32_t seen[3];
    types::pack(both, 0, std::as_writable_bytes(std::span(seen)));
    CHECK(seen[0] == 1);
    CHECK(seen[1] == 2 + gap);
    const std::int32_t fresh[] = {-1, -2, -3};
    types::unpack(both, 0, std::as_bytes(std::span(fresh)));
    move(memory, BoundMemory::Moved::out);
    CHECK(ints[1] == -1);
    CHECK(ints[2 + gap] == -2);
    CHECK(ints[3 + gap] == -3);
    ints[1] = 1, ints[2] = 2, ints[3] = 3, ints[4] = 4, ints[5] = 5;
  }
}

TEST_CASE("scratch elements lie inside their memory, whatever their bounds", "[engine][memory]") {
  engine::ScratchPool pool;
  types::Datatype& integer = *types::predefined_type(kInt);
  const types::Count block[] = {1}, ahead[] = {40}, behind[] = {-40};
  const types::TypeRef types[] = {
      *types::make_hindexed(block, ahead, integer), *types::make_hindexed(block, behind, integer),
      *types::make_resized(integer, -8, 24), *types::make_resized(integer, 0, -16)};
  for (const types::TypeRef& type : types) {
    engine::ScratchPool::Piece piece;
    std::byte* const first = engine::take_elements(pool, 9, *type, piece);
    for (types::Count i = 0; i < 9; ++i) {
      const std::byte* low = first + i * type->extent() + type->true_lower_bound();
      CHECK(low >= piece.at);
      CHECK(low + type->true_extent() <= piece.at + piece.bytes);
    }
    pool.give(std::move(piece));
  }
}

TEST_CASE("scratch is used again", "[engine][memory]") {
  engine::ScratchPool pool;
  auto first = pool.take(100000);
  const std::byte* const address = first.at;
  pool.give(std::move(first));
  CHECK(pool.take(90000).at == address);
  CHECK(pool.take(0).bytes == 0);
}
