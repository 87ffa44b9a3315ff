/* Jobs that go wrong in ways prun must explain: the last rank never comes, or comes to another call,
   or dies while the others wait for it. Each rank says when it has met the others: the start is over. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

static void lost_in_thought(void) {
  for (;;) pause();
}

/* Until the child execs or ends, the parent of vfork stands in the kernel, in state D. */
static void stay_in_the_kernel(void) {
  if (vfork() == 0) lost_in_thought();
}

/* By a child that is its debugger. */
static void come_under_a_debugger(void) {
  pid_t parent = getpid();
  int ready[2];
  char word;
  if (pipe(ready) != 0) return;
  if (fork() == 0) {
    if (read(ready[0], &word, 1) == 1 && ptrace(PTRACE_ATTACH, parent, NULL, NULL) == 0) lost_in_thought();
    fputs("cannot trace here\n", stderr);
    _exit(0);
  }
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  if (write(ready[1], "", 1) != 1) return;
  lost_in_thought();
}

/* A giver of long blocks waits until they are read; the last rank is elsewhere, and then one behind. */
static void out_of_step(int last) {
  static char block[1 << 16];
  for (int i = 0; i < 5; ++i) MPI_Bcast(block, sizeof block, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD); /* all have said by now that they can read the others' memory */
  if (last) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(block, sizeof block, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (!last) MPI_Barrier(MPI_COMM_WORLD);
}

static void* receives(void* says_so) {
  int value;
  *(volatile int*)says_so = 1;
  MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return NULL;
}

/* One thread is in a call when another leaves one. */
static void in_a_thread(void) {
  pthread_t thread;
  volatile int has_begun = 0;
  pthread_create(&thread, NULL, receives, (void*)&has_begun);
  while (!has_begun) usleep(1000);
  usleep(200000);
  MPI_Barrier(MPI_COMM_WORLD);
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  int rank, size, level, values[4] = {0};
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "late") == 0 && getenv("RANK") != NULL && atoi(getenv("RANK")) == 2) lost_in_thought();
  MPI_Init_thread(&argc, &argv, strcmp(what, "in a thread") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  int last = rank == size - 1;
  fprintf(stderr, "rank %d is there\n", rank);
  if (strcmp(what, "in a thread") == 0) in_a_thread();
  if (strcmp(what, "lost") == 0) lost_in_thought();
  if (strcmp(what, "missing") == 0 && last) lost_in_thought();
  if (strcmp(what, "stopped") == 0 && last) raise(SIGSTOP);
  if (strcmp(what, "in the kernel") == 0 && last) stay_in_the_kernel();
  if (strcmp(what, "debugged") == 0 && last) come_under_a_debugger();
  if (strcmp(what, "killed") == 0 && last) raise(SIGKILL);
  if (strcmp(what, "echo") == 0 && last) { /* its loss is told before its death */
    close_range(3, ~0U, 0);
    usleep(20000);
    raise(SIGKILL);
  }
  if (strcmp(what, "crashed") == 0 && last) raise(SIGSEGV);
  if (strcmp(what, "out of step") == 0) out_of_step(last);
  if (strcmp(what, "exited") == 0 && last) _exit(3);
  if (strcmp(what, "leaders") == 0) { /* who say different tags */
    MPI_Comm inter;
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 5 + rank, &inter);
  }
  if (strcmp(what, "groups") == 0) { /* whose leaders say different texts */
    MPI_Group self, world, other;
    MPI_Comm inter;
    int remote = 1 - rank;
    MPI_Comm_group(MPI_COMM_SELF, &self);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &remote, &other);
    MPI_Intercomm_create_from_groups(self, 0, other, 0, rank == 0 ? "one" : "two", MPI_INFO_NULL, MPI_ERRORS_ABORT,
                                     &inter);
  }
  if (strcmp(what, "other") == 0 && last) {
    MPI_Bcast(values, 4, MPI_INT, 0, MPI_COMM_WORLD);
  } else if (strcmp(what, "type") == 0 && last) {
    float floats[4] = {0};
    MPI_Allreduce(MPI_IN_PLACE, floats, 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  } else if (strcmp(what, "count") == 0 && last) {
    MPI_Allreduce(MPI_IN_PLACE, values, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  } else if (strcmp(what, "operation") == 0 && last) {
    MPI_Allreduce(MPI_IN_PLACE, values, 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  } else if (strcmp(what, "root") == 0) {
    MPI_Bcast(values, 4, MPI_INT, last ? 1 : 0, MPI_COMM_WORLD);
  } else {
    MPI_Allreduce(MPI_IN_PLACE, values, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
