/* Collective calls that do not match: differ KIND COMMUNICATOR HOW. The last rank differs in its
   root, operation, type, count or order, in a blocking or a nonblocking call, on the world or on a
   part of it. "data": broadcasts of different roots, where on the part nobody waits for anybody,
   and many calls after that. "mixed": a blocking call where the others make a nonblocking one.
   "finalize": MPI_Finalize where the others make a call. "borne": a call where the others are in
   MPI_Finalize, whose error its maker bears. */
#include <mpi.h>
#include <string.h>

static int values[4], results[4];
static float floats[4];

static void finish(MPI_Request* request) {
  if (*request != MPI_REQUEST_NULL) MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void call(const char* kind, MPI_Comm comm, int differs, int blocks) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (strcmp(kind, "mixed") == 0) {
    if (blocks == differs)
      MPI_Iallreduce(MPI_IN_PLACE, values, 4, MPI_INT, MPI_SUM, comm, &request);
    else
      MPI_Allreduce(MPI_IN_PLACE, values, 4, MPI_INT, MPI_SUM, comm);
  } else if (strcmp(kind, "finalize") == 0) {
    if (!differs && blocks)
      MPI_Barrier(comm);
    else if (!differs)
      MPI_Ibarrier(comm, &request);
  } else if (strcmp(kind, "borne") == 0) {
    if (differs) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (differs && blocks)
      MPI_Bcast(values, 4, MPI_INT, 0, comm);
    else if (differs)
      MPI_Ibcast(values, 4, MPI_INT, 0, comm, &request);
  } else if (strcmp(kind, "root") == 0) {
    int root = differs ? 1 : 0;
    if (blocks)
      MPI_Reduce(values, results, 4, MPI_INT, MPI_SUM, root, comm);
    else
      MPI_Ireduce(values, results, 4, MPI_INT, MPI_SUM, root, comm, &request);
  } else if (strcmp(kind, "data") == 0) {
    int root = differs ? 1 : 0;
    if (blocks)
      MPI_Bcast(values, 4, MPI_INT, root, comm);
    else
      MPI_Ibcast(values, 4, MPI_INT, root, comm, &request);
  } else if (strcmp(kind, "order") == 0 && differs) {
    if (blocks)
      MPI_Bcast(values, 4, MPI_INT, 1, comm);
    else
      MPI_Ibcast(values, 4, MPI_INT, 1, comm, &request);
  } else if (strcmp(kind, "order") == 0) {
    if (blocks)
      MPI_Reduce(values, results, 4, MPI_INT, MPI_SUM, 0, comm);
    else
      MPI_Ireduce(values, results, 4, MPI_INT, MPI_SUM, 0, comm, &request);
  } else if (strcmp(kind, "type") == 0 && differs) {
    if (blocks)
      MPI_Allreduce(MPI_IN_PLACE, floats, 4, MPI_FLOAT, MPI_SUM, comm);
    else
      MPI_Iallreduce(MPI_IN_PLACE, floats, 4, MPI_FLOAT, MPI_SUM, comm, &request);
  } else {
    MPI_Op op = strcmp(kind, "operation") == 0 && differs ? MPI_MAX : MPI_SUM;
    int count = strcmp(kind, "count") == 0 && differs ? 3 : 4;
    if (blocks)
      MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT, op, comm);
    else
      MPI_Iallreduce(MPI_IN_PLACE, values, count, MPI_INT, op, comm, &request);
  }
  finish(&request);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  /* The last and the first, who are on different hosts; the others make a communicator of the same
     number, on which they go their own way. */
  int inside = rank == size - 1 || rank == 0;
  if (strcmp(argv[2], "part") == 0) MPI_Comm_split(MPI_COMM_WORLD, inside, rank, &comm);
  MPI_Barrier(comm);
  if (comm == MPI_COMM_WORLD || inside)
    call(argv[1], comm, rank == size - 1, strcmp(argv[3], "blocking") == 0);
  else
    MPI_Bcast(values, 2, MPI_INT, 0, comm);
  for (int i = 0; i < 100 && strcmp(argv[1], "data") == 0; ++i) MPI_Barrier(comm);
  MPI_Finalize();
  return 0;
}
