// Subarrays and distributed arrays against their definitions.
#include <numeric>

#include "catch.h"
#include "types/types.h"

using namespace tutti;
using namespace tutti::types;

namespace {

Datatype& kInt = *predefined_type(0x209);

std::vector<int> packed(const Datatype& type, std::vector<int>& memory) {
  std::vector<int> out(static_cast<std::size_t>(type.size()) / sizeof(int));
  pack(Buffer::whole(memory.data(), 1, type), 0, std::as_writable_bytes(std::span(out)));
  return out;
}

std::vector<int> counted(std::size_t count) {
  std::vector<int> memory(count);
  std::iota(memory.begin(), memory.end(), 0);
  return memory;
}

// Which rank of one dimension holds an index (MPI 5.0, 5.1.4).
Count holder(const Deal& deal, Count index) {
  if (deal.spread == Spread::none) return 0;
  const bool is_block = deal.spread == Spread::block;
  const Count usual = is_block ? (deal.size + deal.ranks - 1) / deal.ranks : 1;
  return index / (deal.argument == 0 ? usual : deal.argument) % deal.ranks;
}

std::vector<int> expected_part(int rank, const std::vector<Deal>& dims, ArrayOrder order) {
  std::vector<Count> place(dims.size());
  Count left = rank;
  for (std::size_t i = dims.size(); i-- > 0;) {
    place[i] = left % dims[i].ranks;
    left /= dims[i].ranks;
  }
  Count total = 1;
  for (const Deal& deal : dims) total *= deal.size;
  std::vector<int> part;
  for (Count element = 0; element < total; ++element) {
    Count rest = element;
    bool mine = true;
    for (std::size_t step = 0; step < dims.size(); ++step) {
      const std::size_t i = order == ArrayOrder::c ? dims.size() - 1 - step : step;
      mine = mine && holder(dims[i], rest % dims[i].size) == place[i];
      rest /= dims[i].size;
    }
    if (mine) part.push_back(static_cast<int>(element));
  }
  return part;
}

}  // namespace

TEST_CASE("a subarray takes its box in array order and has the array's bounds", "[types]") {
  const std::vector<Count> sizes = {4, 5, 6};
  const std::vector<Count> subsizes = {2, 3, 2};
  const std::vector<Count> starts = {1, 2, 3};
  std::vector<int> memory = counted(120);
  for (const ArrayOrder order : {ArrayOrder::c, ArrayOrder::fortran}) {
    const TypeRef type = *make_subarray(sizes, subsizes, starts, order, kInt);
    std::vector<int> expected;
    const bool is_c = order == ArrayOrder::c;
    for (int i = 0; i < (is_c ? 2 : 2); ++i) {
      for (int j = 0; j < 3; ++j) {
        for (int k = 0; k < 2; ++k) {
          expected.push_back(is_c ? (1 + i) * 30 + (2 + j) * 6 + 3 + k
                                  : (3 + i) * 20 + (2 + j) * 4 + 1 + k);
        }
      }
    }
    CHECK(packed(*type, memory) == expected);
    CHECK(type->lower_bound() == 0);
    CHECK(type->extent() == 480);
  }
}

TEST_CASE("a subarray that leaves its array is refused", "[types]") {
  const std::vector<Count> sizes = {4};
  const std::vector<Count> three = {3};
  const std::vector<Count> two = {2};
  CHECK(make_subarray(sizes, three, two, ArrayOrder::c, kInt).error().code == Code::arg);
  CHECK(make_subarray({}, {}, {}, ArrayOrder::c, kInt).error().code == Code::arg);
}

TEST_CASE("every rank of a distributed array gets what the definition deals it", "[types]") {
  const std::vector<std::vector<Deal>> arrays = {
      {{10, Spread::block, 0, 3}},
      {{10, Spread::cyclic, 0, 3}},
      {{17, Spread::cyclic, 2, 3}},
      {{5, Spread::cyclic, 9, 4}},
      {{5, Spread::block, 4, 4}},
      {{7, Spread::none, 0, 1}, {9, Spread::cyclic, 2, 2}},
      {{7, Spread::block, 0, 2}, {9, Spread::cyclic, 2, 2}, {4, Spread::cyclic, 0, 3}},
  };
  for (std::size_t which = 0; which < arrays.size(); ++which) {
    const std::vector<Deal>& dims = arrays[which];
    Count total = 1;
    int ranks = 1;
    for (const Deal& deal : dims) {
      total *= deal.size;
      ranks *= deal.ranks;
    }
    std::vector<int> memory = counted(static_cast<std::size_t>(total));
    for (int rank = 0; rank < ranks; ++rank) {
      for (const ArrayOrder order : {ArrayOrder::c, ArrayOrder::fortran}) {
        INFO("array " << which << " rank " << rank << " order " << static_cast<int>(order));
        const auto type = make_darray(rank, dims, order, kInt);
        REQUIRE(type);
        CHECK(packed(**type, memory) == expected_part(rank, dims, order));
        CHECK((*type)->extent() == 4 * total);
      }
    }
  }
}

TEST_CASE("a distributed array whose blocks do not hold it is refused", "[types]") {
  const std::vector<Deal> dims = {{10, Spread::block, 3, 3}};
  CHECK(make_darray(0, dims, ArrayOrder::c, kInt).error().code == Code::arg);
  const std::vector<Deal> fine = {{10, Spread::block, 4, 3}};
  CHECK(make_darray(3, fine, ArrayOrder::c, kInt).error().code == Code::arg);
}
