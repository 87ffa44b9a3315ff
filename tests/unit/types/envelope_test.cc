// Types made again from what they say about their making (MPI 5.0, 5.1.13) are the same types.
#include "catch.h"
#include "random_types.h"
#include "types/maker.h"

using namespace tutti;
using namespace tutti::types;
using namespace tutti::types::test;

namespace {

using Numbers = std::span<const Count>;

// Takes the arguments of a constructor one after the other.
struct Reader {
  Numbers left;
  Count one() { return many(1)[0]; }
  Numbers many(Count count) {
    const Numbers taken = left.first(static_cast<std::size_t>(count));
    left = left.subspan(static_cast<std::size_t>(count));
    return taken;
  }
};

TypeRef rebuilt(const Datatype& type);

ArrayOrder order_of(Count number) {
  return number == 12 ? ArrayOrder::c : ArrayOrder::fortran;
}

TypeRef rebuilt_darray(Reader numbers, Datatype& old) {
  numbers.one();  // ranks follow from the grid
  const Count rank = numbers.one();
  const Count count = numbers.one();
  std::vector<Deal> dims(static_cast<std::size_t>(count));
  for (Deal& deal : dims) deal.size = numbers.one();
  for (Deal& deal : dims) deal.spread = static_cast<Spread>(numbers.one() - 16);
  for (Deal& deal : dims) {
    deal.argument = numbers.one();
    if (deal.argument == 19) deal.argument = 0;
  }
  for (Deal& deal : dims) deal.ranks = static_cast<int>(numbers.one());
  return *make_darray(static_cast<int>(rank), dims, order_of(numbers.one()), old);
}

TypeRef rebuilt_struct(const Made& made, Reader numbers) {
  std::vector<TypeRef> olds;
  std::vector<Datatype*> types;
  for (const TypeRef& old : made.types) {
    olds.push_back(rebuilt(*old));
    types.push_back(olds.back().get());
  }
  const Count count = numbers.one();
  return *make_struct(numbers.many(count), made.addresses, types);
}

TypeRef rebuilt_list(const Made& made, Reader numbers, Datatype& old) {
  const Count count = numbers.one();
  switch (made.combiner) {
    case kIndexed: {
      const Numbers blocks = numbers.many(count);
      return *make_indexed(blocks, numbers.many(count), old);
    }
    case kHindexed:
      return *make_hindexed(numbers.many(count), made.addresses, old);
    case kIndexedBlock: {
      const Count block = numbers.one();
      return *make_indexed_block(block, numbers.many(count), old);
    }
    default:
      return *make_hindexed_block(numbers.one(), made.addresses, old);
  }
}

TypeRef rebuilt(const Datatype& type) {
  const Made& made = type.made();
  Reader numbers{made.integers};
  if (made.combiner == kNamed) return TypeRef::share(const_cast<Datatype*>(&type));
  if (made.combiner == kStruct) return rebuilt_struct(made, numbers);
  const TypeRef old = rebuilt(*made.types.front());
  switch (made.combiner) {
    case kDup:
      return *make_dup(*old);
    case kContiguous:
      return *make_contiguous(numbers.one(), *old);
    case kVector:
      return *make_vector(made.integers[0], made.integers[1], made.integers[2], *old);
    case kHvector:
      return *make_hvector(made.integers[0], made.integers[1], made.addresses[0], *old);
    case kSubarray: {
      const Count dims = numbers.one();
      const Numbers sizes = numbers.many(dims), subsizes = numbers.many(dims);
      const Numbers starts = numbers.many(dims);
      return *make_subarray(sizes, subsizes, starts, order_of(numbers.one()), *old);
    }
    case kDarray:
      return rebuilt_darray(numbers, *old);
    case kResized:
      return *make_resized(*old, made.addresses[0], made.addresses[1]);
    default:
      return rebuilt_list(made, numbers, *old);
  }
}

}  // namespace

TEST_CASE("random nested types made again from their envelopes are the same", "[types]") {
  Random random(5);
  for (int round = 0; round < 20000; ++round) {
    INFO("round " << round);
    const Sample sample = any_type(random, static_cast<int>(random.between(1, 4)));
    const TypeRef again = rebuilt(*sample.type);
    REQUIRE(again->size() == sample.type->size());
    REQUIRE(again->lower_bound() == sample.type->lower_bound());
    REQUIRE(again->extent() == sample.type->extent());
    REQUIRE(again->true_lower_bound() == sample.type->true_lower_bound());
    REQUIRE(again->true_extent() == sample.type->true_extent());
    if (sample.model.map.empty()) continue;
    const Count low = sample.type->true_lower_bound();
    std::vector<std::byte> memory(static_cast<std::size_t>(sample.type->true_extent()));
    for (std::byte& byte : memory) byte = static_cast<std::byte>(random.between(0, 255));
    std::vector<std::byte> one(sample.model.map.size()), other(one.size());
    pack(Buffer::whole(memory.data() - low, 1, *sample.type), 0, one);
    pack(Buffer::whole(memory.data() - low, 1, *again), 0, other);
    REQUIRE(one == other);
  }
}

TEST_CASE("basic elements are counted as the type map lists them", "[types]") {
  Random random(6);
  for (int round = 0; round < 20000; ++round) {
    INFO("round " << round);
    const Sample sample = any_type(random, static_cast<int>(random.between(1, 3)));
    const Datatype& type = *sample.type;
    if (type.size() == 0) continue;
    const auto all = elements_in(type, 2 * type.size());
    REQUIRE(all.has_value());
    const Count some = random.between(0, *all);
    const Count bytes = bytes_of_elements(type, some);
    REQUIRE(elements_in(type, bytes) == some);
    REQUIRE((some == *all) == (bytes == 2 * type.size()));
  }
}

TEST_CASE("a predefined pair is two basic elements", "[types]") {
  const Datatype& pair = *predefined_type(0x229);  // MPI_DOUBLE_INT
  REQUIRE(elements_in(pair, 24) == 4);
  REQUIRE(elements_in(pair, 20) == 3);
  REQUIRE(!elements_in(pair, 16).has_value());
  REQUIRE(bytes_of_elements(pair, 3) == 20);
  REQUIRE(elements_in(*predefined_type(0x231), 8) == 1);  // MPI_2DOUBLE_PRECISION
}
