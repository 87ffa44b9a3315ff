// Host memory in a program that uses a GPU, by two ranks: of each buffer of a call the driver is
// asked once whose it is, of blocks that lie together once, and for nothing else. The same of GPU
// memory: one question a buffer, and one call that begins for each side.
#include "area.h"
#include "counted.h"

using namespace ranks;
using gpu::Area;
using gpu::Kind;

namespace {

constexpr int kTimes = 50;
constexpr int kBytes = 1 << 20;

// Questions to the driver about addresses that a call asks, `of` being what is counted.
template <class Call>
unsigned long long counted_in(const char* of, const Call& call) {
  for (int i = 0; i < 2 * kTimes; ++i) call();  // ways are tried, and members ask more rarely
  MPI_Barrier(MPI_COMM_WORLD);
  const unsigned long long before = gpu::counted(of);
  for (int i = 0; i < kTimes; ++i) call();
  const unsigned long long after = gpu::counted(of);
  MPI_Barrier(MPI_COMM_WORLD);
  return after - before;
}

// Nobody asks by which way a call goes: there is no NCCL here (TUTTI_GPU_SUPPORT=auto).
template <class Call>
void expect(const char* of, unsigned long long wanted, const Call& call) {
  const unsigned long long found = counted_in(of, call);
  CHECK(found == wanted * kTimes);
  if (found != wanted * kTimes && rank == 0)
    std::fprintf(stderr, "%llu of %s in %d calls, not %llu in each\n", found, of, kTimes, wanted);
}

void messages(void* mine, void* other, int bytes) {
  const int peer = 1 - rank;
  expect("calls", 2, [&] {
    MPI_Sendrecv(mine, bytes, MPI_BYTE, peer, 0, other, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  });
  expect("calls", 2, [&] {
    if (rank == 0) MPI_Send(mine, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(other, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(mine, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
  });
}

void collectives(const char* of, void* mine, void* other, int bytes) {
  const int half = bytes / 2, count = bytes / 4, all[] = {half, half}, at[] = {0, half};
  expect(of, 1, [&] { MPI_Bcast(mine, bytes, MPI_BYTE, 0, MPI_COMM_WORLD); });
  expect(of, 2, [&] { MPI_Allreduce(mine, other, count, MPI_INT, MPI_MAX, MPI_COMM_WORLD); });
  expect(of, 1,
         [&] { MPI_Allreduce(MPI_IN_PLACE, other, count, MPI_INT, MPI_MAX, MPI_COMM_WORLD); });
  expect(of, 2,
         [&] { MPI_Allgather(mine, half, MPI_BYTE, other, half, MPI_BYTE, MPI_COMM_WORLD); });
  expect(of, 2,
         [&] { MPI_Alltoallv(mine, all, at, MPI_BYTE, other, all, at, MPI_BYTE, MPI_COMM_WORLD); });
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  Area used(kBytes, Kind::device), also(kBytes, Kind::device);  // from here on the GPU is in use
  for (Area* const each : {&used, &also}) each->put(std::vector<char>(kBytes).data(), kBytes);
  MPI_Sendrecv_replace(used.data(), 64, MPI_BYTE, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  alignas(4096) static char mine[kBytes], other[kBytes];
  expect("calls", 0, [] { MPI_Barrier(MPI_COMM_WORLD); });
  for (const int bytes : {8, 4096, kBytes}) messages(mine, other, bytes);
  for (const int bytes : {8, 4096}) collectives("calls", mine, other, bytes);
  // Each call that begins is an event in the default stream, which is asked first.
  collectives("cuStreamIsCapturing", used.data(), also.data(), 4096);
  return done();
}
