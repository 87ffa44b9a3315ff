// paired: four ranks on GPUs of which 0 and 1, 2 and 3 reach each other, and no others. Messages
// are right either way, by the way that there is; and so are collectives of all of them.
#include <cstdlib>
#include <numeric>

#include "area.h"
#include "counted.h"

using namespace ranks;
using gpu::Kind;

namespace {

constexpr int kCount = 300000;

std::vector<int> numbers(int from) {
  std::vector<int> all(kCount);
  std::iota(all.begin(), all.end(), from * 1000003);
  return all;
}

void exchange(int other, Kind kind) {
  const gpu::Vector<int> out(numbers(rank), kind);
  gpu::Vector<int> in(std::vector<int>(kCount, -1), Kind::device);
  CU(cuCtxSynchronize());
  const unsigned long long before = gpu::through_host();
  MPI_Sendrecv(out.data(), kCount, MPI_INT, other, 1, in.data(), kCount, MPI_INT, other, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const bool is_past_host = gpu::through_host() == before;
  CHECK(is_past_host == (rank / 2 == other / 2));
  CHECK(in.get() == numbers(other));
}

void collectives() {
  gpu::Vector<int> out(std::vector<int>(kCount, rank), Kind::device);
  gpu::Vector<int> in(std::vector<int>(kCount, -1), Kind::device);
  MPI_Allreduce(out.data(), in.data(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(in.get() == std::vector<int>(kCount, size * (size - 1) / 2));
  MPI_Alltoall(out.data(), kCount / size, MPI_INT, in.data(), kCount / size, MPI_INT,
               MPI_COMM_WORLD);
  const std::vector<int> got = in.get();
  for (int from = 0; from < size; ++from)
    CHECK(got[static_cast<std::size_t>(from * (kCount / size))] == from);
  MPI_Bcast(out.data(), kCount, MPI_INT, size - 1, MPI_COMM_WORLD);
  CHECK(out.get() == std::vector<int>(kCount, size - 1));
}

}  // namespace

int main() {
  ::setenv("TUTTI_SINGLE_COPY", "on", 0);  // of what could be read all is
  begin();
  gpu::begin();
  gpu::Vector<int> first({rank}, Kind::device);  // measures what copies take
  MPI_Allreduce(MPI_IN_PLACE, first.data(), 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (const Kind kind : {Kind::shareable_mapped, Kind::shareable_pool, Kind::device})
    for (int round = 1; round < 4; ++round) exchange(rank ^ round, kind);
  collectives();
  return done();
}
