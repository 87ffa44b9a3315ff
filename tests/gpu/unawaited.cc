// unawaited: nonblocking and persistent collectives of GPU memory, of 32 KiB and more, where GPUs
// read each other's: nothing passes through host memory, though nobody knows where the others'
// buffers are when one begins, so that it is cut as host memory is.
#include <cstdlib>
#include <functional>

#include "area.h"
#include "counted.h"

using namespace ranks;
using gpu::Kind;

namespace {

int element(int of, int i) {
  return of * 7 + i % 1000;
}
int sum(int i) {
  int all = 0;
  for (int of = 0; of < size; ++of) all += element(of, i);
  return all;
}

struct Case {
  const char* name;
  std::function<void(int* send, int* recv, MPI_Request* request, bool is_persistent)> begin;
  std::function<int(int i)> result;  // below 0: nothing is said of it
};

#define UNAWAITED(Name, name, ...)                                       \
  is_persistent ? MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request) \
                : MPI_I##name(__VA_ARGS__, request)

// Of vectors of so many ints, or of all blocks together.
std::vector<Case> cases(int count) {
  const int block = count / size;
  const MPI_Comm comm = MPI_COMM_WORLD;
  return {{"allreduce",
           [=](int* send, int* recv, MPI_Request* request, bool is_persistent) {
             UNAWAITED(Allreduce, allreduce, send, recv, count, MPI_INT, MPI_SUM, comm);
           },
           sum},
          {"reduce",
           [=](int* send, int* recv, MPI_Request* request, bool is_persistent) {
             UNAWAITED(Reduce, reduce, send, recv, count, MPI_INT, MPI_SUM, 0, comm);
           },
           [](int i) { return rank == 0 ? sum(i) : -1; }},
          {"reduce_scatter_block",
           [=](int* send, int* recv, MPI_Request* request, bool is_persistent) {
             UNAWAITED(Reduce_scatter_block, reduce_scatter_block, send, recv, block, MPI_INT,
                       MPI_SUM, comm);
           },
           [=](int i) { return i < block ? sum(rank * block + i) : -1; }},
          {"bcast",
           [=](int* send, int* recv, MPI_Request* request, bool is_persistent) {
             UNAWAITED(Bcast, bcast, rank == 0 ? send : recv, count, MPI_INT, 0, comm);
           },
           [](int i) { return rank == 0 ? -1 : element(0, i); }},
          {"allgather",
           [=](int* send, int* recv, MPI_Request* request, bool is_persistent) {
             UNAWAITED(Allgather, allgather, send, block, MPI_INT, recv, block, MPI_INT, comm);
           },
           [=](int i) { return i < block * size ? element(i / block, i % block) : -1; }},
          {"alltoall",
           [=](int* send, int* recv, MPI_Request* request, bool is_persistent) {
             UNAWAITED(Alltoall, alltoall, send, block, MPI_INT, recv, block, MPI_INT, comm);
           },
           [=](int i) {
             return i < block * size ? element(i / block, rank * block + i % block) : -1;
           }}};
}

void run(const Case& one, int count, bool is_persistent) {
  std::vector<int> given(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) given[static_cast<std::size_t>(i)] = element(rank, i);
  const gpu::Vector<int> from(given, Kind::device);
  gpu::Vector<int> into(std::vector<int>(given.size(), -1), Kind::device);
  CU(cuCtxSynchronize());
  MPI_Barrier(MPI_COMM_WORLD);
  const unsigned long long before = gpu::through_host();
  MPI_Request request;
  one.begin(from.data(), into.data(), &request, is_persistent);
  if (is_persistent) MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const unsigned long long passed = gpu::through_host() - before;
  if (is_persistent) MPI_Request_free(&request);
  const std::vector<int> got = into.get();
  bool is_right = true;
  for (int i = 0; i < count; ++i) {
    const int wanted = one.result(i);
    is_right = is_right && (wanted < 0 || got[static_cast<std::size_t>(i)] == wanted);
  }
  CHECK(is_right);
  CHECK(passed == 0);
  if (!is_right || passed > 0)
    std::fprintf(stderr, "rank %d of %d: %s of %d%s: %s, %llu bytes through host memory\n", rank,
                 size, one.name, count, is_persistent ? ", persistent" : "",
                 is_right ? "right" : "wrong", passed);
}

}  // namespace

int main() {
  ::setenv("TUTTI_SINGLE_COPY", "on", 0);  // of what could be read all is
  begin();
  gpu::begin();
  for (const int count : {8 << 10, 64 << 10, 1 << 20, 4 << 20})
    for (const Case& one : cases(count))
      for (const bool is_persistent : {false, false, true}) run(one, count, is_persistent);
  return done();
}
