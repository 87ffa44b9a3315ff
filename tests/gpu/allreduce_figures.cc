// Allreduce of float sums in GPU memory, 8 B to the size in the second word, by eights and what is
// usual beside (64 KiB, 1 MiB): a JSON object a line, by rank 0. The first word names the run (what
// TUTTI_ALLREDUCE and TUTTI_COSTS make of it); "nccl" has bare NCCL beside it, in turns with ours.
// The third is by what the number of calls is divided.
//
//   {"what": "allreduce", "by": "nccl", "ranks": 2, "bytes": 1048576, "us": 41.2}
#include <algorithm>
#include <cstdlib>

#include "area.h"
#include "rounds.h"
#ifdef WITH_NCCL
#include "bare_nccl.h"
#endif

using namespace ranks;
using gpu::Area;
using gpu::Kind;

namespace {

constexpr std::size_t kSizes[] = {8,       64,      512,     4096,     32768,     65536,
                                  1 << 18, 1 << 20, 2 << 20, 16 << 20, 128 << 20, 1 << 30};

// Us a call of one round, with the slowest rank; known to rank 0. By messages: a collective of host
// memory in between would have its part in who is asked.
template <class Call>
double slowest_of(int times, const Call& call) {
  double slowest = gpu::round_of(times, call), us = 0;
  if (rank > 0) MPI_Send(&slowest, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
  for (int other = 1; rank == 0 && other < size; ++other) {
    MPI_Recv(&us, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    slowest = std::max(slowest, us);
  }
  return slowest;
}

void tell(const char* by, std::size_t bytes, const std::vector<double>& rounds) {
  if (rank == 0)
    std::printf(
        "{\"what\": \"allreduce\", \"by\": \"%s\", \"ranks\": %d, \"bytes\": %zu, \"us\": %.3f}\n",
        by, size, bytes, gpu::middle_of(rounds));
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  gpu::begin();
  const char* const by = argc > 1 ? argv[1] : "chosen";
  const std::size_t most = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::size_t{1} << 30;
  if (argc > 3) gpu::fewer = std::atoi(argv[3]);
  Area send(most, Kind::device), recv(most, Kind::device);
#ifdef WITH_NCCL
  gpu::BareNccl bare(std::strcmp(by, "nccl") == 0);
#endif
  for (const std::size_t bytes : kSizes) {
    if (bytes > most) break;
    const std::size_t count = bytes / sizeof(float);
    const int times = gpu::times_of(bytes, {200, 30, 4});
    std::vector<double> ours, beside;
    for (int round = 0; round < gpu::kRounds; ++round) {
      ours.push_back(slowest_of(times, [&] {
        MPI_Allreduce(send.data(), recv.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
      }));
#ifdef WITH_NCCL
      if (bare)
        beside.push_back(slowest_of(times, [&] { bare.sum(send.data(), recv.data(), count); }));
#endif
    }
    tell(by, bytes, ours);
    if (!beside.empty()) tell("nccl_bare", bytes, beside);
  }
  return done();
}
