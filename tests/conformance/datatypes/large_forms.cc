// MPI 5.0, 5.1.2 and 5.1.13: every constructor's large form makes the same type as the small one;
// its envelope has its numbers as large counts, and the small question about it is an error.
#include "check.h"

using namespace ranks;

namespace {

std::vector<char> packed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  std::vector<signed char> memory(16000);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<signed char>(i % 127);
  MPI_Count size = 0, position = 0;
  MPI_Pack_size_c(2, type, MPI_COMM_SELF, &size);
  std::vector<char> bytes(static_cast<std::size_t>(size));
  MPI_Pack_c(&memory[4000], 2, type, bytes.data(), size, &position, MPI_COMM_SELF);
  std::vector<signed char> back(16000, -1);
  MPI_Count from = 0, restored = 0;
  MPI_Unpack_c(bytes.data(), size, &from, &back[4000], 2, type, MPI_COMM_SELF);
  for (std::size_t i = 0; i < back.size(); ++i) {
    CHECK(back[i] == -1 || back[i] == memory[i]);
    restored += back[i] != -1;
  }
  CHECK(from == position && restored == size);
  return bytes;
}

// Frees both.
void same(MPI_Datatype small, MPI_Datatype large, MPI_Count counts) {
  MPI_Count lower[2], extent[2], size[2], size_x = 0;
  MPI_Type_get_extent_c(small, &lower[0], &extent[0]);
  MPI_Type_get_extent_c(large, &lower[1], &extent[1]);
  MPI_Type_size_c(small, &size[0]);
  MPI_Type_size_c(large, &size[1]);
  MPI_Type_size_x(large, &size_x);
  CHECK(lower[0] == lower[1] && extent[0] == extent[1] && size[0] == size[1] && size[0] == size_x);
  CHECK(packed(small) == packed(large));
  MPI_Count integers = 0, addresses = 0, numbers = 0, types = 0;
  int combiner = 0, small_combiner = 0, few[3];
  MPI_Type_get_envelope_c(large, &integers, &addresses, &numbers, &types, &combiner);
  MPI_Type_get_envelope(small, &few[0], &few[1], &few[2], &small_combiner);
  CHECK(addresses == 0 && numbers == counts && combiner == small_combiner && types == few[2]);
  CHECK(MPI_Type_get_envelope(large, &few[0], &few[1], &few[2], &combiner) == MPI_ERR_TYPE);
  std::vector<int> some(16);
  std::vector<MPI_Count> many(16);
  MPI_Datatype olds[4];
  CHECK(MPI_Type_get_contents_c(large, 16, 0, 16, 4, some.data(), nullptr, many.data(), olds) ==
        MPI_SUCCESS);
  MPI_Type_free(&small);
  MPI_Type_free(&large);
}

const int kBlocks[3] = {2, 0, 3}, kPlaces[3] = {9, 1, 0};
const MPI_Aint kBytes[3] = {40, 4, 0};
const MPI_Count kBlocksC[3] = {2, 0, 3}, kPlacesC[3] = {9, 1, 0}, kBytesC[3] = {40, 4, 0};

void strided() {
  MPI_Datatype a, b;
  MPI_Type_contiguous(5, MPI_INT, &a);
  MPI_Type_contiguous_c(5, MPI_INT, &b);
  same(a, b, 1);
  MPI_Type_vector(4, 2, -3, MPI_INT, &a);
  MPI_Type_vector_c(4, 2, -3, MPI_INT, &b);
  same(a, b, 3);
  MPI_Type_create_hvector(4, 2, 20, MPI_INT, &a);
  MPI_Type_create_hvector_c(4, 2, 20, MPI_INT, &b);
  same(a, b, 3);
  MPI_Type_create_resized(MPI_INT, -4, 12, &a);
  MPI_Type_create_resized_c(MPI_INT, -4, 12, &b);
  same(a, b, 2);
}

void listed() {
  MPI_Datatype a, b;
  const MPI_Datatype types[3] = {MPI_INT, MPI_CHAR, MPI_SHORT};
  MPI_Type_indexed(3, kBlocks, kPlaces, MPI_INT, &a);
  MPI_Type_indexed_c(3, kBlocksC, kPlacesC, MPI_INT, &b);
  same(a, b, 7);
  MPI_Type_create_hindexed(3, kBlocks, kBytes, MPI_INT, &a);
  MPI_Type_create_hindexed_c(3, kBlocksC, kBytesC, MPI_INT, &b);
  same(a, b, 7);
  MPI_Type_create_indexed_block(3, 1, kPlaces, MPI_SHORT, &a);
  MPI_Type_create_indexed_block_c(3, 1, kPlacesC, MPI_SHORT, &b);
  same(a, b, 5);
  MPI_Type_create_hindexed_block(3, 2, kBytes, MPI_SHORT, &a);
  MPI_Type_create_hindexed_block_c(3, 2, kBytesC, MPI_SHORT, &b);
  same(a, b, 5);
  MPI_Type_create_struct(3, kBlocks, kBytes, types, &a);
  MPI_Type_create_struct_c(3, kBlocksC, kBytesC, types, &b);
  same(a, b, 7);
}

void arrays() {
  MPI_Datatype a, b;
  const int sizes[2] = {6, 5}, subsizes[2] = {2, 3}, starts[2] = {1, 2};
  const MPI_Count sizes_c[2] = {6, 5}, subsizes_c[2] = {2, 3}, starts_c[2] = {1, 2};
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &a);
  MPI_Type_create_subarray_c(2, sizes_c, subsizes_c, starts_c, MPI_ORDER_FORTRAN, MPI_INT, &b);
  same(a, b, 6);
  const int spread[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, grid[2] = {2, 2};
  const int arguments[2] = {2, MPI_DISTRIBUTE_DFLT_DARG};
  MPI_Type_create_darray(4, 3, 2, sizes, spread, arguments, grid, MPI_ORDER_C, MPI_INT, &a);
  MPI_Type_create_darray_c(4, 3, 2, sizes_c, spread, arguments, grid, MPI_ORDER_C, MPI_INT, &b);
  same(a, b, 2);
}

}  // namespace

int main() {
  begin();
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  strided();
  listed();
  arrays();
  return done();
}
