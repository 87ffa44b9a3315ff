/* A process that holds a rank: holder dies: ends without a word; holder child COMMAND: runs another process, which
   cannot be the same rank; holder finalizes COMMAND: the same behind MPI_Finalize. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1 && strcmp(argv[1], "dies") == 0) _exit(0);
  const int is_late = argc > 2 && strcmp(argv[1], "finalizes") == 0;
  if (argc > 2 && !is_late) printf("the child ended with %d\n", system(argv[2]) != 0);
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (is_late) printf("the child ended with %d\n", system(argv[2]) != 0);
  return 0;
}
