/* narrow deaf|flood -- two ranks on two hosts, whose link stands still for a while.
 *
 * deaf: once the link stands, rank 1's kernel drops every packet of more than 600 bytes, as a path
 * with a wrong MTU does, and large messages follow. flood: rank 0 sends far more than the kernels
 * hold while rank 1 computes for a minute: no fault, and everything arrives. */
#include <linux/filter.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kBytes = 60000, kMessages = 400, kComputes_s = 60, kDescriptors = 256 };

static void drop_large_packets(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0), BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 600, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0), BPF_STMT(BPF_RET | BPF_K, 0xffffffffU)};
  const struct sock_fprog filter = {sizeof code / sizeof code[0], code};
  for (int fd = 3; fd < kDescriptors; ++fd) {
    struct sockaddr_storage peer;
    socklen_t bytes = sizeof peer;
    if (getpeername(fd, (struct sockaddr*)&peer, &bytes) != 0) continue;
    if (peer.ss_family != AF_INET && peer.ss_family != AF_INET6) continue;
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0) perror("filter");
  }
}

int main(int argc, char** argv) {
  static unsigned char data[kMessages][kBytes];
  static MPI_Request requests[kMessages];
  int rank, right = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int is_deaf = argc > 1 && strcmp(argv[1], "deaf") == 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1 && is_deaf) drop_large_packets();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    for (int i = 0; i < kMessages; ++i) {
      memset(data[i], i % 251, kBytes);
      MPI_Isend(data[i], kBytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
    }
  if (rank == 0) MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
  if (rank == 1 && !is_deaf) sleep(kComputes_s);
  for (int i = 0; rank == 1 && i < kMessages; ++i) {
    MPI_Recv(data[i], kBytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int at = 0; at < kBytes; ++at) right = right && data[i][at] == i % 251;
  }
  if (rank == 1) puts(right ? "all right" : "WRONG DATA");
  MPI_Finalize();
  return right ? 0 : 6;
}
