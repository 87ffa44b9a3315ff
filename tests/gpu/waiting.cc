// Calls in a stream that a thread waits for inside of the driver.
#include <thread>

#include "stream_area.h"

using namespace ranks;
using gpu::Flow;
using gpu::Kind;
using gpu::Lane;
using gpu::left;
using gpu::numbers;
using gpu::right;

namespace {

// A copy to memory that is not pinned waits inside the driver for what its stream holds, with a
// lock that whoever makes an event, or memory, needs: nothing may be made for a call that it waits
// for. So that there are many steps: a type without a regular layout that nobody has used yet, and
// memory of another GPU.
void exchange(const Lane& lane) {
  const int count = 3000;
  std::vector<int> places(count), taken(2 * count + count);
  for (int i = 0; i < count; ++i) places[static_cast<std::size_t>(i)] = 2 * i + i * i % 2;
  MPI_Datatype odd;
  MPI_Type_create_indexed_block(count, 1, places.data(), MPI_INT, &odd);
  MPI_Type_commit(&odd);
  for (const Kind kind : {Kind::device, Kind::other_device}) {
    Flow<int> out(taken.size(), kind), in(taken.size(), kind), behind(taken.size(), kind);
    const auto given = numbers(taken.size(), rank);
    out.put(given, lane);
    MPI_Request both[2];
    MPIX_Irecv_enqueue(in.data(), 1, odd, left(), 9, lane.comm, &both[0]);
    MPIX_Isend_enqueue(out.data(), 1, odd, right(), 9, lane.comm, &both[1]);
    MPIX_Waitall_enqueue(2, both, MPI_STATUSES_IGNORE);
    // In the queue of copies to the GPU, where none of ours may be behind it.
    behind.put(given, lane);
    CU(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(taken.data()),
                     reinterpret_cast<CUdeviceptr>(in.data()), taken.size() * sizeof(int),
                     lane.stream));
    lane.wait();
    const auto sent = numbers(taken.size(), left());
    for (const int place : places)
      CHECK(taken[static_cast<std::size_t>(place)] == sent[static_cast<std::size_t>(place)]);
  }
  MPI_Type_free(&odd);
}

// Likewise ordinary calls, which come after the default stream: to ask for that waits, too. So
// nobody may need what their thread holds, least of all who moves what the copy waits for.
void beside_ordinary_calls(const Lane& lane, MPI_Comm other) {
  const int count = 2000, rounds = 40;
  // Freed at the end, when the stream is at rest.
  gpu::Vector<int> send(numbers(count, rank), Kind::device),
      recv(std::vector<int>(count), Kind::device);
  std::thread ordinary([&] {
    CU(cuCtxSetCurrent(gpu::contexts[0]));
    for (int round = 0; round < rounds; ++round)
      MPI_Sendrecv(send.data(), count, MPI_INT, right(), 1, recv.data(), count, MPI_INT, left(), 1,
                   other, MPI_STATUS_IGNORE);
    CHECK(recv.get() == numbers(count, left()));
  });
  Flow<int> out(count, Kind::device), in(count, Kind::device);
  out.put(numbers(count, rank), lane);
  std::vector<int> taken(count);
  for (int round = 0; round < rounds; ++round) {
    MPI_Request both[2];
    MPIX_Irecv_enqueue(in.data(), count, MPI_INT, left(), 9, lane.comm, &both[0]);
    MPIX_Isend_enqueue(out.data(), count, MPI_INT, right(), 9, lane.comm, &both[1]);
    MPIX_Waitall_enqueue(2, both, MPI_STATUSES_IGNORE);
    CU(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(taken.data()),
                     reinterpret_cast<CUdeviceptr>(in.data()), taken.size() * sizeof(int),
                     lane.stream));
    CHECK(taken == numbers(count, left()));
  }
  ordinary.join();
}

}  // namespace

int main() {
  begin(MPI_THREAD_MULTIPLE);
  gpu::begin();
  {
    const Lane lane;
    exchange(lane);
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    beside_ordinary_calls(lane, other);
    MPI_Comm_free(&other);
  }
  return done();
}
