// comm_memory: private memory that a rank pays for one more communicator, and the time to make
// it when there are many: a thousand of them are made, all are kept, each is used once.
//
//   comm_memory KIND      dup, split (two halves)
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr int kComms = 1000;

long private_kib() {
  std::ifstream file("/proc/self/smaps_rollup");
  long total = 0;
  for (std::string line; std::getline(file, line);)
    if (line.compare(0, 8, "Private_") == 0) total += std::stol(line.substr(line.find(':') + 1));
  return total;
}

MPI_Comm make(bool splits, int rank) {
  MPI_Comm comm = MPI_COMM_NULL;
  if (splits)
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
  else
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return comm;
}

bool sums_ranks(MPI_Comm comm) {
  int one = 1, sum = 0, size = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  MPI_Comm_size(comm, &size);
  return sum == size;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "";
  if (kind != "dup" && kind != "split") {
    std::fprintf(stderr, "comm_memory: the first word is dup or split\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<MPI_Comm> comms(kComms, MPI_COMM_NULL);
  MPI_Comm first = make(kind == "split", rank);  // what is paid once
  bool is_right = sums_ranks(first);
  MPI_Barrier(MPI_COMM_WORLD);
  const long before_kib = private_kib();
  const double start = MPI_Wtime();
  for (MPI_Comm& comm : comms) comm = make(kind == "split", rank);
  const double each_us = (MPI_Wtime() - start) * 1e6 / kComms;
  const double made_bytes = static_cast<double>(private_kib() - before_kib) * 1024 / kComms;
  for (MPI_Comm comm : comms) is_right = sums_ranks(comm) && is_right;
  const double used_bytes = static_cast<double>(private_kib() - before_kib) * 1024 / kComms;
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  MPI_Comm_free(&first);
  std::printf("comm_memory rank %d made_bytes %.0f used_bytes %.0f each_us %.1f\n", rank,
              made_bytes, used_bytes, each_us);
  MPI_Finalize();
  return is_right ? 0 : 1;
}
