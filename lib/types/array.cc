// array.cc: parts of arrays: subarray and darray (MPI 5.0, 5.1.3 and 5.1.4).
//
// Both go through the dimensions from the fastest to the slowest; a dimension repeats what
// the faster ones made. The bounds are those of the whole array.
#include <algorithm>

#include "types/bounds.h"

namespace tutti::types {

namespace {

// The standard's numbers of orders and distributions.
constexpr Count kOrderC = 12;
constexpr Count kOrderFortran = 15;
constexpr Count kDistributeNone = 16;
constexpr Count kDistributeBlock = 17;
constexpr Count kDistributeCyclic = 18;
constexpr Count kDefaultArgument = 19;

Count number_of(ArrayOrder order) {
  return order == ArrayOrder::c ? kOrderC : kOrderFortran;
}

// What is taken of one dimension: every `period` indices, from `first` on, a block; the last
// block may be shorter.
struct Taken {
  Count size = 0;
  Count first = 0;
  Count block = 0;
  Count blocks = 0;  // whole ones
  Count rest = 0;    // indices in the shorter block
  Count period = 0;

  Count count() const { return block * blocks + rest; }
  Count last() const {
    return rest > 0 ? first + blocks * period + rest - 1
                    : first + (blocks - 1) * period + block - 1;
  }
};

Placed take(const Taken& taken, const Placed& body, Count each) {
  const Placed row = repeat(body, taken.block, each);
  const Placed whole = repeat(row, taken.blocks, taken.period * each);
  const Placed rest = repeat(body, taken.rest, each);
  const Placed parts[] = {
      {whole.offset + taken.first * each, whole.node},
      {rest.offset + (taken.first + taken.blocks * taken.period) * each, rest.node}};
  return taken.rest == 0 ? parts[0] : sequence(parts);
}

// Dimensions are given slowest first.
Result<TypeRef> array_of(std::span<const Taken> dims, Datatype& old, Made made) {
  Bounds bounds;
  Count each = old.extent();
  Count count = 1;
  Count lowest = 0;
  Count highest = 0;
  for (std::size_t i = dims.size(); i-- > 0;) {
    const Taken& taken = dims[i];
    count = bounds.times(count, taken.count());
    if (taken.count() > 0) {
      const Count low = bounds.times(taken.first, each);
      const Count high = bounds.times(taken.last(), each);
      lowest = bounds.plus(lowest, std::min(low, high));
      highest = bounds.plus(highest, std::max(low, high));
    }
    each = bounds.times(each, taken.size);
  }
  bounds.add(old, count, lowest, highest);
  bounds.set(0, each);
  TUTTI_TRY(shape, bounds.finish());
  Placed body = old.layout().root;
  each = old.extent();
  for (std::size_t i = dims.size(); i-- > 0;) {
    body = count == 0 ? single_run(0, 0) : take(dims[i], body, each);
    each *= dims[i].size;
  }
  return Maker::make(shape, body, std::move(made));
}

// Rounded up.
constexpr Count over(Count size, Count by) {
  return size / by + (size % by != 0 ? 1 : 0);
}

// What the rank at `place` of `deal.ranks` gets of this dimension.
Result<Taken> dealt(const Deal& deal, Count place) {
  if (deal.spread == Spread::none) {
    if (deal.ranks != 1) return fail(Code::arg, "an undistributed dimension has one rank");
    return Taken{deal.size, 0, deal.size, 1, 0, deal.size};
  }
  const Count ranks = deal.ranks;
  const bool is_block = deal.spread == Spread::block;
  const Count usual = is_block ? over(deal.size, ranks) : 1;
  const Count block = std::clamp<Count>(deal.argument == 0 ? usual : deal.argument, 1, deal.size);
  if (is_block && over(deal.size, block) > ranks) {
    return fail(Code::arg, "blocks of " + std::to_string(block) + " elements over " +
                               std::to_string(ranks) + " ranks do not hold " +
                               std::to_string(deal.size));
  }
  const Count rounds = over(deal.size, block);  // blocks of all ranks, the last cut
  Taken taken{deal.size, 0, block, 0, 0, block};
  if (place >= rounds) return taken;
  taken.first = place * block;
  taken.blocks = over(rounds - place, ranks);
  const bool has_cut = deal.size % block != 0 && (rounds - 1) % ranks == place;
  if (has_cut) {
    --taken.blocks;
    taken.rest = deal.size % block;
  }
  if (taken.blocks + (has_cut ? 1 : 0) > 1) taken.period = ranks * block;  // inside of the array
  return taken;
}

Result<void> check_deals(std::span<const Deal> dims, int rank) {
  if (dims.empty()) return fail(Code::arg, "a distributed array needs a dimension");
  Count ranks = 1;
  for (const Deal& deal : dims) {
    if (deal.size < 1 || deal.ranks < 1 || deal.argument < 0) {
      return fail(Code::arg,
                  "a dimension of a distributed array has a size, block or number of "
                  "ranks below 1");
    }
    if (__builtin_mul_overflow(ranks, deal.ranks, &ranks) || ranks > INT32_MAX) {
      return fail(Code::arg, "the grid of a distributed array has too many ranks");
    }
  }
  if (rank < 0 || rank >= ranks) {
    return fail(Code::arg, "rank " + std::to_string(rank) + " is not in the grid of " +
                               std::to_string(ranks) + " ranks");
  }
  return {};
}

Made darray_made(int rank, std::span<const Deal> dims, ArrayOrder order, Datatype& old) {
  Made made = made_of(kDarray, old);
  Count ranks = 1;
  for (const Deal& deal : dims) ranks *= deal.ranks;
  std::vector<Count>& numbers = made.integers;
  numbers = {ranks, rank, static_cast<Count>(dims.size())};
  for (const Deal& deal : dims) numbers.push_back(deal.size);
  for (const Deal& deal : dims) {
    numbers.push_back(deal.spread == Spread::none    ? kDistributeNone
                      : deal.spread == Spread::block ? kDistributeBlock
                                                     : kDistributeCyclic);
  }
  for (const Deal& deal : dims) {
    numbers.push_back(deal.argument == 0 ? kDefaultArgument : deal.argument);
  }
  for (const Deal& deal : dims) numbers.push_back(deal.ranks);
  numbers.push_back(number_of(order));
  return made;
}

}  // namespace

Result<TypeRef> make_subarray(std::span<const Count> sizes, std::span<const Count> subsizes,
                              std::span<const Count> starts, ArrayOrder order, Datatype& old) {
  if (sizes.empty() || sizes.size() != subsizes.size() || sizes.size() != starts.size()) {
    return fail(Code::arg, "a subarray needs as many sizes, subsizes and starts as dimensions");
  }
  std::vector<Taken> dims;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1 || subsizes[i] < 1 || starts[i] < 0 || subsizes[i] > sizes[i] ||
        starts[i] > sizes[i] - subsizes[i]) {
      return fail(Code::arg, "dimension " + std::to_string(i) + " of the subarray (" +
                                 std::to_string(subsizes[i]) + " from " +
                                 std::to_string(starts[i]) + " on) is not inside " +
                                 std::to_string(sizes[i]));
    }
    dims.push_back({sizes[i], starts[i], subsizes[i], 1, 0, sizes[i]});
  }
  if (order == ArrayOrder::fortran) std::reverse(dims.begin(), dims.end());
  Made made = made_of(kSubarray, old);
  made.integers = {static_cast<Count>(sizes.size())};
  for (const auto& numbers : {sizes, subsizes, starts}) {
    made.integers.insert(made.integers.end(), numbers.begin(), numbers.end());
  }
  made.integers.push_back(number_of(order));
  return array_of(dims, old, std::move(made));
}

Result<TypeRef> make_darray(int rank, std::span<const Deal> dims, ArrayOrder order, Datatype& old) {
  TUTTI_DO(check_deals(dims, rank));
  std::vector<Taken> taken(dims.size());
  Count left = rank;  // the grid is in C order, whatever the array's order
  for (std::size_t i = dims.size(); i-- > 0;) {
    TUTTI_TRY(part, dealt(dims[i], left % dims[i].ranks));
    taken[i] = part;
    left /= dims[i].ranks;
  }
  if (order == ArrayOrder::fortran) std::reverse(taken.begin(), taken.end());
  return array_of(taken, old, darray_made(rank, dims, order, old));
}

}  // namespace tutti::types
