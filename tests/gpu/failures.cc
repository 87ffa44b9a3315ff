// What goes wrong with GPU memory: one clear error, and no job that stands still. The word says
// what.
#include "stream_area.h"

using namespace ranks;
using gpu::is_refused;
using gpu::Kind;

namespace {

// Known to the library while it was there, and used once more.
void freed() {
  gpu::Vector<int> memory(std::vector<int>(100, rank), Kind::device);
  const int* const data = memory.data();
  gpu::Vector<int> sums(std::vector<int>(100), Kind::host);
  MPI_Allreduce(data, sums.data(), 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sums.get()[0] == size * (size - 1) / 2);
  memory.area().free();
  if (rank == 0) MPI_Send(data, 100, MPI_INT, size - 1, 1, MPI_COMM_WORLD);
  if (rank == size - 1) {  // whose error may come first, and is not to end the job
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Recv(sums.data(), 100, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) !=
          MPI_SUCCESS);
  }
}

// No call was ever given it.
void freed_unseen() {
  gpu::Vector<int> memory(std::vector<int>(100, rank), Kind::device);
  const int* const data = memory.data();
  memory.area().free();
  if (rank == 0) MPI_Send(data, 100, MPI_INT, rank, 1, MPI_COMM_WORLD);
}

// Calls go on until the driver gives errors, as it was told (STANDIN_CUDA_FAIL).
void lost() {
  gpu::Vector<int> out(std::vector<int>(100000, rank), Kind::device),
      in(std::vector<int>(100000), Kind::device);
  for (int round = 0; round < 1000; ++round) {
    MPI_Sendrecv(out.data(), 100000, MPI_INT, (rank + 1) % size, 1, in.data(), 100000, MPI_INT,
                 (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(out.data(), in.data(), 100000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

// Where errors are handed back a rank that has lost its GPU goes on with the host's memory, which
// CUDA cannot name any more, and tells the others so.
void lost_goes_on() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  // Left there: the driver gives nothing back.
  auto& out = *new gpu::Vector<int>(std::vector<int>(1000, rank), Kind::device);
  auto& in = *new gpu::Vector<int>(std::vector<int>(1000), Kind::device);
  int any_failed = 0;
  for (int round = 0; round < 1000 && any_failed == 0; ++round) {
    int has_failed = MPI_Sendrecv(out.data(), 1000, MPI_INT, right, 1, in.data(), 1000, MPI_INT,
                                  left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    CHECK(MPI_Allreduce(&has_failed, &any_failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
  }
  CHECK(any_failed == 1);
  const bool is_lost = cuCtxSynchronize() != CUDA_SUCCESS;
  CHECK(is_lost == (rank == 1));
  for (const int count : {1, 100000}) {  // memory that was seen before, and that was not
    const std::vector<int> given(static_cast<std::size_t>(count), rank);
    std::vector<int> taken(given.size());
    CHECK(MPI_Sendrecv(given.data(), count, MPI_INT, right, 2, taken.data(), count, MPI_INT, left,
                       2, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(taken == std::vector<int>(given.size(), left));
  }
  if (is_lost) CHECK(is_refused(MPI_Send(out.data(), 1000, MPI_INT, rank, 1, MPI_COMM_WORLD)));
}

// A team of a host would copy it before anybody could be told. The others' error, that a member has
// left the call, may come first, and is not to end the job.
void freed_in_collective() {
  if (rank != size - 1) MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  gpu::Vector<int> memory(std::vector<int>(100, rank), Kind::device);
  int* const data = memory.data();
  MPI_Bcast(data, 100, MPI_INT, 0, MPI_COMM_WORLD);
  memory.area().free();
  if (rank == size - 1) MPI_Bcast(data, 100, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

// An error that is handed back leaves the rank whole.
void returned() {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  gpu::Vector<int> memory(std::vector<int>(100, 7), Kind::device);
  int* const data = memory.data();
  MPI_Request request;
  MPI_Irecv(data, 100, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  memory.area().free();
  CHECK(MPI_Send(data, 100, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
  CHECK(MPI_Send(data, 100, MPI_INT, rank, 1, MPI_COMM_WORLD) != MPI_SUCCESS);
  std::vector<int> out(100, 3), in(100);
  MPI_Sendrecv(out.data(), 100, MPI_INT, rank, 2, in.data(), 100, MPI_INT, rank, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(in == out);
}

bool ends_refused(int code, MPI_Request* request) {
  return is_refused(code == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : code);
}

void freed_in_local_calls(int* bad, int* good, int* host) {
  int at = 0;
  CHECK(is_refused(MPI_Pack(bad, 1, MPI_INT, host, 400, &(at = 0), MPI_COMM_WORLD)));
  CHECK(is_refused(MPI_Unpack(host, 400, &(at = 0), bad, 1, MPI_INT, MPI_COMM_WORLD)));
  CHECK(is_refused(MPI_Unpack(bad, 400, &(at = 0), host, 1, MPI_INT, MPI_COMM_WORLD)));
  CHECK(is_refused(MPI_Reduce_local(bad, good, 1, MPI_INT, MPI_SUM)));
  CHECK(is_refused(MPI_Reduce_local(good, bad, 1, MPI_INT, MPI_SUM)));
  CHECK(is_refused(MPI_Reduce_local(host, bad, 1, MPI_INT, MPI_SUM)));
}

void freed_in_messages(int* bad, int* host, MPI_Comm comm) {
  int self = 0;
  MPI_Comm_rank(comm, &self);
  MPI_Request request;
  CHECK(
      is_refused(MPI_Sendrecv_replace(bad, 1, MPI_INT, self, 1, self, 1, comm, MPI_STATUS_IGNORE)));
  MPI_Irecv(host, 1, MPI_INT, self, 2, comm, &request);
  CHECK(is_refused(MPI_Send(bad, 1, MPI_INT, self, 2, comm)));
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Irecv(bad, 1, MPI_INT, self, 3, comm, &request);
  MPI_Send(host, 1, MPI_INT, self, 3, comm);
  CHECK(is_refused(MPI_Wait(&request, MPI_STATUS_IGNORE)));
}

void freed_in_collectives(int* bad, int* good, int* host, int count) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Request request;
  if (size > 1) CHECK(is_refused(MPI_Bcast(bad, count, MPI_INT, 0, comm)));
  if (size > 1) CHECK(ends_refused(MPI_Ibcast(bad, count, MPI_INT, 0, comm, &request), &request));
  for (int* const other : {good, host})
    for (const bool sends : {true, false}) {
      int* const from = sends ? bad : other;
      int* const into = sends ? other : bad;
      CHECK(is_refused(MPI_Allreduce(from, into, count, MPI_INT, MPI_SUM, comm)));
      CHECK(ends_refused(MPI_Iallreduce(from, into, count, MPI_INT, MPI_SUM, comm, &request),
                         &request));
      CHECK(is_refused(MPI_Allgather(from, 1, MPI_INT, into, 1, MPI_INT, comm)));
      CHECK(ends_refused(MPI_Iallgather(from, 1, MPI_INT, into, 1, MPI_INT, comm, &request),
                         &request));
      const std::vector<int> ones(static_cast<std::size_t>(size), 1), none(ones.size());
      CHECK(is_refused(
          MPI_Allgatherv(from, 1, MPI_INT, into, ones.data(), none.data(), MPI_INT, comm)));
      CHECK(is_refused(MPI_Alltoallv(from, ones.data(), none.data(), MPI_INT, into, ones.data(),
                                     none.data(), MPI_INT, comm)));
    }
  CHECK(ends_refused(
      MPI_Ireduce_scatter_block(MPI_IN_PLACE, bad, 1, MPI_INT, MPI_SUM, comm, &request), &request));
}

// Each sort of call says the same of memory that was freed, and goes on; whether the library knew
// it while it was there, or no call was ever given it.
void freed_everywhere(Kind kind, bool is_known) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  constexpr int kCount = 100;
  // Small pieces of pinned memory share pages with others, and can be read when they are freed.
  constexpr std::size_t kPinned = std::size_t{2} << 20;
  gpu::Vector<int> memory(std::vector<int>(kind == Kind::pinned ? kPinned : kCount, 7), kind),
      good(std::vector<int>(kCount), Kind::device);
  std::vector<int> host(kCount);
  int* const bad = memory.data();
  int at = 0;
  if (is_known) MPI_Pack(bad, kCount, MPI_INT, host.data(), 4 * kCount, &at, MPI_COMM_WORLD);
  memory.area().free();
  freed_in_local_calls(bad, good.data(), host.data());
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF})
    freed_in_messages(bad, host.data(), comm);
  for (const int count : {1, kCount}) freed_in_collectives(bad, good.data(), host.data(), count);
  good.put(std::vector<int>(kCount, 1));
  MPI_Allreduce(MPI_IN_PLACE, good.data(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(good.get() == std::vector<int>(kCount, size));
}

// Calls that a stream makes.
void enqueued(const std::vector<int>& ones) {
  const int n = static_cast<int>(ones.size());
  const gpu::Lane lane;
  gpu::Flow<int> out(ones.size(), Kind::device), in(ones.size(), Kind::device),
      sum(ones.size(), Kind::device);
  out.put(ones, lane);
  const bool is_sender = size > 1 && rank == 0, is_receiver = size > 1 && rank == size - 1;
  if (is_sender) MPIX_Send_enqueue(out.data(), n, MPI_INT, size - 1, 4, lane.comm);
  if (is_receiver) MPIX_Recv_enqueue(in.data(), n, MPI_INT, 0, 4, lane.comm, MPI_STATUS_IGNORE);
  MPIX_Allreduce_enqueue(out.data(), sum.data(), n, MPI_INT, MPI_SUM, lane.comm);
  in.take(lane);
  sum.take(lane);
  lane.wait();
  if (is_receiver) CHECK(in.taken() == ones);
  CHECK(sum.taken() == std::vector<int>(ones.size(), size));
}

// One of everything, once more than is kept, so that each call of the driver's is among them.
void everything() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  constexpr int kCount = 40000, kSteps = 400;
  const std::vector<int> zeros(kCount), ones(kCount, 1);
  MPI_Datatype column;  // blocks that no few rows hold
  std::vector<int> lengths(kSteps, 2), places;
  for (int i = 0; i < kSteps; ++i) places.push_back(i * i % 97 + i * 97);
  MPI_Type_indexed(kSteps, lengths.data(), places.data(), MPI_INT, &column);
  MPI_Type_commit(&column);
  for (const Kind kind : {Kind::device, Kind::pool, Kind::mapped, Kind::managed}) {
    gpu::Vector<int> out(ones, kind), in(zeros, kind), host(zeros, Kind::host);
    MPI_Sendrecv(out.data(), 10, MPI_INT, right, 1, in.data(), 10, MPI_INT, left, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(out.data(), 1, column, right, 2, in.data(), 1, column, left, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Request requests[2];
    MPI_Irecv(in.data(), kCount, MPI_INT, left, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out.data(), kCount, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in.get() == ones);
    int position = 0;
    MPI_Pack(out.data(), 1, column, in.data(), kCount, &position, MPI_COMM_WORLD);
    MPI_Reduce_local(out.data(), in.data(), kCount, MPI_INT, MPI_MAX);
    MPI_Allreduce(out.data(), in.data(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(in.get() == std::vector<int>(kCount, size));
    MPI_Iallreduce(out.data(), host.data(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD, requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    CHECK(host.get() == std::vector<int>(kCount, size));
    MPI_Bcast(out.data(), kCount, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgather(out.data(), kCount / size, MPI_INT, in.data(), kCount / size, MPI_INT,
                  MPI_COMM_WORLD);
    MPI_Scan(out.data(), in.data(), 100, MPI_INT, MPI_PROD, MPI_COMM_WORLD);
  }
  MPI_Type_free(&column);
  enqueued(ones);
}

// What NCCL serves where that is forced, and nothing before: the driver is asked for NCCL early.
void served() {
  constexpr int kCount = 40000;
  const std::vector<int> ones(kCount, 1);
  gpu::Vector<int> out(ones, Kind::device), in(std::vector<int>(kCount), Kind::device);
  for (int round = 0; round < 3; ++round) {
    MPI_Allreduce(out.data(), in.data(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(in.get() == std::vector<int>(kCount, size));
    MPI_Bcast(in.data(), kCount, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgather(out.data(), kCount / size, MPI_INT, in.data(), kCount / size, MPI_INT,
                  MPI_COMM_WORLD);
    CHECK(in.get().front() == 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  gpu::begin();
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "freed") freed();
  if (what == "unseen") freed_unseen();
  if (what == "freed_in_collective") freed_in_collective();
  if (what == "lost") lost();
  if (what == "lost_goes_on") lost_goes_on();
  if (what == "freed_everywhere")
    for (const bool is_known : {true, false})
      for (const Kind kind : {Kind::device, Kind::pool, Kind::mapped, Kind::managed, Kind::pinned})
        freed_everywhere(kind, is_known);
  if (what == "everything") everything();
  if (what == "served") served();
  if (what == "returned") returned();
  return done();
}
