/* background -- puts itself into the background and would be an MPI program there, one day. */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc == 1 && daemon(1, 0) != 0) return 1;
  while (argc == 1) pause();
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}
