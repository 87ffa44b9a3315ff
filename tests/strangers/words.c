/* words SAYS BYTES COUNT FOLDER -- rank 0 says so much to its daemon, COUNT times (0: without end), then makes
 * FOLDER/said; rank 1 writes a line when FOLDER/go is there. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* wireup::RankMessage, with what follows it. */
static void speak(uint32_t says, uint32_t bytes, long count) {
  const uint32_t head[3] = {says, 0, bytes};
  const int to = atoi(getenv("TUTTI_CONTROL_FD"));
  char* message = malloc(sizeof head + bytes);
  memset(message, 'x', sizeof head + bytes);
  memcpy(message, head, sizeof head);
  for (long i = 0; count == 0 || i < count; ++i)
    if (send(to, message, sizeof head + bytes, MSG_NOSIGNAL) < 0) break;
  free(message);
}

int main(int argc, char** argv) {
  char name[4096];
  int rank;
  FILE* said;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc < 5) return 2;
  if (rank == 0) {
    speak((uint32_t)atoi(argv[1]), (uint32_t)atoi(argv[2]), atol(argv[3]));
    snprintf(name, sizeof name, "%s/said", argv[4]);
    if ((said = fopen(name, "w")) != NULL) fclose(said);
  } else {
    snprintf(name, sizeof name, "%s/go", argv[4]);
    while (access(name, F_OK) != 0) usleep(10000);
    puts("rank 1 is heard");
    fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}
