/* everybody [END [opens]] -- every rank sends to every other one at once: each pair's first message, by whatever link
 * they have. Before that the last one closes all its descriptors from 3 on and below END, and "opens" files of its own,
 * which have those numbers then: epolls of what is always readable. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void open_own(void) {
  enum { kMost = 64 };
  struct epoll_event event = {.events = EPOLLIN};
  int epolls[kMost];
  for (int i = 0; i < kMost; ++i) epolls[i] = epoll_create1(0);
  event.data.fd = eventfd(1, 0);
  for (int i = 0; i < kMost; ++i) epoll_ctl(epolls[i], EPOLL_CTL_ADD, event.data.fd, &event);
}

int main(int argc, char** argv) {
  int rank, size, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && rank == size - 1)
    for (int each = 3; each < atoi(argv[1]); ++each) close(each);
  if (argc > 2 && rank == size - 1) open_own();
  MPI_Request* const requests = malloc(2 * (size_t)size * sizeof *requests);
  int* const got = malloc((size_t)size * sizeof *got);
  for (int peer = 0; peer < size; ++peer)
    MPI_Irecv(&got[peer], 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &requests[peer]);
  for (int peer = 0; peer < size; ++peer)
    MPI_Isend(&rank, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &requests[size + peer]);
  MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
  for (int peer = 0; peer < size; ++peer) wrong |= got[peer] != peer;
  free(requests);
  free(got);
  if (rank == 0 && !wrong) puts("all right");
  MPI_Finalize();
  return wrong;
}
