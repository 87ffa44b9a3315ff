// What a call does not use, because a count is 0 or because it means nothing with this rank, may be
// anything: here GPU memory that was freed. No call minds. Nor is a buffer's address one of its
// data where a type begins elsewhere.
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
  CHECK(MPI_Iexscan(send, rank == 0 ? bad : recv, n, MPI_INT, MPI_SUM, kWorld, &request) ==
        MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
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
  MPI_Request request;
  CHECK(MPI_Ireduce_scatter(send, is_last ? bad : recv, counts.data(), MPI_INT, MPI_SUM, kWorld,
                            &request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_Allgatherv(block, mine, MPI_INT, recv, counts.data(), places.data(), MPI_INT, kWorld) ==
        MPI_SUCCESS);
  CHECK(MPI_Gatherv(block, mine, MPI_INT, at_root, counts.data(), places.data(), MPI_INT, 0,
                    kWorld) == MPI_SUCCESS);
  CHECK(MPI_Scatterv(at_root, counts.data(), places.data(), MPI_INT, block, mine, MPI_INT, 0,
                     kWorld) == MPI_SUCCESS);
}

void sum_parts(void* from, void* into, int* count, MPI_Datatype* type) {
  MPI_Aint lower = 0, bytes = 0;
  MPI_Type_get_true_extent(*type, &lower, &bytes);
  if (*count != 1) MPI_Abort(kWorld, 4);
  const auto* const in = reinterpret_cast<const int*>(static_cast<const char*>(from) + lower);
  auto* const sum = reinterpret_cast<int*>(static_cast<char*>(into) + lower);
  for (MPI_Aint i = 0; i < bytes / 4; ++i) sum[i] += in[i];
}

// n integers at `data`, as seen from `bad`.
MPI_Datatype far_from(const int* bad, const int* data, int n) {
  const auto away = static_cast<MPI_Aint>(reinterpret_cast<std::uintptr_t>(data) -
                                          reinterpret_cast<std::uintptr_t>(bad));
  MPI_Datatype type;
  MPI_Type_create_hindexed(1, &n, &away, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

// From the ranks of odd number to rank 0.
void between_groups(int* send, gpu::Vector<int>& recv, MPI_Datatype part, MPI_Op sum) {
  MPI_Comm own, between;
  MPI_Comm_split(kWorld, rank % 2, 0, &own);
  MPI_Intercomm_create(own, 0, kWorld, 1 - rank % 2, 3, &between);
  const bool gives = rank % 2 == 1;
  const int root = gives ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  CHECK(MPI_Reduce(gives ? send : nullptr, rank == 0 ? recv.data() : nullptr, 1, part, sum, root,
                   between) == MPI_SUCCESS);
  if (rank == 0) CHECK(recv.get().back() == size / 2);
  MPI_Comm_free(&between);
  MPI_Comm_free(&own);
}

// No buffer at all where it means nothing, by a type whose data begin far from it.
void no_buffer(int n) {
  constexpr int kFar = 9000;
  MPI_Datatype part;
  MPI_Type_create_indexed_block(1, n, &kFar, MPI_INT, &part);
  MPI_Type_commit(&part);
  MPI_Op sum;
  MPI_Op_create(sum_parts, 1, &sum);
  const std::size_t room = static_cast<std::size_t>(kFar + n);
  gpu::Vector<int> send(std::vector<int>(room, 1), Kind::device),
      recv(std::vector<int>(room), Kind::device);
  int *const at_root = rank == 0 ? recv.data() : nullptr, *const at_others =
                                                              rank == 0 ? nullptr : recv.data();
  MPI_Request request;
  CHECK(MPI_Reduce(send.data(), at_root, 1, part, sum, 0, kWorld) == MPI_SUCCESS);
  if (rank == 0) CHECK(recv.get().back() == size);
  CHECK(MPI_Ireduce(send.data(), at_root, 1, part, sum, 0, kWorld, &request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_Exscan(send.data(), at_others, 1, part, sum, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Iexscan(send.data(), at_others, 1, part, sum, kWorld, &request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  if (rank > 0) CHECK(recv.get().back() == rank);
  if (size > 1) between_groups(send.data(), recv, part, sum);
  // Nor where the type has the address in itself.
  MPI_Datatype absolute = far_from(nullptr, recv.data(), n);
  for (const bool waits : {true, false}) {
    recv.put(std::vector<int>(room, 1));
    request = MPI_REQUEST_NULL;
    if (waits)
      MPI_Allreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, absolute, sum, kWorld);
    else
      MPI_Iallreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, absolute, sum, kWorld, &request);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(recv.get().front() == size && recv.get().back() == 1);
  }
  MPI_Type_free(&absolute);
  MPI_Op_free(&sum);
  MPI_Type_free(&part);
}

// `data` is host memory or a GPU's, of n times 1.
void elsewhere(int* bad, gpu::Vector<int>& data, int n) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  const auto whole = static_cast<std::size_t>(n);
  MPI_Datatype part = far_from(bad, data.data(), n), empty;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  MPI_Type_commit(&empty);
  MPI_Op sum;
  MPI_Op_create(sum_parts, 1, &sum);
  MPI_Request request;
  std::vector<int> host(whole, -1), all(whole * static_cast<std::size_t>(size));
  CHECK(MPI_Sendrecv(bad, 1, part, right, 1, host.data(), n, MPI_INT, left, 1, kWorld,
                     MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(host == std::vector<int>(whole, 1));
  CHECK(MPI_Sendrecv(bad, 3, empty, right, 2, bad, 2, empty, left, 2, kWorld, MPI_STATUS_IGNORE) ==
        MPI_SUCCESS);
  CHECK(MPI_Bcast(bad, 5, empty, 0, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Ibcast(bad, 5, empty, 0, kWorld, &request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(MPI_Bcast(bad, 1, part, 0, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Allgather(bad, 1, part, all.data(), n, MPI_INT, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Alltoall(bad, 0, empty, bad, 0, empty, kWorld) == MPI_SUCCESS);
  int at = 0;
  CHECK(MPI_Pack(bad, 1, part, host.data(), 4 * n, &at, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Pack(bad, 3, empty, bad, 0, &(at = 0), kWorld) == MPI_SUCCESS);
  CHECK(MPI_Unpack(bad, 0, &(at = 0), bad, 3, empty, kWorld) == MPI_SUCCESS);
  CHECK(MPI_Allreduce(MPI_IN_PLACE, bad, 1, part, sum, kWorld) == MPI_SUCCESS);
  CHECK(data.get() == std::vector<int>(whole, size));
  CHECK(MPI_Iallreduce(MPI_IN_PLACE, bad, 1, part, sum, kWorld, &request) == MPI_SUCCESS);
  CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(data.get() == std::vector<int>(whole, size * size));
  MPI_Op_free(&sum);
  MPI_Type_free(&empty);
  MPI_Type_free(&part);
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  MPI_Comm_set_errhandler(kWorld, MPI_ERRORS_RETURN);
  for (const int n : {1, 3000, 60000})
    for (const bool is_known : {true, false}) {
      const auto space = static_cast<std::size_t>(n * size);
      gpu::Vector<int> memory(std::vector<int>(space, 7), Kind::device),
          send(std::vector<int>(space, 1), Kind::device),
          recv(std::vector<int>(space), Kind::device);
      int* const bad = memory.data();
      int word = 0, at = 0;
      if (is_known) MPI_Pack(bad, 1, MPI_INT, &word, sizeof word, &at, kWorld);
      memory.area().free();
      without_elements(bad);
      not_significant(bad, send.data(), recv.data(), n);
      without_a_block(bad, send.data(), recv.data(), n);
      no_buffer(n);
      for (const Kind kind : {Kind::host, Kind::device}) {
        gpu::Vector<int> data(std::vector<int>(static_cast<std::size_t>(n), 1), kind);
        elsewhere(bad, data, n);
      }
    }
  return done();
}
