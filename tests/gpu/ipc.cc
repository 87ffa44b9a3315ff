// Messages between GPUs of one host: by which way they go, told by what passes through host memory.
// Arguments: "direct" (none does), "staged" (all does, and no whole buffer at once is there).
#include <numeric>

#include "area.h"

using namespace ranks;
using gpu::Kind;

extern "C" unsigned long long tutti_standin_count(const char* what);

namespace {

std::vector<int> numbers(std::size_t count, int from) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), from * 1000003);
  return all;
}

unsigned long long through_host() {
  return tutti_standin_count("to_host") + tutti_standin_count("from_host");
}

// From rank 0 to 1, and back by two requests at a time.
void exchange(std::size_t count, Kind from, Kind into, bool is_direct) {
  if (rank > 1) return;
  const int n = static_cast<int>(count), other = 1 - rank;
  gpu::Vector<int> out(numbers(count, rank), from);
  gpu::Vector<int> in(std::vector<int>(count, -1), into);
  for (int again = 0; again < 3; ++again) {
    CU(cuCtxSynchronize());
    const unsigned long long before = through_host();
    MPI_Request requests[2];
    MPI_Irecv(in.data(), n, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out.data(), n, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    const unsigned long long passed = through_host() - before;
    if (is_direct)
      CHECK(passed == 0);
    else
      CHECK(passed == 2 * count * sizeof(int));
    CHECK(in.get() == numbers(count, other));
  }
}

// The same address again, other memory.
void freed_and_taken_again() {
  if (rank > 1) return;
  for (int round = 0; round < 100; ++round) {
    const std::size_t count = 20000 + static_cast<std::size_t>(round);
    gpu::Vector<int> mine(rank == 0 ? numbers(count, round) : std::vector<int>(count, -1),
                          Kind::device);
    if (rank == 0)
      MPI_Send(mine.data(), static_cast<int>(count), MPI_INT, 1, 2, MPI_COMM_WORLD);
    else
      MPI_Recv(mine.data(), static_cast<int>(count), MPI_INT, 0, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    if (rank == 1) CHECK(mine.get() == numbers(count, round));
  }
}

// A receive that is too short, into a layout, into the host's memory, and one that is cancelled.
void of_other_shapes() {
  if (rank > 1) return;
  const std::size_t count = 60000;
  MPI_Datatype column;
  MPI_Type_vector(static_cast<int>(count) / 2, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 0) {
    gpu::Vector<int> out(numbers(count, 5), Kind::device);
    for (int tag = 10; tag < 13; ++tag)
      MPI_Send(out.data(), static_cast<int>(count) / 2, MPI_INT, 1, tag, MPI_COMM_WORLD);
    MPI_Send(out.data(), 1, column, 1, 13, MPI_COMM_WORLD);
  } else {
    gpu::Vector<int> in(std::vector<int>(count, -1), Kind::device);
    MPI_Status status;
    const int said = MPI_Recv(in.data(), 20000, MPI_INT, 0, 10, MPI_COMM_WORLD, &status);
    int error = MPI_SUCCESS, got = 0;
    MPI_Error_class(said, &error);
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK(error == MPI_ERR_TRUNCATE);
    auto all = in.get();
    CHECK(all[19999] == numbers(count, 5)[19999]);
    CHECK(all[20000] == -1);
    in.put(std::vector<int>(count, -1));
    MPI_Recv(in.data(), 1, column, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    all = in.get();
    bool is_right = true;
    for (std::size_t i = 0; i < count; ++i)
      is_right = is_right && all[i] == (i % 2 == 0 ? numbers(count, 5)[i / 2] : -1);
    CHECK(is_right);
    std::vector<int> host(count / 2, -1);
    MPI_Recv(host.data(), static_cast<int>(count) / 2, MPI_INT, 0, 12, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    CHECK(host == numbers(count / 2, 5));
    MPI_Recv(host.data(), static_cast<int>(count) / 2, MPI_INT, 0, 13, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    CHECK(host[7] == numbers(count, 5)[14]);
  }
  MPI_Type_free(&column);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  gpu::begin();
  const bool is_direct = argc > 1 && std::string(argv[1]) == "direct";
  for (const std::size_t count : {6000, 300000, 3000000}) {
    exchange(count, Kind::device, Kind::device, is_direct);
    exchange(count, Kind::device, Kind::device, is_direct);
  }
  freed_and_taken_again();
  of_other_shapes();
  return done();
}
