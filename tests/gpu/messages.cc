// Messages between memory of all kinds: each mode, each protocol, each layout, requests of each
// sort.
#include <algorithm>
#include <numeric>

#include "area.h"

using namespace ranks;
using gpu::Kind;

namespace {

std::vector<int> numbers(std::size_t count, int from) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), from * 1000003);
  return all;
}

// To the right in a ring, the same from the left.
void exchange(std::size_t count, int how) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  gpu::Vector<int> out(numbers(count, rank), gpu::any_kind());
  gpu::Vector<int> in(std::vector<int>(count, -1), gpu::any_kind());
  const int n = static_cast<int>(count);
  MPI_Request requests[2];
  MPI_Irecv(in.data(), n, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]);
  if (how == 0) MPI_Isend(out.data(), n, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[1]);
  if (how == 1) MPI_Issend(out.data(), n, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[1]);
  if (how == 2) MPI_Ibsend(out.data(), n, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(in.get() == numbers(count, left));
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  std::vector<char> room(std::size_t{4} << 20);
  MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
  for (int round = 0; round < 6; ++round)
    for (const std::size_t count : {0, 1, 7, 1000, 20011, 300000})
      for (int how = 0; how < 3; ++how) exchange(count, how);
  int bytes = 0;
  void* same = nullptr;
  MPI_Buffer_detach(&same, &bytes);
  return done();
}
