/* One of several MPI programs that a rank runs one after another: in_turn WHICH. Odd and even ones call other
   collectives; all send long and short messages; "dies" ends behind a barrier without MPI_Finalize, "silent" behind
   MPI_Init, where "crashes" dies of a signal, and "closes" and "stands in" live on, without descriptors or without a
   first thread; "alone" uses a session of this rank's own. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kLong = 300000 };

static void fail(const char* what) {
  fprintf(stderr, "in_turn: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 9);
}

static int alone(void) {
  int one = 1, sum = 0;
  MPI_Session session;
  MPI_Group self;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://SELF", &self);
  MPI_Comm_create_from_group(self, "alone", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  MPI_Comm_free(&comm);
  MPI_Group_free(&self);
  MPI_Session_finalize(&session);
  if (sum == 1) puts("alone");
  return sum != 1;
}

static void* ends_the_process(void* none) {
  sleep(6);
  _exit(5);
  return none;
}

static void end_behind_init(const char* how) {
  pthread_t thread;
  if (strcmp(how, "silent") == 0) _exit(0);
  if (strcmp(how, "crashes") == 0) raise(SIGKILL);
  if (strcmp(how, "closes") == 0) {
    close_range(3, ~0U, 0);
    ends_the_process(NULL);
  }
  if (strcmp(how, "stands in") == 0 && pthread_create(&thread, NULL, ends_the_process, NULL) == 0) pthread_exit(NULL);
}

int main(int argc, char** argv) {
  const int which = argc > 1 ? atoi(argv[1]) : 0;
  int rank, size;
  if (argc > 1 && strcmp(argv[1], "alone") == 0) return alone();
  MPI_Init(&argc, &argv);
  if (argc > 1) end_behind_init(argv[1]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && strcmp(argv[1], "dies") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(0);
  }
  MPI_Comm twin;
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  static int mine[kLong], theirs[kLong];
  for (int i = 0; i < kLong; ++i) mine[i] = which * 1000 + rank;
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int count = 1; count <= kLong; count = count * 10 > kLong && count < kLong ? kLong : count * 10) {
    MPI_Sendrecv(mine, count, MPI_INT, right, which, theirs, count, MPI_INT, left, which, twin, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i)
      if (theirs[i] != which * 1000 + left) fail("a message of another program");
  }
  int sum = 0, one = which + 1;
  if (which % 2 == 0) {
    for (int i = 0; i < 5; ++i) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, twin);
    if (sum != size * one) fail("a wrong sum");
  } else {
    for (int i = 0; i < 7; ++i) MPI_Bcast(mine, 100 + which, MPI_INT, size - 1, MPI_COMM_WORLD);
    if (mine[0] != which * 1000 + size - 1) fail("a wrong broadcast");
  }
  if (which != 2) MPI_Comm_free(&twin);
  MPI_Finalize();
  if (rank == 0) printf("program %d is done\n", which);
  return 0;
}
