/* MPI 3.0, 16: what was removed in it, as programs of MPI-1 use it (mpicc -mpi1). The bounds MPI_LB and
 * MPI_UB of MPI_Type_struct are those of MPI-1.1, 3.12.3. */
#define TUTTI_MPI1
#include <mpi.h>
#include <stdio.h>

static int failures = 0, called = 0;
#define CHECK(condition) \
  if (!(condition)) fprintf(stderr, "line %d: %s\n", __LINE__, #condition), ++failures

static void on_error(MPI_Comm *comm, int *code, ...) {
  (void)comm;
  (void)code;
  ++called;
}

static void check_bounds(MPI_Datatype type, MPI_Aint lb, MPI_Aint ub) {
  MPI_Aint low = -99, high = -99, extent = -99;
  CHECK(MPI_Type_lb(type, &low) == MPI_SUCCESS && low == lb);
  CHECK(MPI_Type_ub(type, &high) == MPI_SUCCESS && high == ub);
  CHECK(MPI_Type_extent(type, &extent) == MPI_SUCCESS && extent == ub - lb);
}

static void bounds(void) {
  int ones[3] = {1, 1, 1}, size = 0;
  MPI_Aint places[3] = {-3, 0, 6};
  MPI_Datatype types[3] = {MPI_LB, MPI_INT, MPI_UB}, type1, type2, pair, plain;
  MPI_Type_struct(3, ones, places, types, &type1); /* the example of MPI-1.1 */
  check_bounds(type1, -3, 6);
  MPI_Type_size(type1, &size);
  CHECK(size == 4);
  MPI_Type_contiguous(2, type1, &type2); /* bounds are inherited */
  check_bounds(type2, -3, 15);
  types[0] = type1;
  types[1] = MPI_UB;
  places[0] = 0;
  places[1] = 4;
  MPI_Type_struct(2, ones, places, types, &pair); /* within those of an entry */
  check_bounds(pair, -3, 6);
  places[1] = 100;
  MPI_Type_free(&pair);
  MPI_Type_struct(2, ones, places, types, &pair);
  check_bounds(pair, -3, 100);
  types[0] = MPI_INT;
  MPI_Type_create_struct(2, ones, places, types, &plain); /* one bound only */
  check_bounds(plain, 0, 100);
  MPI_Type_free(&plain);
  MPI_Type_struct(1, ones, places, types, &plain);
  check_bounds(plain, 0, 4);
  MPI_Type_free(&plain);
  types[0] = MPI_LB; /* no entry but a bound: the other one is 0 */
  places[0] = 10;
  MPI_Type_struct(1, ones, places, types, &plain);
  check_bounds(plain, 10, 0);
  MPI_Type_free(&plain);
  MPI_Type_free(&pair);
  MPI_Type_free(&type2);
  MPI_Type_free(&type1);
}

static void messages(int rank) {
  struct {
    int word, gap;
    double real;
  } out[2] = {{1, 7, 2.5}, {3, 7, 4.5}}, in[2] = {{0, 8, 0}, {0, 8, 0}};
  int ones[3] = {1, 1, 1};
  MPI_Aint places[3], from;
  MPI_Datatype types[3] = {MPI_INT, MPI_DOUBLE, MPI_UB}, type, column;
  MPI_Address(&out[0], &from);
  MPI_Address(&out[0].word, &places[0]);
  MPI_Address(&out[0].real, &places[1]);
  MPI_Address(&out[1], &places[2]);
  places[0] -= from;
  places[1] -= from;
  places[2] -= from;
  MPI_Type_struct(3, ones, places, types, &type);
  MPI_Type_commit(&type);
  MPI_Sendrecv(out, 2, type, rank, 1, in, 2, type, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in[0].word == 1 && in[0].gap == 8 && in[1].word == 3 && in[1].real == 4.5);
  MPI_Type_free(&type);
  MPI_Type_hvector(3, 1, 16, MPI_INT, &column);
  check_bounds(column, 0, 36);
  MPI_Type_free(&column);
  MPI_Type_hindexed(2, ones, places, MPI_INT, &column);
  check_bounds(column, 0, 12);
  MPI_Type_free(&column);
}

static void handlers(void) {
  MPI_Handler_function *function = &on_error;
  MPI_Errhandler handler, found;
  MPI_Errhandler_create(function, &handler);
  MPI_Errhandler_set(MPI_COMM_WORLD, handler);
  MPI_Errhandler_get(MPI_COMM_WORLD, &found);
  CHECK(found == handler);
  MPI_Errhandler_free(&found);
  MPI_Errhandler_free(&handler);
  MPI_Send(NULL, 0, MPI_INT, 1 << 20, 0, MPI_COMM_WORLD);
  CHECK(called == 1);
}

static int is_of_integer(int combiner) {
  return combiner == MPI_COMBINER_HVECTOR_INTEGER || combiner == MPI_COMBINER_HINDEXED_INTEGER ||
         combiner == MPI_COMBINER_STRUCT_INTEGER;
}

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  bounds();
  messages(rank);
  handlers();
  CHECK(!is_of_integer(MPI_COMBINER_STRUCT));
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
