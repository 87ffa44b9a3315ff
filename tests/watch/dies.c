/* Rank 1 dies, in the way that the first word says, while the others wait for it. */
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void last_wish(int signal) {
  (void)signal;
  _exit(7);
}

__attribute__((noinline)) void lose_footing(volatile int* at) {
  *at = 1;
}

__attribute__((noinline)) int dig(int depth) {
  volatile char hole[4096];
  hole[0] = (char)depth;
  return depth < 0 ? 0 : dig(depth + 1) + hole[0];
}

/* A local array that the stack has no room for. */
__attribute__((noinline)) int spread(int at) {
  volatile double field[4000][1000];
  field[0][at] = 1;
  return (int)field[0][at];
}

/* Of a name of 280 letters; its return addresses differ from frame to frame. */
#define JOINED(one, other) one##other
#define JOIN(one, other) JOINED(one, other)
#define TALK talks_and_talks_and_talks_and_talks_and_talks_and_talks_and_never_ends_
#define TALK_ON JOIN(JOIN(TALK, TALK), JOIN(TALK, TALK))
__attribute__((noinline)) int TALK_ON(int depth) {
  if (depth < 1) lose_footing((volatile int*)16);
  if (depth < 1) return 0;
  return depth % 2 == 0 ? TALK_ON(depth - 1) + 1 : TALK_ON(depth - 1) + 2;
}

static pthread_barrier_t edge;

__attribute__((noinline)) void* step_over(void* nothing) {
  pthread_barrier_wait(&edge);
  lose_footing((volatile int*)16);
  return nothing;
}

/* Several threads crash at once. */
static void fall_together(void) {
  pthread_t others[3];
  pthread_barrier_init(&edge, NULL, 4);
  for (int i = 0; i < 3; ++i) pthread_create(&others[i], NULL, step_over, NULL);
  step_over(NULL);
}

static int hold(struct dl_phdr_info* library, size_t bytes, void* held) {
  (void)library, (void)bytes;
  pthread_barrier_wait(held);
  for (;;) pause();
  return 0;
}

/* Looks at the libraries, and keeps the loader's lock over them. */
static void* look_for_ever(void* held) {
  dl_iterate_phdr(hold, held);
  return NULL;
}

/* Takes every signal that is for the process. */
static void* take_all(void* nothing) {
  sigset_t all;
  int taken;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  while (sigwait(&all, &taken) == 0) continue;
  return nothing;
}

/* An alarm of the program's own waits to be heard. */
static void fall_alarmed(void) {
  sigset_t alarms;
  sigemptyset(&alarms);
  sigaddset(&alarms, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &alarms, NULL);
  raise(SIGALRM);
  lose_footing((volatile int*)16);
}

static void* fall_alone(void* nothing) {
  lose_footing((volatile int*)16);
  return nothing;
}

/* Until the thread speaks: it asks a stand-in for addr2line, which says so. */
static pthread_t fall_in_a_thread(void) {
  pthread_t other;
  pthread_create(&other, NULL, fall_alone, NULL);
  while (access(getenv("DIES_SPEAKS"), F_OK) != 0) usleep(1000);
  return other;
}

static void fall_before_lock(void) {
  pthread_t other;
  pthread_create(&other, NULL, take_all, NULL);
  pthread_barrier_init(&edge, NULL, 2);
  pthread_create(&other, NULL, look_for_ever, &edge);
  pthread_barrier_wait(&edge);
  MPI_Send((void*)64, 100, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
}

/* Rank 0 gives more than rank 1 takes. Rank 1 bears that, and its own end is long in coming. */
static void fail_first(int rank) {
  const int counts[] = {1, 0}, places[] = {0, 0};
  const int given[] = {1, 2};
  int taken;
  if (rank == 1) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Gatherv(given, rank == 0 ? 2 : 0, MPI_INT, &taken, counts, places, MPI_INT, 1, MPI_COMM_WORLD);
  if (rank == 1) fall_before_lock();
}

static void die(const char* how) {
  if (strcmp(how, "exits") == 0) exit(MPI_ERR_PROC_ABORTED);
  if (strcmp(how, "hangs up") == 0) { /* the others lose it before its end is known */
    close_range(3, ~0U, 0);
    usleep(200000);
    _exit(MPI_ERR_PROC_ABORTED);
  }
  if (strcmp(how, "aborts") == 0) MPI_Abort(MPI_COMM_WORLD, MPI_ERR_PROC_ABORTED);
  if (strcmp(how, "raises") == 0) MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_PROC_ABORTED);
  if (strcmp(how, "own") == 0) signal(SIGSEGV, last_wish);
  if (strcmp(how, "outside") == 0 || strcmp(how, "own") == 0) lose_footing((volatile int*)16);
  if (strcmp(how, "inside") == 0) MPI_Send((void*)64, 100, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "told") == 0) kill(getpid(), SIGSEGV);
  if (strcmp(how, "child") == 0) {
    const pid_t child = fork();
    if (child == 0) lose_footing((volatile int*)16);
    waitpid(child, NULL, 0);
  }
  if (strcmp(how, "closed") == 0) { /* what is opened next has the numbers of its streams */
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    lose_footing((volatile int*)16);
  }
  if (strcmp(how, "together") == 0) fall_together();
  if (strcmp(how, "before a lock") == 0) fall_before_lock();
  if (strcmp(how, "alarmed") == 0) fall_alarmed();
  if (strcmp(how, "in a thread") == 0) fall_in_a_thread();
  if (strcmp(how, "in a cancelled thread") == 0) pthread_cancel(fall_in_a_thread());
  if (strcmp(how, "wordy") == 0) _exit(TALK_ON(40) & 1);
  if (strcmp(how, "deep") == 0) _exit(dig(0) & 1);
  if (strcmp(how, "wide") == 0) _exit(spread(3) & 1);
}

int main(int argc, char** argv) {
  int rank;
  const int only_ends = argc > 1 && strcmp(argv[1], "stays away from the end") == 0;
  if (argc > 1 && strncmp(argv[1], "stays away", 10) == 0 && strcmp(getenv("OMPI_COMM_WORLD_RANK"), "1") == 0) return 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 1 && strcmp(argv[1], "fails first") == 0) fail_first(rank);
  if (rank == 1 && argc > 1) die(argv[1]);
  if (!only_ends) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
