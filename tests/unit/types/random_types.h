// Random nested types, each with its naive model: every constructor, several levels deep.
#pragma once

#include <numeric>
#include <vector>

#include "catch.h"
#include "model.h"

namespace tutti::types::test {

struct Leaf {
  Handle handle;
  std::vector<Count> map;
  Count alignment;
};

inline std::vector<Count> bytes(Count from, Count to) {
  std::vector<Count> map(static_cast<std::size_t>(to - from));
  std::iota(map.begin(), map.end(), from);
  return map;
}

inline Sample leaf(Random& random) {
  static const std::vector<Leaf> leaves = [] {
    std::vector<Count> short_int = bytes(0, 2);
    for (Count byte = 4; byte < 8; ++byte) short_int.push_back(byte);
    return std::vector<Leaf>{{0x247, bytes(0, 1), 1},  {0x248, bytes(0, 2), 2},
                             {0x209, bytes(0, 4), 4},  {0x214, bytes(0, 8), 8},
                             {0x229, bytes(0, 12), 8}, {0x22c, short_int, 4},
                             {0x216, bytes(0, 16), 8}};
  }();
  const Leaf& made = leaves[static_cast<std::size_t>(random.between(0, 6))];
  Datatype* type = predefined_type(made.handle);
  return {TypeRef::share(type), model_of(*type, made.map, made.alignment)};
}

inline std::vector<Count> numbers(Random& random, std::size_t count, Count low, Count high) {
  std::vector<Count> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(random.between(low, high));
  return made;
}

inline void place(std::vector<Copy>& copies, const Model& old, Count block, Count at) {
  for (Count i = 0; i < block; ++i) copies.push_back({at + i * old.extent(), &old});
}

inline Sample vector_of(Random& random, const Sample& old) {
  const Count count = random.between(0, 5);
  const Count block = random.between(0, 4);
  const bool in_bytes = random.between(0, 1) == 0;
  const Count stride = in_bytes ? random.between(-90, 90) : random.between(-6, 6);
  const Count byte_stride = in_bytes ? stride : stride * old.model.extent();
  std::vector<Copy> copies;
  for (Count i = 0; i < count; ++i) place(copies, old.model, block, i * byte_stride);
  auto type = in_bytes ? make_hvector(count, block, stride, *old.type)
                       : make_vector(count, block, stride, *old.type);
  REQUIRE(type);
  return {std::move(*type), compose(copies)};
}

inline Sample indexed_of(Random& random, const Sample& old) {
  const auto count = static_cast<std::size_t>(random.between(0, 5));
  const bool in_bytes = random.between(0, 1) == 0;
  const std::vector<Count> blocks = numbers(random, count, 0, 3);
  const std::vector<Count> offsets = numbers(random, count, in_bytes ? -99 : -7, in_bytes ? 99 : 7);
  const Count unit = in_bytes ? 1 : old.model.extent();
  std::vector<Copy> copies;
  for (std::size_t i = 0; i < count; ++i) place(copies, old.model, blocks[i], offsets[i] * unit);
  auto type = in_bytes ? make_hindexed(blocks, offsets, *old.type)
                       : make_indexed(blocks, offsets, *old.type);
  REQUIRE(type);
  return {std::move(*type), compose(copies)};
}

inline Sample indexed_block_of(Random& random, const Sample& old) {
  const auto count = static_cast<std::size_t>(random.between(0, 6));
  const bool in_bytes = random.between(0, 1) == 0;
  const Count block = random.between(0, 3);
  const std::vector<Count> offsets = numbers(random, count, in_bytes ? -99 : -7, in_bytes ? 99 : 7);
  const Count unit = in_bytes ? 1 : old.model.extent();
  std::vector<Copy> copies;
  for (const Count offset : offsets) place(copies, old.model, block, offset * unit);
  auto type = in_bytes ? make_hindexed_block(block, offsets, *old.type)
                       : make_indexed_block(block, offsets, *old.type);
  REQUIRE(type);
  return {std::move(*type), compose(copies)};
}

inline Sample resized_of(Random& random, const Sample& old) {
  const Count begin = random.between(-40, 40);
  const Count extent = random.between(0, 80);
  auto type = make_resized(*old.type, begin, extent);
  REQUIRE(type);
  Model model = old.model;
  model.any = model.marked = true;
  model.begin = begin;
  model.end = begin + extent;
  return {std::move(*type), model};
}

// What a rank takes of each dimension of an array of `old`s; slowest dimension first.
inline Model array_of(const Model& old, const std::vector<std::vector<Count>>& taken,
                      const std::vector<Count>& sizes) {
  std::vector<Count> places = {0};
  Count total = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::vector<Count> deeper;
    for (const Count place : places)
      for (const Count index : taken[i]) deeper.push_back(place * sizes[i] + index);
    places = std::move(deeper);
    total *= sizes[i];
  }
  std::vector<Copy> copies;
  for (const Count index : places) copies.push_back({index * old.extent(), &old});
  Model made = compose(copies);
  made.any = made.marked = true;
  made.begin = 0;
  made.end = total * old.extent();
  return made;
}

inline Sample subarray_of(Random& random, const Sample& old) {
  const auto dims = static_cast<std::size_t>(random.between(1, 3));
  const std::vector<Count> sizes = numbers(random, dims, 1, 4);
  std::vector<Count> subsizes, starts;
  std::vector<std::vector<Count>> taken(dims);
  for (std::size_t i = 0; i < dims; ++i) {
    subsizes.push_back(random.between(1, sizes[i]));
    starts.push_back(random.between(0, sizes[i] - subsizes[i]));
    for (Count k = 0; k < subsizes[i]; ++k) taken[i].push_back(starts[i] + k);
  }
  const bool is_fortran = random.between(0, 1) == 0;
  auto type = make_subarray(sizes, subsizes, starts,
                            is_fortran ? ArrayOrder::fortran : ArrayOrder::c, *old.type);
  REQUIRE(type);
  std::vector<Count> slow_first = sizes;
  if (is_fortran) {
    std::reverse(taken.begin(), taken.end());
    std::reverse(slow_first.begin(), slow_first.end());
  }
  return {std::move(*type), array_of(old.model, taken, slow_first)};
}

inline Sample darray_of(Random& random, const Sample& old) {
  const auto dims = static_cast<std::size_t>(random.between(1, 3));
  std::vector<Deal> deals(dims);
  int ranks = 1;
  for (Deal& deal : deals) {
    deal.size = random.between(1, 5);
    deal.spread = static_cast<Spread>(random.between(0, 2));
    if (deal.spread != Spread::none) deal.ranks = static_cast<int>(random.between(1, 3));
    if (deal.spread == Spread::cyclic) deal.argument = random.between(0, 2);
    ranks *= deal.ranks;
  }
  const auto rank = static_cast<int>(random.between(0, ranks - 1));
  std::vector<std::vector<Count>> taken(dims);
  std::vector<Count> sizes(dims);
  int left = rank;
  for (std::size_t i = dims; i-- > 0; left /= deals[i].ranks) {
    const Deal& deal = deals[i];
    const Count usual = deal.spread == Spread::block    ? (deal.size + deal.ranks - 1) / deal.ranks
                        : deal.spread == Spread::cyclic ? 1
                                                        : deal.size;
    const Count block = deal.argument == 0 ? usual : deal.argument;
    for (Count index = 0; index < deal.size; ++index)
      if (index / block % deal.ranks == left % deal.ranks) taken[i].push_back(index);
    sizes[i] = deal.size;
  }
  const bool is_fortran = random.between(0, 1) == 0;
  auto type = make_darray(rank, deals, is_fortran ? ArrayOrder::fortran : ArrayOrder::c, *old.type);
  REQUIRE(type);
  if (is_fortran) {
    std::reverse(taken.begin(), taken.end());
    std::reverse(sizes.begin(), sizes.end());
  }
  return {std::move(*type), array_of(old.model, taken, sizes)};
}

inline Sample any_type(Random& random, int depth);

inline Sample struct_of(Random& random, int depth) {
  const auto count = static_cast<std::size_t>(random.between(1, 3));
  std::vector<Sample> olds;
  std::vector<Datatype*> types;
  const std::vector<Count> blocks = numbers(random, count, 0, 2);
  std::vector<Count> offsets = numbers(random, count, -99, 99);
  for (std::size_t i = 0; i < count; ++i) olds.push_back(any_type(random, depth - 1));
  std::vector<Copy> copies;
  for (std::size_t i = 0; i < count; ++i) {
    if (random.between(0, 1) == 0)
      offsets[i] = i == 0 ? 0 : offsets[i - 1] + olds[i].model.extent();
    types.push_back(olds[i].type.get());
    place(copies, olds[i].model, blocks[i], offsets[i]);
  }
  auto type = make_struct(blocks, offsets, types);
  REQUIRE(type);
  return {std::move(*type), compose(copies)};
}

inline Sample any_type(Random& random, int depth) {
  if (depth == 0) return leaf(random);
  const Count kind = random.between(0, 9);
  if (kind == 0) return struct_of(random, depth);
  Sample old = any_type(random, depth - 1);
  if (old.model.map.size() > 3000) return old;
  switch (kind) {
    case 1:
      return indexed_of(random, old);
    case 2:
      return indexed_block_of(random, old);
    case 3:
      return resized_of(random, old);
    case 4: {
      const Count count = random.between(0, 4);
      std::vector<Copy> copies;
      place(copies, old.model, count, 0);
      return {*make_contiguous(count, *old.type), compose(copies)};
    }
    case 5:
      return {*make_dup(*old.type), old.model};
    case 6:
      return subarray_of(random, old);
    case 7:
      return darray_of(random, old);
    default:
      return vector_of(random, old);
  }
}

}  // namespace tutti::types::test
