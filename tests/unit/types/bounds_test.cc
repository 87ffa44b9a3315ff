// Bounds, contents and refusals of derived types: the cases that have names in the standard.
#include <limits>

#include "catch.h"
#include "types/types.h"

using namespace tutti;
using namespace tutti::types;

namespace {
Datatype& kInt = *predefined_type(0x209);
Datatype& kDouble = *predefined_type(0x214);
Datatype& kChar = *predefined_type(0x243);
constexpr Count kHuge = std::numeric_limits<Count>::max();
}  // namespace

TEST_CASE("a struct is padded to the alignment of its strictest member", "[types][bounds]") {
  const std::vector<Count> blocks = {1, 1};
  const std::vector<Count> offsets = {0, 8};
  const std::vector<Datatype*> olds = {&kDouble, &kChar};
  const TypeRef type = *make_struct(blocks, offsets, olds);
  CHECK(type->size() == 9);
  CHECK(type->extent() == 16);
  CHECK(type->true_extent() == 9);
  CHECK_FALSE(type->is_contiguous());
  CHECK(type->element() == Element::none);
}

TEST_CASE("bounds set by hand hold in every type made of the resized one", "[types][bounds]") {
  const TypeRef wide = *make_resized(kInt, -4, 12);
  CHECK(wide->lower_bound() == -4);
  CHECK(wide->extent() == 12);
  CHECK(wide->true_extent() == 4);
  const std::vector<Count> blocks = {1, 1};
  const std::vector<Count> offsets = {0, 100};
  const std::vector<Datatype*> olds = {wide.get(), &kDouble};
  const TypeRef type = *make_struct(blocks, offsets, olds);
  CHECK(type->lower_bound() == -4);
  CHECK(type->extent() == 12);
  CHECK(type->true_lower_bound() == 0);
  CHECK(type->true_extent() == 108);
}

TEST_CASE("types of one predefined type know their element", "[types][bounds]") {
  const TypeRef row = *make_vector(3, 2, 5, kDouble);
  const TypeRef rows = *make_contiguous(4, *row);
  CHECK(rows->element() == Element::float64);
  CHECK(rows->size() == 4 * 6 * 8);
  CHECK((*make_contiguous(7, kInt))->is_contiguous());
  CHECK((*make_vector(3, 2, 2, kInt))->is_contiguous());
  CHECK_FALSE(row->is_contiguous());
}

TEST_CASE("a negative stride moves the lower bound below the address", "[types][bounds]") {
  const TypeRef type = *make_hvector(3, 1, -16, kDouble);
  CHECK(type->lower_bound() == -32);
  CHECK(type->extent() == 40);
}

TEST_CASE("empty types have no extent and are contiguous", "[types][bounds]") {
  for (const TypeRef& type : {*make_contiguous(0, kInt), *make_vector(0, 3, 9, kInt),
                              *make_vector(3, 0, 9, kInt), *make_indexed({}, {}, kInt)}) {
    CHECK(type->size() == 0);
    CHECK(type->extent() == 0);
    CHECK(type->is_contiguous());
  }
}

TEST_CASE("sizes and bounds that do not fit are refused", "[types][bounds]") {
  CHECK(make_contiguous(kHuge, kDouble).error().code == Code::value_too_large);
  CHECK(make_vector(kHuge, kHuge, 1, kInt).error().code == Code::value_too_large);
  CHECK(make_vector(2, 1, kHuge, kInt).error().code == Code::value_too_large);
  CHECK(make_hvector(3, 1, kHuge, kInt).error().code == Code::value_too_large);
  const std::vector<Count> blocks = {1, 1};
  const std::vector<Count> apart = {-kHuge, kHuge};
  CHECK(make_hindexed(blocks, apart, kInt).error().code == Code::value_too_large);
  CHECK(make_resized(kInt, kHuge, kHuge).error().code == Code::value_too_large);
}

TEST_CASE("negative counts and unequal arrays are refused", "[types][bounds]") {
  const std::vector<Count> one = {1};
  const std::vector<Count> two = {1, 2};
  const std::vector<Count> negative = {-1};
  CHECK(make_contiguous(-1, kInt).error().code == Code::arg);
  CHECK(make_vector(1, -1, 1, kInt).error().code == Code::arg);
  CHECK(make_indexed(negative, one, kInt).error().code == Code::arg);
  CHECK(make_indexed(one, two, kInt).error().code == Code::arg);
  CHECK(make_hindexed_block(-1, one, kInt).error().code == Code::arg);
}

TEST_CASE("a type remembers how it was made", "[types][bounds]") {
  const TypeRef vector = *make_vector(3, 2, 5, kInt);
  CHECK(vector->made().combiner == 104);
  CHECK(vector->made().integers == std::vector<Count>{3, 2, 5});
  CHECK(vector->made().types.front().get() == &kInt);
  const TypeRef hvector = *make_hvector(3, 2, 50, *vector);
  CHECK(hvector->made().integers == std::vector<Count>{3, 2});
  CHECK(hvector->made().addresses == std::vector<Count>{50});
  mark_large(*hvector);
  CHECK(hvector->made().integers.empty());
  CHECK(hvector->made().counts == std::vector<Count>{3, 2, 50});
  CHECK(kInt.made().combiner == 101);
}

TEST_CASE("a duplicate is committed when its original is, and keeps it alive", "[types]") {
  TypeRef original = *make_vector(3, 1, 2, kInt);
  CHECK_FALSE((*make_dup(*original))->is_committed());
  original->commit();
  const TypeRef copy = *make_dup(*original);
  CHECK(copy->is_committed());
  original.reset();
  CHECK(copy->made().types.front()->size() == 12);
}
