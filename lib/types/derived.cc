// derived.cc: the constructors of derived datatypes (MPI 5.0, 5.1.2).
//
// Each works out the bounds first (where overflow shows), then the layout, and keeps its
// arguments so that they can be asked for. Arrays are in array.cc.
#include <algorithm>

#include "types/bounds.h"

namespace tutti::types {

namespace {

void append(std::vector<Count>& to, std::span<const Count> numbers) {
  to.insert(to.end(), numbers.begin(), numbers.end());
}

bool has_negative(std::span<const Count> counts) {
  return std::any_of(counts.begin(), counts.end(), [](Count count) { return count < 0; });
}

auto negative_count() {
  return fail(Code::arg, "a count or block length is negative");
}

// `count` blocks of `block` elements, `stride` bytes apart.
Result<TypeRef> strided(Count count, Count block, Count stride, Datatype& old, Made made) {
  if (count < 0 || block < 0) return negative_count();
  Bounds bounds;
  const Count last_block = count == 0 ? 0 : bounds.times(count - 1, stride);
  const Count last_element = block == 0 ? 0 : bounds.times(block - 1, old.extent());
  bounds.add(old, bounds.times(count, block),
             bounds.plus(std::min<Count>(0, last_block), std::min<Count>(0, last_element)),
             bounds.plus(std::max<Count>(0, last_block), std::max<Count>(0, last_element)));
  TUTTI_TRY(shape, bounds.finish());
  const Placed row = repeat(old.layout().root, block, old.extent());
  return Maker::make(shape, repeat(row, count, stride), std::move(made));
}

// Lays out blocks of elements one after the other.
class LaidBlocks {
 public:
  explicit LaidBlocks(std::size_t expected) { parts_.reserve(expected); }

  void add(const Datatype& type, Count block, Count offset) {
    bounds_.add_row(type, block, offset, type.extent());
    if (block == 0 || type.size() == 0) return;
    todo_.push_back({&type, block, offset});
  }
  Count times(Count a, Count b) { return bounds_.times(a, b); }

  Result<TypeRef> finish(Made made) {
    TUTTI_TRY(shape, bounds_.finish());
    const Todo* last = nullptr;
    for (const Todo& todo : todo_) {
      if (last == nullptr || last->type != todo.type || last->block != todo.block) {
        row_ = repeat(todo.type->layout().root, todo.block, todo.type->extent());
      }
      parts_.push_back({todo.offset + row_.offset, row_.node});
      last = &todo;
    }
    return Maker::make(shape, sequence(parts_), std::move(made));
  }

 private:
  struct Todo {
    const Datatype* type;
    Count block;
    Count offset;
  };
  Bounds bounds_;
  std::vector<Todo> todo_;
  std::vector<Placed> parts_;
  Placed row_;  // of the block before, shared by equal blocks
};

auto unequal() {
  return fail(Code::arg, "the arrays of a datatype differ in length");
}

}  // namespace

Result<TypeRef> make_contiguous(Count count, Datatype& old) {
  Made made = made_of(kContiguous, old);
  made.integers = {count};
  return strided(1, count, 0, old, std::move(made));
}

Result<TypeRef> make_vector(Count count, Count block, Count stride, Datatype& old) {
  Made made = made_of(kVector, old);
  made.integers = {count, block, stride};
  Count bytes = 0;
  if (__builtin_mul_overflow(stride, old.extent(), &bytes)) {
    return fail(Code::value_too_large, "the vector's stride in bytes does not fit in 64 bits");
  }
  return strided(count, block, bytes, old, std::move(made));
}

Result<TypeRef> make_hvector(Count count, Count block, Count stride_bytes, Datatype& old) {
  Made made = made_of(kHvector, old);
  made.integers = {count, block};
  made.addresses = {stride_bytes};
  return strided(count, block, stride_bytes, old, std::move(made));
}

Result<TypeRef> make_indexed(std::span<const Count> blocks, std::span<const Count> offsets,
                             Datatype& old) {
  if (blocks.size() != offsets.size()) return unequal();
  if (has_negative(blocks)) return negative_count();
  LaidBlocks laid(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    laid.add(old, blocks[i], laid.times(offsets[i], old.extent()));
  }
  Made made = made_of(kIndexed, old);
  made.integers = {static_cast<Count>(blocks.size())};
  append(made.integers, blocks);
  append(made.integers, offsets);
  return laid.finish(std::move(made));
}

Result<TypeRef> make_hindexed(std::span<const Count> blocks, std::span<const Count> offset_bytes,
                              Datatype& old) {
  if (blocks.size() != offset_bytes.size()) return unequal();
  if (has_negative(blocks)) return negative_count();
  LaidBlocks laid(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) laid.add(old, blocks[i], offset_bytes[i]);
  Made made = made_of(kHindexed, old);
  made.integers = {static_cast<Count>(blocks.size())};
  append(made.integers, blocks);
  append(made.addresses, offset_bytes);
  return laid.finish(std::move(made));
}

Result<TypeRef> make_indexed_block(Count block, std::span<const Count> offsets, Datatype& old) {
  if (block < 0) return negative_count();
  LaidBlocks laid(offsets.size());
  for (const Count offset : offsets) laid.add(old, block, laid.times(offset, old.extent()));
  Made made = made_of(kIndexedBlock, old);
  made.integers = {static_cast<Count>(offsets.size()), block};
  append(made.integers, offsets);
  return laid.finish(std::move(made));
}

Result<TypeRef> make_hindexed_block(Count block, std::span<const Count> offset_bytes,
                                    Datatype& old) {
  if (block < 0) return negative_count();
  LaidBlocks laid(offset_bytes.size());
  for (const Count offset : offset_bytes) laid.add(old, block, offset);
  Made made = made_of(kHindexedBlock, old);
  made.integers = {static_cast<Count>(offset_bytes.size()), block};
  append(made.addresses, offset_bytes);
  return laid.finish(std::move(made));
}

Result<TypeRef> make_struct(std::span<const Count> blocks, std::span<const Count> offset_bytes,
                            std::span<Datatype* const> olds) {
  if (blocks.size() != offset_bytes.size() || blocks.size() != olds.size()) return unequal();
  if (has_negative(blocks)) return negative_count();
  LaidBlocks laid(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) laid.add(*olds[i], blocks[i], offset_bytes[i]);
  Made made;
  made.combiner = kStruct;
  made.integers = {static_cast<Count>(blocks.size())};
  append(made.integers, blocks);
  append(made.addresses, offset_bytes);
  for (Datatype* old : olds) made.types.push_back(TypeRef::share(old));
  return laid.finish(std::move(made));
}

Result<TypeRef> make_resized(Datatype& old, Count lower_bound, Count extent) {
  TypeFacts shape = Maker::shape(old);
  shape.marked = true;
  shape.begin = lower_bound;
  if (__builtin_add_overflow(lower_bound, extent, &shape.end)) {
    return fail(Code::value_too_large, "the resized type's upper bound does not fit in 64 bits");
  }
  Made made = made_of(kResized, old);
  made.addresses = {lower_bound, extent};
  return Maker::make(shape, old.layout().root, std::move(made));
}

Result<TypeRef> make_dup(Datatype& old) {
  TypeRef type = Maker::make(Maker::shape(old), old.layout().root, made_of(kDup, old));
  if (old.is_committed()) type->commit();
  return type;
}

}  // namespace tutti::types
