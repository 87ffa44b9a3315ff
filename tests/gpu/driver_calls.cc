// How often the driver is asked, by two ranks on one GPU that read each other's memory: what costs
// a call of MPI most beside the copy itself. A real driver does not count.
#include <algorithm>
#include <functional>

#include "counted.h"
#include "stream_area.h"

using namespace ranks;
using gpu::Area;
using gpu::Kind;
using gpu::Lane;

namespace {

constexpr int kTimes = 50;
const int peer = 1;

// By both ranks; what is counted of this rank's calls has to be `wanted` in each.
void expect(const char* what, const char* of, unsigned long long wanted,
            const std::function<void()>& call) {
  for (int i = 0; i < kTimes; ++i) call();  // handles are opened
  MPI_Barrier(MPI_COMM_WORLD);
  const unsigned long long before = gpu::counted(of);
  for (int i = 0; i < kTimes; ++i) call();
  const unsigned long long found = gpu::counted(of) - before;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(found == wanted * kTimes);
  if (found != wanted * kTimes)
    std::fprintf(stderr, "rank %d: %s: %llu of %s in %d calls, not %llu in each\n", rank, what,
                 found, of, kTimes, wanted);
}

// Whose the buffer is is asked at the call; which allocation it is, where that is offered.
void messages(void* mine, void* other, int bytes) {
  const auto send = [&] {
    if (rank == 0) MPI_Send(mine, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(other, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  };
  const bool sends = rank == 0;
  expect("a message", "cuPointerGetAttributes", sends ? 2 : 1, send);
  expect("a message", "cuPointerGetAttribute", 0, send);
  expect("a message", "cuStreamIsCapturing", 1, send);
  expect("a message", "cuMemcpyAsync", sends ? 0 : 1, send);
  MPI_Request both[2];
  MPI_Send_init(mine, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &both[0]);
  MPI_Recv_init(other, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &both[1]);
  const auto start = [&] {
    MPI_Startall(2, both);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  };
  expect("persistent ones", "cuPointerGetAttributes", 3, start);
  expect("persistent ones", "cuPointerGetAttribute", 0, start);
  for (MPI_Request& each : both) MPI_Request_free(&each);
}

// Of the call itself: the stream stands still meanwhile, and what our thread does beside, now and
// then, is not in the fewest of many calls.
void expect_enqueued(const Lane& lane, const char* what, unsigned long long wanted,
                     const std::function<void()>& call) {
  call();
  lane.wait();
  gpu::Held held(lane);
  unsigned long long least = ~0ULL;
  for (int i = 0; i < kTimes; ++i) {
    const unsigned long long before = gpu::counted("calls");
    call();
    least = std::min(least, gpu::counted("calls") - before);
  }
  held.let_go();
  lane.wait();
  CHECK(least == wanted);
  if (least != wanted)
    std::fprintf(stderr, "rank %d: %s asks %llu times, not %llu\n", rank, what, least, wanted);
}

// Its context and capture mode, there and back: 4. Is the stream captured, and the mark: 2. A
// collective is asked about captures before it is counted, too.
void enqueued(void* mine, void* other) {
  const Lane lane;
  expect_enqueued(lane, "a message in a stream", 6, [&] {
    if (rank == 0) MPIX_Send_enqueue(mine, 8, MPI_BYTE, peer, 0, lane.comm);
    if (rank == 1) MPIX_Recv_enqueue(other, 8, MPI_BYTE, 0, 0, lane.comm, MPI_STATUS_IGNORE);
  });
  expect_enqueued(lane, "a collective in a stream", 11,
                  [&] { MPIX_Allreduce_enqueue(mine, other, 2, MPI_INT, MPI_SUM, lane.comm); });
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  {
    constexpr int kBytes = 1 << 20;
    Area mine(kBytes, Kind::device), other(kBytes, Kind::device);
    for (Area* const each : {&mine, &other}) each->put(std::vector<char>(kBytes).data(), kBytes);
    for (const int bytes : {8, 4096, kBytes}) messages(mine.data(), other.data(), bytes);
    enqueued(mine.data(), other.data());
  }
  return done();
}
