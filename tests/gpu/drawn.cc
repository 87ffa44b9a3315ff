// Every collective with types of each sort, in place wherever it may be, with barriers between,
// over neighbours and between groups, on memory of kinds that each rank draws.
#include "drawn.h"

#include <mpi-ext.h>

#include <algorithm>
#include <cstdint>

using namespace ranks;

namespace gpu {
namespace {

constexpr int kInts = 6;

std::vector<Element> make_layouts() {
  std::vector<Element> made;
  const auto add = [&](MPI_Datatype type, std::size_t extent, std::vector<std::size_t> ints) {
    MPI_Type_commit(&type);
    made.push_back({type, extent, std::move(ints)});
  };
  MPI_Datatype type, inner;
  MPI_Type_contiguous(kInts, MPI_INT, &type);
  add(type, 24, {0, 4, 8, 12, 16, 20});
  MPI_Type_vector(3, 2, 4, MPI_INT, &type);
  add(type, 40, {0, 4, 16, 20, 32, 36});
  const int lengths[] = {1, 3, 2}, places[] = {1, 3, 7};
  MPI_Type_indexed(3, lengths, places, MPI_INT, &inner);
  MPI_Type_create_resized(inner, 0, 44, &type);
  MPI_Type_free(&inner);
  add(type, 44, {4, 12, 16, 20, 28, 32});
  const int parts[] = {5, 1};
  const MPI_Aint bytes[] = {12, 0};  // the last of them comes first
  const MPI_Datatype of[] = {MPI_INT, MPI_INT};
  MPI_Type_create_struct(2, parts, bytes, of, &type);
  add(type, 32, {12, 16, 20, 24, 28, 0});
  return made;
}

// x -> a x + b, three of them, one after the other: in another order it is another.
void compose(void* first, void* second, int* count, MPI_Datatype* type) {
  const auto is_it = [&](const Element& element) { return element.type == *type; };
  const auto& layout = *std::find_if(layouts().begin(), layouts().end(), is_it);
  const auto at = [&](void* all, int i, int k) -> unsigned& {
    const std::size_t place = static_cast<std::size_t>(i) * layout.extent;
    return *reinterpret_cast<unsigned*>(static_cast<std::byte*>(all) + place +
                                        layout.ints[static_cast<std::size_t>(k)]);
  };
  for (int i = 0; i < *count; ++i)
    for (int k = 0; k < kInts; k += 2) {
      at(second, i, k + 1) += at(first, i, k + 1) * at(second, i, k);
      at(second, i, k) *= at(first, i, k);
    }
}

MPI_Op& composed() {
  static MPI_Op op = [] {
    MPI_Op made = MPI_OP_NULL;
    MPI_Op_create(&compose, 0, &made);
    return made;
  }();
  return op;
}

// Small whole numbers: a sum of them is the same in any order, in two bytes, too.
template <class T>
void fill_whole(std::byte* element, unsigned number) {
  const T value = static_cast<T>(number % 4);
  std::memcpy(element, &value, sizeof value);
}
template <std::uint16_t one, std::uint16_t two, std::uint16_t three>
void fill_half(std::byte* element, unsigned number) {
  constexpr std::uint16_t kValues[] = {0, one, two, three};
  std::memcpy(element, &kValues[number % 4], 2);
}

std::vector<std::byte> filled(const Element& element, int count, const Sort& sort, int seed) {
  std::vector<std::byte> all(element.extent * static_cast<std::size_t>(count));
  for (std::size_t i = 0; sort.fill == nullptr && i < all.size(); ++i)
    all[i] = static_cast<std::byte>(value_of(rank, seed, static_cast<int>(i)) * 2654435761U >> 24);
  for (int i = 0; sort.fill != nullptr && i < count; ++i)
    sort.fill(all.data() + static_cast<std::size_t>(i) * element.extent,
              static_cast<unsigned>(value_of(rank, seed, i)));
  return all;
}

}  // namespace

const std::vector<Element>& layouts() {
  static const std::vector<Element> all = make_layouts();
  return all;
}

void free_sorts() {
  for (Element element : layouts()) MPI_Type_free(&element.type);
  MPI_Op_free(&composed());
}

Sort any_sort() {
  switch (drawn_alike(4)) {
    case 0:
      return {{{MPI_DOUBLE, 8}}};
    case 1:
      return {{{MPIX_BFLOAT16, 2}}};
    default:
      return {layouts()};
  }
}

Sort any_operands() {
  const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN};
  const MPI_Op op = ops[drawn_alike(3)];
  switch (drawn_alike(6)) {
    case 0:
      return {{{MPI_INT, 4}}, &fill_whole<int>, op};
    case 1:
      return {{{MPI_DOUBLE, 8}}, &fill_whole<double>, op};
    case 2:
      return {{{MPI_INT8_T, 1}}, &fill_whole<std::int8_t>, op};
    case 3:
      return {{{MPIX_C_FLOAT16, 2}}, &fill_half<0x3c00, 0x4000, 0x4200>, op};
    case 4:
      return {{{MPIX_BFLOAT16, 2}}, &fill_half<0x3f80, 0x4000, 0x4040>, op};
    default:
      return {{layouts()[static_cast<std::size_t>(drawn_alike(4))]}, nullptr, composed()};
  }
}

void compare(const char* name, const Sort& sort, const Counts& counts, const Call& call) {
  const Element &from = sort.any(), &into = sort.any();
  const auto form = static_cast<Form>(drawn_alike(3));
  const auto given = filled(from, counts.sent, sort, 1),
             before = filled(into, counts.received, sort, 2);
  auto send = given, expected = before;
  call({send.data(), expected.data(), from, into, kBlocking, sort.op});
  Vector<std::byte> sends(given, any_kind()), receives(before, any_kind());
  if (drawn_alike(4) == 0)
    CALL(static_cast<Form>(drawn_alike(3)), Barrier, barrier, MPI_COMM_WORLD);
  call({sends.data(), receives.data(), from, into, form, sort.op});
  auto got = receives.get();
  const int known = counts.known < 0 ? counts.received : counts.known;
  got.resize(static_cast<std::size_t>(known) * into.extent);
  expected.resize(got.size());
  const bool is_right = got == expected && sends.get() == given;
  CHECK(is_right);
  if (!is_right)
    std::fprintf(stderr, "rank %d: %s, form %d, %d and %d elements of %zu and %zu bytes\n", rank,
                 name, form, counts.sent, counts.received, from.extent, into.extent);
}

}  // namespace gpu

namespace {

using gpu::any_operands;
using gpu::any_sort;
using gpu::compare;
using gpu::drawn_alike;
using gpu::Sides;

const MPI_Comm kWorld = MPI_COMM_WORLD;

void* in_place_if(bool is_there, void* buffer) {
  return is_there ? MPI_IN_PLACE : buffer;
}

void movement(int n) {
  const int all = n * size, root = drawn_alike(size);
  compare("bcast", any_sort(), {0, n}, [&](const Sides& s) {
    CALL(s.form, Bcast, bcast, s.recv, n, s.into.type, root, kWorld);
  });
  for (const bool in_place : {false, true}) {
    const bool at_root = in_place && rank == root;
    compare("gather", any_sort(), {n, all}, [&](const Sides& s) {
      CALL(s.form, Gather, gather, in_place_if(at_root, s.send), n, s.from.type, s.recv, n,
           s.into.type, root, kWorld);
    });
    compare("scatter", any_sort(), {all, n}, [&](const Sides& s) {
      CALL(s.form, Scatter, scatter, s.send, n, s.from.type, in_place_if(at_root, s.recv), n,
           s.into.type, root, kWorld);
    });
    compare("allgather", any_sort(), {n, all}, [&](const Sides& s) {
      CALL(s.form, Allgather, allgather, in_place_if(in_place, s.send), n, s.from.type, s.recv, n,
           s.into.type, kWorld);
    });
    compare("alltoall", any_sort(), {all, all}, [&](const Sides& s) {
      CALL(s.form, Alltoall, alltoall, in_place_if(in_place, s.send), n, s.from.type, s.recv, n,
           s.into.type, kWorld);
    });
  }
}

// Blocks of other lengths, with a hole before each; `of` says how long between two ranks.
struct Blocks {
  template <class Length>
  explicit Blocks(Length length) {
    for (int i = 0; i < size; ++i) {
      places.push_back(all + 1);
      counts.push_back(length(i));
      all = places.back() + counts.back();
    }
  }
  std::vector<int> counts, places;
  int all = 0;
};

void vectors(int n) {
  const int root = drawn_alike(size), mine = n + rank % 3;
  const Blocks blocks([&](int i) { return n + i % 3; });
  const int *c = blocks.counts.data(), *d = blocks.places.data();
  for (const bool in_place : {false, true}) {
    const bool at_root = in_place && rank == root;
    compare("gatherv", any_sort(), {mine, blocks.all}, [&](const Sides& s) {
      CALL(s.form, Gatherv, gatherv, in_place_if(at_root, s.send), mine, s.from.type, s.recv, c, d,
           s.into.type, root, kWorld);
    });
    compare("scatterv", any_sort(), {blocks.all, mine}, [&](const Sides& s) {
      CALL(s.form, Scatterv, scatterv, s.send, c, d, s.from.type, in_place_if(at_root, s.recv),
           mine, s.into.type, root, kWorld);
    });
    compare("allgatherv", any_sort(), {mine, blocks.all}, [&](const Sides& s) {
      CALL(s.form, Allgatherv, allgatherv, in_place_if(in_place, s.send), mine, s.from.type, s.recv,
           c, d, s.into.type, kWorld);
    });
  }
}

// What two send each other is of one length.
void vectors_to_all(int n) {
  const Blocks blocks([&](int i) { return n + (rank + i) % 3; });
  const int *c = blocks.counts.data(), *d = blocks.places.data();
  const auto of_types = [&](const gpu::Element& element) {
    return std::vector(static_cast<std::size_t>(size), element.type);
  };
  const auto bytes_of = [&](const gpu::Element& element) {
    std::vector<int> places = blocks.places;
    for (int& place : places) place *= static_cast<int>(element.extent);
    return places;
  };
  for (const bool in_place : {false, true}) {
    compare("alltoallv", any_sort(), {blocks.all, blocks.all}, [&](const Sides& s) {
      CALL(s.form, Alltoallv, alltoallv, in_place_if(in_place, s.send), c, d, s.from.type, s.recv,
           c, d, s.into.type, kWorld);
    });
    compare("alltoallw", any_sort(), {blocks.all, blocks.all}, [&](const Sides& s) {
      const auto from = of_types(s.from), into = of_types(s.into);
      const auto send_places = bytes_of(s.from), recv_places = bytes_of(s.into);
      CALL(s.form, Alltoallw, alltoallw, in_place_if(in_place, s.send), c, send_places.data(),
           from.data(), s.recv, c, recv_places.data(), into.data(), kWorld);
    });
  }
}

void reductions(int n) {
  const int all = n * size, root = drawn_alike(size);
  const Blocks blocks([&](int i) { return n + i % 3; });
  const int sum = blocks.all - size, mine = n + rank % 3;  // in one piece
  const int* const c = blocks.counts.data();
  for (const bool in_place : {false, true}) {
    compare("reduce", any_operands(), {n, n}, [&](const Sides& s) {
      CALL(s.form, Reduce, reduce, in_place_if(in_place && rank == root, s.send), s.recv, n,
           s.into.type, s.op, root, kWorld);
    });
    compare("allreduce", any_operands(), {n, n}, [&](const Sides& s) {
      CALL(s.form, Allreduce, allreduce, in_place_if(in_place, s.send), s.recv, n, s.into.type,
           s.op, kWorld);
    });
    compare("reduce_scatter_block", any_operands(), {all, all, n}, [&](const Sides& s) {
      CALL(s.form, Reduce_scatter_block, reduce_scatter_block, in_place_if(in_place, s.send),
           s.recv, n, s.into.type, s.op, kWorld);
    });
    compare("reduce_scatter", any_operands(), {sum, sum, mine}, [&](const Sides& s) {
      CALL(s.form, Reduce_scatter, reduce_scatter, in_place_if(in_place, s.send), s.recv, c,
           s.into.type, s.op, kWorld);
    });
    compare("scan", any_operands(), {n, n}, [&](const Sides& s) {
      CALL(s.form, Scan, scan, in_place_if(in_place, s.send), s.recv, n, s.into.type, s.op, kWorld);
    });
    compare("exscan", any_operands(), {n, n, rank == 0 ? 0 : n}, [&](const Sides& s) {
      CALL(s.form, Exscan, exscan, in_place_if(in_place, s.send), s.recv, n, s.into.type, s.op,
           kWorld);
    });
  }
}

// Several under way at once, a barrier among them, waited for in any order.
void beside_barriers(int n) {
  const auto count = static_cast<std::size_t>(n);
  gpu::Vector<int> ones(std::vector<int>(count, 1), gpu::any_kind()),
      sums(std::vector<int>(count), gpu::any_kind()),
      same(std::vector<int>(count, rank), gpu::any_kind());
  MPI_Request requests[3];
  MPI_Iallreduce(ones.data(), sums.data(), n, MPI_INT, MPI_SUM, kWorld, &requests[0]);
  MPI_Ibarrier(kWorld, &requests[1]);
  MPI_Ibcast(same.data(), n, MPI_INT, size - 1, kWorld, &requests[2]);
  for (int left = 3, at = 0; left > 0; --left) {
    if (gpu::luck()() % 2 == 0) {
      MPI_Waitany(3, requests, &at, MPI_STATUS_IGNORE);
    } else {
      at = static_cast<int>(gpu::luck()() % 3);
      while (requests[at] == MPI_REQUEST_NULL) at = (at + 1) % 3;
      MPI_Wait(&requests[at], MPI_STATUS_IGNORE);
    }
  }
  CHECK(sums.get() == std::vector<int>(count, size));
  CHECK(same.get() == std::vector<int>(count, size - 1));
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  for (const int n : {1, 7, 900, 12000}) {
    movement(n);
    vectors(n);
    vectors_to_all(n);
    reductions(n);
    beside_barriers(n);
    gpu::between_neighbours(n);
    if (size > 1) gpu::between_groups(n);
  }
  gpu::free_sorts();
  return done();
}
