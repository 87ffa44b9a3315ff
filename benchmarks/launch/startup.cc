// startup: what a program pays for MPI before it does anything: the time of MPI_Init and
// MPI_Finalize, and the private memory of a rank after MPI_Init (from /proc/self/smaps_rollup:
// pages that no other process shares). One line per rank.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

long private_kib() {
  std::ifstream file("/proc/self/smaps_rollup");
  long total = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, 8, "Private_") == 0) total += std::stol(line.substr(line.find(':') + 1));
  }
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  const long before_kib = private_kib();
  const Clock::time_point start = Clock::now();
  MPI_Init(&argc, &argv);
  const Clock::time_point ready = Clock::now();
  const long after_kib = private_kib();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const Clock::time_point closing = Clock::now();
  MPI_Finalize();
  const Clock::time_point end = Clock::now();
  std::printf("startup rank %d init_us %.1f finalize_us %.1f private_kib %ld before_kib %ld\n",
              rank, microseconds(start, ready), microseconds(closing, end), after_kib, before_kib);
  return 0;
}
