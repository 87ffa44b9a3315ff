// Buffers that lie in each other's gaps are right and arrive right; those that share a byte are
// MPI_ERR_BUFFER (checks=all), in every form of every call.
#include <numeric>

#include "check.h"

using namespace ranks;

namespace {

std::size_t as_size(int n) {
  return static_cast<std::size_t>(n);
}

// Legal: a column goes out, its neighbour comes in; both in one matrix.
void columns() {
  constexpr int kRows = 100, kColumns = 6;
  std::vector<int> matrix(kRows * kColumns, -1);
  MPI_Datatype column;
  MPI_Type_vector(kRows, 1, kColumns, MPI_INT, &column);
  MPI_Type_commit(&column);
  for (int row = 0; row < kRows; ++row) matrix[as_size(row * kColumns + 2)] = rank * 1000 + row;
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  const int code = MPI_Sendrecv(&matrix[2], 1, column, to, 0, &matrix[3], 1, column, from, 0,
                                MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(code == MPI_SUCCESS);
  for (int row = 0; row < kRows; ++row)
    CHECK(matrix[as_size(row * kColumns + 3)] == from * 1000 + row);
  MPI_Type_free(&column);
}

// Legal: blocks that are sent and blocks that are received take turns in one array; places in
// extents, in bytes, and as absolute addresses from MPI_BOTTOM.
void take_turns() {
  std::vector<int> all(as_size(4 * size)), ones(as_size(size), 1), out(as_size(size)),
      in(as_size(size)), out_bytes(as_size(size)), in_bytes(as_size(size));
  std::vector<MPI_Datatype> ints(as_size(size), MPI_INT), out_types(as_size(size)),
      in_types(as_size(size));
  const std::vector<int> at_bottom(as_size(size), 0);
  for (int i = 0; i < size; ++i) {
    out[as_size(i)] = 4 * i;
    in[as_size(i)] = 4 * i + 2;
    out_bytes[as_size(i)] = 16 * i;
    in_bytes[as_size(i)] = 16 * i + 8;
    const int one = 1;
    for (const bool sends : {true, false}) {
      MPI_Aint address = 0;
      MPI_Get_address(&all[as_size(4 * i + (sends ? 0 : 2))], &address);
      MPI_Datatype& type = (sends ? out_types : in_types)[as_size(i)];
      MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &type);
      MPI_Type_commit(&type);
    }
  }
  for (int way = 0; way < 3; ++way) {
    all.assign(all.size(), -1);
    for (int i = 0; i < size; ++i) all[as_size(4 * i)] = value_of(rank, i, way);
    const int code =
        way == 0 ? MPI_Alltoallv(all.data(), ones.data(), out.data(), MPI_INT, all.data(),
                                 ones.data(), in.data(), MPI_INT, MPI_COMM_WORLD)
        : way == 1
            ? MPI_Alltoallw(all.data(), ones.data(), out_bytes.data(), ints.data(), all.data(),
                            ones.data(), in_bytes.data(), ints.data(), MPI_COMM_WORLD)
            : MPI_Alltoallw(MPI_BOTTOM, ones.data(), at_bottom.data(), out_types.data(), MPI_BOTTOM,
                            ones.data(), at_bottom.data(), in_types.data(), MPI_COMM_WORLD);
    CHECK(code == MPI_SUCCESS);
    for (int i = 0; i < size; ++i)
      CHECK(all[as_size(4 * i + 2)] == value_of(i, rank, way) && all[as_size(4 * i + 1)] == -1);
  }
  for (auto* types : {&out_types, &in_types})
    for (MPI_Datatype& type : *types) MPI_Type_free(&type);
}

// Legal: no count, no message, nobody there, in place, and the root's own word in a gap.
void nothing_shared() {
  std::vector<int> words(as_size(3 * size), rank), counts(as_size(size), 1), places(as_size(size));
  const MPI_Comm comm = MPI_COMM_WORLD;
  int* const same = words.data();
  CHECK(MPI_Allreduce(same, same, 0, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
  CHECK(MPI_Sendrecv(same, 0, MPI_INT, rank, 0, same, 1, MPI_INT, rank, 0, comm,
                     MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_Sendrecv(same, 1, MPI_INT, MPI_PROC_NULL, 0, same, 1, MPI_INT, MPI_PROC_NULL, 0, comm,
                     MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, same, 1, MPI_INT, comm) == MPI_SUCCESS);
  for (int i = 0; i < size; ++i) places[as_size(i)] = 2 * i + 1;
  words.assign(words.size(), rank);
  CHECK(MPI_Gatherv(same, 1, MPI_INT, same, counts.data(), places.data(), MPI_INT, 0, comm) ==
        MPI_SUCCESS);
  for (int i = 0; i < size; ++i) CHECK(rank != 0 || words[as_size(2 * i + 1)] == i);
  // A line of ranks: both ends have a neighbour that is nobody, whose blocks are the other's.
  MPI_Comm line;
  const int off = 0;
  MPI_Cart_create(comm, 1, &size, &off, 0, &line);
  int sent[2] = {10 + rank, 10 + rank}, got[2] = {-1, -1};
  const int ones[2] = {1, 1};
  const MPI_Aint out[2] = {0, 4};
  MPI_Aint in[2];
  for (int i = 0; i < 2; ++i) {
    const bool nobody = i == 0 ? rank == 0 : rank == size - 1;
    const void* const place = nobody ? &sent[i] : &got[i];
    in[i] = MPI_Aint_diff(reinterpret_cast<MPI_Aint>(place), reinterpret_cast<MPI_Aint>(got));
  }
  const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  CHECK(MPI_Neighbor_alltoallw(sent, ones, out, types, got, ones, in, types, line) == MPI_SUCCESS);
  CHECK(got[0] == (rank == 0 ? -1 : 9 + rank));
  CHECK(got[1] == (rank == size - 1 ? -1 : 11 + rank));
  CHECK(sent[0] == 10 + rank && sent[1] == 10 + rank);
  MPI_Comm_free(&line);
}

#ifdef TUTTI_ALL_CHECKS

void is_refused(int line, const char* call, int code) {
  int kind = MPI_SUCCESS;
  MPI_Error_class(code, &kind);
  if (kind != MPI_ERR_BUFFER) report(__FILE__, line, call);
}

#define IS_REFUSED(Call, ...) is_refused(__LINE__, #Call, MPI_##Call(__VA_ARGS__))
#define EACH_FORM(Call, call, ...)                                 \
  do {                                                             \
    MPI_Request request = MPI_REQUEST_NULL;                        \
    IS_REFUSED(Call, __VA_ARGS__);                                 \
    IS_REFUSED(Call##_c, __VA_ARGS__);                             \
    IS_REFUSED(I##call, __VA_ARGS__, &request);                    \
    IS_REFUSED(Call##_init, __VA_ARGS__, MPI_INFO_NULL, &request); \
    CHECK(request == MPI_REQUEST_NULL);                            \
  } while (false)
// Arrays are wider in the large form.
#define EACH_SMALL_FORM(Call, call, ...)                           \
  do {                                                             \
    MPI_Request request = MPI_REQUEST_NULL;                        \
    IS_REFUSED(Call, __VA_ARGS__);                                 \
    IS_REFUSED(I##call, __VA_ARGS__, &request);                    \
    IS_REFUSED(Call##_init, __VA_ARGS__, MPI_INFO_NULL, &request); \
    CHECK(request == MPI_REQUEST_NULL);                            \
  } while (false)

struct Table {  // memory in which the last of all blocks is where the other side begins
  std::vector<int> words = std::vector<int>(as_size(4 * size + 4));
  std::vector<int> ones = std::vector<int>(as_size(size), 1);
  std::vector<int> places = std::vector<int>(as_size(size)), bytes = places;
  std::vector<MPI_Count> wide_ones = std::vector<MPI_Count>(as_size(size), 1);
  std::vector<MPI_Aint> wide_places = std::vector<MPI_Aint>(as_size(size)),
                        wide_bytes = wide_places;
  std::vector<MPI_Datatype> types = std::vector<MPI_Datatype>(as_size(size), MPI_INT);
  int* first = words.data();
  int* last = words.data() + size - 1;

  Table() {
    for (int i = 0; i < size; ++i) {
      places[as_size(i)] = i;
      bytes[as_size(i)] = 4 * i;
      wide_places[as_size(i)] = i;
      wide_bytes[as_size(i)] = 4 * i;
    }
  }
};

void without_root(Table& t, MPI_Comm comm) {
  EACH_FORM(Allreduce, allreduce, t.first, t.first + 3, 4, MPI_INT, MPI_SUM, comm);
  EACH_FORM(Scan, scan, t.first + 3, t.first, 4, MPI_INT, MPI_SUM, comm);
  EACH_FORM(Exscan, exscan, t.first, t.first, 1, MPI_INT, MPI_SUM, comm);
  EACH_FORM(Allgather, allgather, t.last, 1, MPI_INT, t.first, 1, MPI_INT, comm);
  EACH_FORM(Alltoall, alltoall, t.last, 1, MPI_INT, t.first, 1, MPI_INT, comm);
  EACH_FORM(Alltoall, alltoall, t.first, 1, MPI_INT, t.last, 1, MPI_INT, comm);
  EACH_FORM(Reduce_scatter_block, reduce_scatter_block, t.first, t.last, 1, MPI_INT, MPI_SUM, comm);
  EACH_SMALL_FORM(Reduce_scatter, reduce_scatter, t.first, t.last, t.ones.data(), MPI_INT, MPI_SUM,
                  comm);
  EACH_SMALL_FORM(Allgatherv, allgatherv, t.last, 1, MPI_INT, t.first, t.ones.data(),
                  t.places.data(), MPI_INT, comm);
  EACH_SMALL_FORM(Alltoallv, alltoallv, t.last, t.ones.data(), t.places.data(), MPI_INT, t.first,
                  t.ones.data(), t.places.data(), MPI_INT, comm);
  EACH_SMALL_FORM(Alltoallw, alltoallw, t.first, t.ones.data(), t.bytes.data(), t.types.data(),
                  t.last, t.ones.data(), t.bytes.data(), t.types.data(), comm);
  IS_REFUSED(Alltoallv_c, t.last, t.wide_ones.data(), t.wide_places.data(), MPI_INT, t.first,
             t.wide_ones.data(), t.wide_places.data(), MPI_INT, comm);
  IS_REFUSED(Alltoallw_c, t.last, t.wide_ones.data(), t.wide_bytes.data(), t.types.data(), t.first,
             t.wide_ones.data(), t.wide_bytes.data(), t.types.data(), comm);
}

// At the root alone: others would wait for it.
void with_root(Table& t, MPI_Comm comm) {
  EACH_FORM(Reduce, reduce, t.first, t.first + 3, 4, MPI_INT, MPI_SUM, 0, comm);
  EACH_FORM(Gather, gather, t.last, 1, MPI_INT, t.first, 1, MPI_INT, 0, comm);
  EACH_FORM(Scatter, scatter, t.first, 1, MPI_INT, t.last, 1, MPI_INT, 0, comm);
  EACH_SMALL_FORM(Gatherv, gatherv, t.last, 1, MPI_INT, t.first, t.ones.data(), t.places.data(),
                  MPI_INT, 0, comm);
  EACH_SMALL_FORM(Scatterv, scatterv, t.first, t.ones.data(), t.places.data(), MPI_INT, t.last, 1,
                  MPI_INT, 0, comm);
}

void among_neighbours(Table& t) {
  MPI_Comm ring;
  std::vector<int> everyone(as_size(size));
  std::iota(everyone.begin(), everyone.end(), 0);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size, everyone.data(), MPI_UNWEIGHTED, size,
                                 everyone.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
  EACH_FORM(Neighbor_allgather, neighbor_allgather, t.last, 1, MPI_INT, t.first, 1, MPI_INT, ring);
  EACH_FORM(Neighbor_alltoall, neighbor_alltoall, t.first, 1, MPI_INT, t.last, 1, MPI_INT, ring);
  EACH_SMALL_FORM(Neighbor_allgatherv, neighbor_allgatherv, t.last, 1, MPI_INT, t.first,
                  t.ones.data(), t.places.data(), MPI_INT, ring);
  EACH_SMALL_FORM(Neighbor_alltoallv, neighbor_alltoallv, t.first, t.ones.data(), t.places.data(),
                  MPI_INT, t.last, t.ones.data(), t.places.data(), MPI_INT, ring);
  EACH_SMALL_FORM(Neighbor_alltoallw, neighbor_alltoallw, t.first, t.ones.data(),
                  t.wide_bytes.data(), t.types.data(), t.last, t.ones.data(), t.wide_bytes.data(),
                  t.types.data(), ring);
  MPI_Comm_free(&ring);
}

// Strided ones that meet in a later block; messages; absolute addresses.
void messages(Table& t) {
  MPI_Datatype strided, absolute;
  MPI_Type_vector(3, 1, 2, MPI_INT, &strided);  // words 0, 2, 4
  MPI_Type_commit(&strided);
  MPI_Aint address = 0;
  const int one = 1;
  MPI_Get_address(t.first + 4, &address);
  MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  MPI_Request request = MPI_REQUEST_NULL;
  IS_REFUSED(Sendrecv, t.first, 1, strided, rank, 0, t.first + 4, 1, MPI_INT, rank, 0,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  IS_REFUSED(Isendrecv, t.first + 2, 2, MPI_INT, rank, 0, t.first, 1, strided, rank, 0,
             MPI_COMM_WORLD, &request);
  IS_REFUSED(Sendrecv, MPI_BOTTOM, 1, absolute, rank, 0, t.first, 1, strided, rank, 0,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  IS_REFUSED(Reduce_local, t.first, t.first + 1, 2, MPI_INT, MPI_SUM);
  MPI_Type_free(&strided);
  MPI_Type_free(&absolute);
}

void refusals() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  Table table;
  without_root(table, MPI_COMM_WORLD);
  if (rank == 0) with_root(table, MPI_COMM_WORLD);
  among_neighbours(table);
  messages(table);
  MPI_Barrier(MPI_COMM_WORLD);
}

#endif

}  // namespace

// With an argument it ends the job by such a call, where they are refused.
int main([[maybe_unused]] int argc, char**) {
  begin();
  columns();
  take_turns();
  nothing_shared();
#ifdef TUTTI_ALL_CHECKS
  int word = 0;
  if (argc > 1) MPI_Allreduce(&word, &word, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  refusals();
#endif
  return done();
}
