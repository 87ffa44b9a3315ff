// Messages between GPUs of one host: by which way they go, told by what passes through host memory.
// Arguments: "direct" (none does), "staged" (all does),
// "no_handles" (that of cudaMalloc does), "no_pinned" (there is none to stage by),
// "real" (a real driver, which does not count).
#include <cstdlib>
#include <memory>
#include <numeric>

#include "area.h"
#include "counted.h"

using namespace ranks;
using gpu::Kind;

namespace {

std::vector<int> numbers(std::size_t count, int from) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), from * 1000003);
  return all;
}

// From rank 0 to 1, and back by two requests at a time.
void exchange(std::size_t count, Kind from, Kind into, bool is_direct) {
  if (rank > 1) return;
  const int n = static_cast<int>(count), other = 1 - rank;
  gpu::Vector<int> out(numbers(count, rank), from);
  gpu::Vector<int> in(std::vector<int>(count, -1), into);
  for (int again = 0; again < 3; ++again) {
    CU(cuCtxSynchronize());
    const unsigned long long before = gpu::through_host();
    MPI_Request requests[2];
    MPI_Irecv(in.data(), n, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out.data(), n, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    const unsigned long long passed = gpu::through_host() - before;
    if (is_direct)
      CHECK(passed == 0);
    else if (gpu::is_driver_counted())
      CHECK(passed == 2 * count * sizeof(int));
    CHECK(in.get() == numbers(count, other));
  }
}

// Each GPU measures what copies take before it first sends.
void warm_up() {
  gpu::Vector<int> out({rank}, Kind::device), in({-1}, Kind::device);
  MPI_Sendrecv(out.data(), 1, MPI_INT, (rank + 1) % size, 0, in.data(), 1, MPI_INT,
               (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in.get()[0] == (rank + size - 1) % size);
}

// Other memory each time; on a GPU often at the same address, which the stand-in never gives again
// (mapped_again() has that).
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
void of_other_shapes(Kind kind) {
  if (rank > 1) return;
  const std::size_t count = 60000;
  MPI_Datatype column;
  MPI_Type_vector(static_cast<int>(count) / 2, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 0) {
    gpu::Vector<int> out(numbers(count, 5), kind);
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

// One address, mapped anew: what a neighbour has opened there is another allocation's, and is
// closed.
void mapped_again(bool is_direct) {
  if (rank > 1) return;
  constexpr std::size_t kBytes = std::size_t{2} << 20;
  const int n = static_cast<int>(kBytes / sizeof(int));
  CUmemAllocationProp of = {};
  of.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  of.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUdevice device = 0;
  CU(cuCtxGetDevice(&device));
  of.location.id = device;
  of.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemAccessDesc access = {};
  access.location = of.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUdeviceptr place = 0;
  CU(cuMemAddressReserve(&place, kBytes, 0, 0, 0));
  for (int round = 0; round < 5; ++round) {
    CUmemGenericAllocationHandle handle = 0;
    CU(cuMemCreate(&handle, kBytes, &of, 0));
    CU(cuMemMap(place, kBytes, 0, handle, 0));
    CU(cuMemSetAccess(place, kBytes, &access, 1));
    const std::vector<int> sent(static_cast<std::size_t>(n), round);
    const unsigned long long before = gpu::counted("cuMemUnmap");
    if (rank == 0) {
      CU(cuMemcpyHtoD(place, sent.data(), kBytes));
      MPI_Send(reinterpret_cast<void*>(place), n, MPI_INT, 1, 3, MPI_COMM_WORLD);
    } else {
      std::vector<int> got(static_cast<std::size_t>(n), -1);
      MPI_Recv(reinterpret_cast<void*>(place), n, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CU(cuMemcpyDtoH(got.data(), place, kBytes));
      CHECK(got == sent);
      if (is_direct && gpu::is_driver_counted() && round > 0)
        CHECK(gpu::counted("cuMemUnmap") == before + 1);
    }
    CU(cuMemUnmap(place, kBytes));
    CU(cuMemRelease(handle));
  }
  CU(cuMemAddressFree(place, kBytes));
}

// More allocations than are kept open, all of them again and again; then who is used least goes.
void many(bool is_direct) {
  if (rank > 1) return;
  const std::size_t count = 5000;
  std::vector<std::unique_ptr<gpu::Vector<int>>> all;
  for (int i = 0; i < 90; ++i)
    all.push_back(std::make_unique<gpu::Vector<int>>(
        rank == 0 ? numbers(count, i) : std::vector<int>(count, -1),
        i % 3 == 0 ? Kind::shareable_mapped : Kind::device));
  // How many handles rank 1 opened for it.
  const auto pass = [&](int i) {
    const unsigned long long before = gpu::counted("opened");
    auto& each = *all[static_cast<std::size_t>(i)];
    if (rank == 0)
      MPI_Send(each.data(), static_cast<int>(count), MPI_INT, 1, i, MPI_COMM_WORLD);
    else
      MPI_Recv(each.data(), static_cast<int>(count), MPI_INT, 0, i, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    if (rank == 1) CHECK(each.get() == numbers(count, i));
    return gpu::counted("opened") - before;
  };
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 90; ++i) pass(i);
  if (!is_direct || !gpu::is_driver_counted()) return;
  // Of 64 that are open, of which some are mapped by address, 26 is the oldest.
  if (rank == 1) CHECK(gpu::counted("opened") - gpu::counted("closed") <= 64);
  const std::pair<int, int> opens[] = {{88, 0}, {26, 0}, {1, 1}, {26, 0}, {28, 0}, {29, 0}, {2, 1}};
  for (const auto& [i, expected] : opens) {
    const unsigned long long made = pass(i);
    if (rank == 1) CHECK(made == static_cast<unsigned long long>(expected));
  }
}

// To oneself, and between groups.
void elsewhere(bool is_direct) {
  const std::size_t count = 400000;
  const int n = static_cast<int>(count);
  gpu::Vector<int> out(numbers(count, rank), Kind::device);
  gpu::Vector<int> in(std::vector<int>(count, -1), Kind::device);
  CU(cuCtxSynchronize());
  unsigned long long before = gpu::through_host();
  MPI_Sendrecv(out.data(), n, MPI_INT, rank, 4, in.data(), n, MPI_INT, rank, 4, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(gpu::through_host() == before);
  CHECK(in.get() == numbers(count, rank));
  if (size != 2) return;
  MPI_Comm between;
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 5, &between);
  in.put(std::vector<int>(count, -1));
  CU(cuCtxSynchronize());
  before = gpu::through_host();
  MPI_Sendrecv(out.data(), n, MPI_INT, 0, 6, in.data(), n, MPI_INT, 0, 6, between,
               MPI_STATUS_IGNORE);
  if (is_direct) CHECK(gpu::through_host() == before);
  CHECK(in.get() == numbers(count, 1 - rank));
  MPI_Comm_free(&between);
}

// Nobody receives it.
void cancelled() {
  if (rank > 1) return;
  gpu::Vector<int> out(numbers(50000, rank), Kind::device);
  for (int round = 0; round < 5; ++round) {
    MPI_Request request;
    MPI_Status status;
    int was_cancelled = 0;
    MPI_Isend(out.data(), 50000, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &was_cancelled);
    CHECK(was_cancelled != 0);
    MPI_Sendrecv(&round, 1, MPI_INT, 1 - rank, 8, &was_cancelled, 1, MPI_INT, 1 - rank, 8,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

// There is no pinned memory, so nothing could be staged; copies between GPUs need none.
void without_pinned_memory() {
  const std::size_t count = 300000;
  CUdeviceptr out = 0, in = 0;
  CU(cuMemAlloc(&out, count * sizeof(int)));
  CU(cuMemAlloc(&in, count * sizeof(int)));
  const std::vector<int> mine = numbers(count, rank);
  CU(cuMemcpyHtoD(out, mine.data(), count * sizeof(int)));
  MPI_Sendrecv(reinterpret_cast<void*>(out), static_cast<int>(count), MPI_INT, (rank + 1) % size, 9,
               reinterpret_cast<void*>(in), static_cast<int>(count), MPI_INT,
               (rank + size - 1) % size, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  std::vector<int> got(count);
  CU(cuMemcpyDtoH(got.data(), in, count * sizeof(int)));
  CHECK(got == numbers(count, (rank + size - 1) % size));
  CU(cuMemFree(out));
  CU(cuMemFree(in));
}

}  // namespace

int main(int argc, char** argv) {
  ::setenv("TUTTI_SINGLE_COPY", "on", 0);  // of what could be read all is
  begin();
  gpu::begin();
  const std::string way = argc > 1 ? argv[1] : "";
  if (way == "no_pinned") {
    without_pinned_memory();
    return done();
  }
  const bool is_direct = way != "staged" && way != "no_handles";
  warm_up();
  // A receiver that has read none of many messages is not asked to read short ones any more.
  const std::size_t least = way == "no_handles" ? 300000 : 6000;
  for (const Kind kind : {Kind::device, Kind::shareable_pool, Kind::shareable_mapped})
    for (const std::size_t count : {least, std::size_t{300000}, std::size_t{3000000}})
      exchange(count, kind, Kind::device, way == "no_handles" ? kind != Kind::device : is_direct);
  exchange(300000, Kind::device, Kind::shareable_mapped, is_direct);
  // That nobody else can open is copied to where they can (packed.cc).
  for (const Kind kind : {Kind::pool, Kind::mapped, Kind::segments})
    exchange(300000, kind, Kind::device, is_direct);
  freed_and_taken_again();
  mapped_again(is_direct);
  many(is_direct);
  for (const Kind kind : {Kind::device, Kind::shareable_pool, Kind::shareable_mapped})
    of_other_shapes(kind);
  elsewhere(is_direct);
  cancelled();
  return done();
}
