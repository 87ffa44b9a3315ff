// What a call does not use, because a count is 0 or because it means nothing with this rank, may be
// anything: here GPU memory that was freed. No call minds.
#include "area.h"

using namespace ranks;
using gpu::Kind;

namespace {

const MPI_Comm kWorld = MPI_COMM_WORLD;

void without_elements(int* bad) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request request;
  CHECK(MPI_Sendrecv(bad, 0, MPI_INT, right, 1, bad, 0, MPI_INT, left, 1, kWorld,
                     MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_Isend(bad, 0, MPI_INT, right, 2, kWorld, &request) == MPI_SUCCESS);
  CHECK(MPI_Recv(bad, 0, MPI_INT, left, 2, kWorld, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_Bcast(bad, 0, MPI_INT, 0, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Allreduce(bad, bad + 1, 0, MPI_INT, MPI_SUM, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Scan(bad, bad + 1, 0, MPI_INT, MPI_SUM, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Gather(bad, 0, MPI_INT, bad + 1, 0, MPI_INT, 0, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Alltoall(bad, 0, MPI_INT, bad + 1, 0, MPI_INT, kWorld) == MPI_SUCCESS);
}

void not_significant(int* bad, int* send, int* recv, int n) {
  int* const at_root = rank == 0 ? recv : bad;
  MPI_Request request;
  CHECK(MPI_Reduce(send, at_root, n, MPI_INT, MPI_SUM, 0, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Gather(send, n, MPI_INT, at_root, n, MPI_INT, 0, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Scatter(at_root, n, MPI_INT, send, n, MPI_INT, 0, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Ireduce(send, at_root, n, MPI_INT, MPI_SUM, 0, kWorld, &request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_Exscan(send, rank == 0 ? bad : recv, n, MPI_INT, MPI_SUM, kWorld) == MPI_SUCCESS);
}

// The last member has no elements.
void without_a_block(int* bad, int* send, int* recv, int n) {
  const bool is_last = rank == size - 1;
  std::vector<int> counts(static_cast<std::size_t>(size), n), places;
  for (int i = 0; i < size; ++i) places.push_back(i * n);
  counts.back() = 0;
  const int mine = is_last ? 0 : n;
  int* const block = is_last ? bad : send;
  int* const at_root = rank == 0 ? recv : bad;
  CHECK(MPI_Reduce_scatter(send, is_last ? bad : recv, counts.data(), MPI_INT, MPI_SUM, kWorld) ==
        MPI_SUCCESS);
  CHECK(MPI_Allgatherv(block, mine, MPI_INT, recv, counts.data(), places.data(), MPI_INT, kWorld) ==
        MPI_SUCCESS);
  CHECK(MPI_Gatherv(block, mine, MPI_INT, at_root, counts.data(), places.data(), MPI_INT, 0,
                    kWorld) == MPI_SUCCESS);
  CHECK(MPI_Scatterv(at_root, counts.data(), places.data(), MPI_INT, block, mine, MPI_INT, 0,
                     kWorld) == MPI_SUCCESS);
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  MPI_Comm_set_errhandler(kWorld, MPI_ERRORS_RETURN);
  for (const int n : {1, 3000, 60000}) {
    const auto space = static_cast<std::size_t>(n * size);
    gpu::Vector<int> memory(std::vector<int>(space, 7), Kind::device),
        send(std::vector<int>(space, 1), Kind::device), recv(std::vector<int>(space), Kind::device);
    int* const bad = memory.data();
    int word = 0, at = 0;  // known to the library while it is there
    MPI_Pack(bad, 1, MPI_INT, &word, sizeof word, &at, kWorld);
    memory.area().free();
    without_elements(bad);
    not_significant(bad, send.data(), recv.data(), n);
    without_a_block(bad, send.data(), recv.data(), n);
  }
  return done();
}
