// Datatypes: every constructor, what can be asked of them, packing.
#include <array>

#include "everywhere.h"

namespace everywhere {
namespace {

// Made from int; freed by the caller.
std::vector<MPI_Datatype> make_all() {
  const int lengths[2] = {1, 2}, places[2] = {0, 3}, sizes[1] = {8}, parts[1] = {2},
            starts[1] = {1};
  const int spread[1] = {MPI_DISTRIBUTE_BLOCK}, whole[1] = {MPI_DISTRIBUTE_DFLT_DARG},
            grid[1] = {1};
  const MPI_Aint bytes[2] = {0, 12};
  const MPI_Datatype types[2] = {MPI_INT, MPI_FLOAT};
  std::vector<MPI_Datatype> made(13);
  auto next = made.begin();
  MPI_Type_contiguous(3, MPI_INT, &*next++);
  MPI_Type_vector(2, 1, 2, MPI_INT, &*next++);
  MPI_Type_create_hvector(2, 1, 8, MPI_INT, &*next++);
  MPI_Type_indexed(2, lengths, places, MPI_INT, &*next++);
  MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &*next++);
  MPI_Type_create_indexed_block(2, 1, places, MPI_INT, &*next++);
  MPI_Type_create_hindexed_block(2, 1, bytes, MPI_INT, &*next++);
  MPI_Type_create_struct(2, lengths, bytes, types, &*next++);
  MPI_Type_create_resized(MPI_INT, 0, 16, &*next++);
  MPI_Type_create_subarray(1, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &*next++);
  MPI_Type_create_darray(1, 0, 1, sizes, spread, whole, grid, MPI_ORDER_C, MPI_INT, &*next++);
  MPI_Type_dup(made[0], &*next++);
  MPI_Type_vector(2, 1, 2, made[1], &*next++);
  return made;
}

void asked(MPI_Datatype type) {
  MPI_Aint low = -1, extent = -1;
  MPI_Count low_x = -1, extent_x = -1, size_x = -1;
  int bytes = 0, integers = 0, addresses = 0, types = 0, combiner = 0;
  MPI_Type_size(type, &bytes);
  MPI_Type_size_x(type, &size_x);
  MPI_Type_get_extent(type, &low, &extent);
  MPI_Type_get_extent_x(type, &low_x, &extent_x);
  CHECK(bytes == size_x && extent == extent_x && bytes > 0);
  MPI_Type_get_true_extent(type, &low, &extent);
  MPI_Type_get_true_extent_x(type, &low_x, &extent_x);
  CHECK(low == low_x && extent == extent_x);
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  CHECK(integers <= 16 && addresses <= 4 && types <= 4 && combiner != MPI_COMBINER_NAMED);
  std::array<int, 16> all_integers;
  std::array<MPI_Aint, 4> all_addresses;
  std::array<MPI_Datatype, 4> all_types;
  MPI_Type_get_contents(type, integers, addresses, types, all_integers.data(), all_addresses.data(),
                        all_types.data());
  for (int i = 0; i < types; ++i) {
    MPI_Type_get_envelope(all_types[as_size(i)], &integers, &addresses, &bytes, &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&all_types[as_size(i)]);
  }
}

void constructors(const Mine&) {
  for (MPI_Datatype& type : make_all()) {
    asked(type);
    MPI_Type_commit(&type);
    MPI_Type_free(&type);
  }
}

// Each goes to the neighbour in its own layout and comes as plain words.
void travelling(const Mine& my) {
  for (MPI_Datatype& type : make_all()) {
    std::array<int, 32> out, in{};
    out.fill(my.thread);
    MPI_Type_commit(&type);
    MPI_Status status;
    int elements = 0, bytes = 0;
    MPI_Count elements_x = 0;
    MPI_Sendrecv(out.data(), 1, type, right(), 700, in.data(), 1, type, left(), 700, my.comm,
                 &status);
    MPI_Get_elements(&status, type, &elements);
    MPI_Get_elements_x(&status, type, &elements_x);
    MPI_Type_size(type, &bytes);
    CHECK(elements == elements_x && elements * 4 == bytes);
    MPI_Type_free(&type);
  }
}

void packing(const Mine& my) {
  MPI_Datatype pair;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  const int out[3] = {my.thread, -1, rank};
  int in[3] = {0, 0, 0}, place = 0, needed = 0;
  char packed[64];
  MPI_Pack_size(1, pair, my.comm, &needed);
  MPI_Pack(out, 1, pair, packed, sizeof packed, &place, my.comm);
  CHECK(place <= needed);
  place = 0;
  MPI_Unpack(packed, sizeof packed, &place, in, 1, pair, my.comm);
  CHECK(in[0] == my.thread && in[1] == 0 && in[2] == rank);
  MPI_Aint room = 0, at = 0;
  MPI_Pack_external_size("external32", 1, pair, &room);
  MPI_Pack_external("external32", out, 1, pair, packed, sizeof packed, &at);
  CHECK(at == room);
  at = 0;
  in[0] = in[2] = -1;
  MPI_Unpack_external("external32", packed, sizeof packed, &at, in, 1, pair);
  CHECK(in[0] == my.thread && in[2] == rank);
  MPI_Type_free(&pair);
}

// Types by their properties; addresses.
void found(const Mine&) {
  MPI_Datatype real, complex, integer, matched, pair;
  MPI_Type_create_f90_real(10, MPI_UNDEFINED, &real);
  MPI_Type_create_f90_complex(10, MPI_UNDEFINED, &complex);
  MPI_Type_create_f90_integer(5, &integer);
  MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, &matched);
  MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair);
  CHECK(real != MPI_DATATYPE_NULL && complex != MPI_DATATYPE_NULL && pair == MPI_DOUBLE_INT);
  CHECK(integer != MPI_DATATYPE_NULL && matched != MPI_DATATYPE_NULL);
  int words[2];
  MPI_Aint first = 0, second = 0;
  MPI_Get_address(&words[0], &first);
  MPI_Get_address(&words[1], &second);
  CHECK(MPI_Aint_diff(second, first) == sizeof(int));
  CHECK(MPI_Aint_add(first, sizeof(int)) == second);
}

constexpr std::array<Family, 4> kFamilies{constructors, travelling, packing, found};

}  // namespace

std::span<const Family> datatypes() {
  return kFamilies;
}

}  // namespace everywhere
