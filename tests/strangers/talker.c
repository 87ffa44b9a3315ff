/* talker FOLDER COMPUTES_S BYTES ROUNDS [full] -- two ranks send each other checked messages.
 *
 * Rank 1 computes (sleeps) once FOLDER/attacked is there, and only then makes its first call; rank
 * 0 begins to talk as soon as that file is there. "full": rank 1 has no file descriptor left while
 * it computes, and says how much processor time that took. Rank 0 says "all right" at the end. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static double processor_s(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static int all_descriptors(int* held) {
  struct rlimit limit = {256, 256};
  int count = 0, fd;
  setrlimit(RLIMIT_NOFILE, &limit);
  while (count < 256 && (fd = open("/dev/null", O_RDONLY)) >= 0) held[count++] = fd;
  return count;
}

static void compute(int seconds, int is_full) {
  int held[256];
  const int count = is_full ? all_descriptors(held) : 0;
  const double began = processor_s();
  sleep((unsigned)seconds);
  const double spent = processor_s() - began;
  for (int i = 0; i < count; ++i) close(held[i]);
  if (is_full && spent > seconds / 10.0) {
    fprintf(stderr, "waiting for a descriptor took %.1f s of the processor\n", spent);
    MPI_Abort(MPI_COMM_WORLD, 5);
  }
}

static void fill(unsigned char* data, int bytes, int round, int from) {
  for (int i = 0; i < bytes; ++i) data[i] = (unsigned char)(i * 31 + round * 7 + from + (i >> 8));
}

int main(int argc, char** argv) {
  char attacked[4096];
  int rank;
  if (argc < 5) return 2;
  const int seconds = atoi(argv[2]), bytes = atoi(argv[3]), rounds = atoi(argv[4]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(attacked, sizeof attacked, "%s/attacked", argv[1]);
  while (access(attacked, F_OK) != 0) usleep(10000);
  if (rank == 1) compute(seconds, argc > 5);
  unsigned char* mine = malloc((size_t)bytes + 1);
  unsigned char* theirs = malloc((size_t)bytes + 1);
  unsigned char* expected = malloc((size_t)bytes + 1);
  for (int round = 0; rank < 2 && round < rounds; ++round) {
    fill(mine, bytes, round, rank);
    fill(expected, bytes, round, 1 - rank);
    if (rank == 0) MPI_Send(mine, bytes, MPI_BYTE, 1, round, MPI_COMM_WORLD);
    MPI_Recv(theirs, bytes, MPI_BYTE, 1 - rank, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(mine, bytes, MPI_BYTE, 0, round, MPI_COMM_WORLD);
    if (memcmp(theirs, expected, (size_t)bytes) != 0) {
      printf("WRONG DATA in round %d at rank %d\n", round, rank);
      fflush(stdout);
      MPI_Abort(MPI_COMM_WORLD, 6);
    }
  }
  if (rank == 0) puts("all right");
  MPI_Finalize();
  return 0;
}
