// Calls enqueued in streams: each of them, in order with what the stream holds before and behind,
// several streams at once, beside ordinary calls, and what may be freed meanwhile. The first word:
// the thread level that is asked for.
#include <algorithm>
#include <deque>

#include "stream_area.h"

using namespace ranks;
using gpu::any_streamed;
using gpu::Flow;
using gpu::Kind;
using gpu::Lane;
using gpu::left;
using gpu::numbers;
using gpu::right;

namespace {

std::vector<int> sums(std::size_t count) {
  std::vector<int> all(count);
  for (std::size_t i = 0; i < count; ++i)
    for (int r = 0; r < size; ++r) all[i] += r * 1000003 + static_cast<int>(i);
  return all;
}
std::vector<int> gathered(std::size_t count) {
  std::vector<int> all;
  for (int r = 0; r < size; ++r) {
    const auto part = numbers(count, r);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

void each_collective(const Lane& lane, std::size_t count) {
  const int n = static_cast<int>(count);
  const std::size_t all = count * static_cast<std::size_t>(size);
  Flow<int> mine(count, any_streamed()), bcast(count, any_streamed()), sum(count, any_streamed()),
      reduced(count, any_streamed()), gather(all, any_streamed()), blocks(all, any_streamed()),
      crossed(all, any_streamed()), folded(count, any_streamed()), same(count, any_streamed());
  const int root = size - 1;
  std::vector<int> to_each(all);
  for (int to = 0; to < size; ++to)
    std::copy_n(
        numbers(count, rank * size + to).begin(), count,
        to_each.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(to) * count));
  mine.put(numbers(count, rank), lane);
  bcast.put(numbers(count, rank), lane);
  blocks.put(to_each, lane);
  same.put(numbers(count, rank), lane);
  MPIX_Barrier_enqueue(lane.comm);
  MPIX_Bcast_enqueue(bcast.data(), n, MPI_INT, root, lane.comm);
  MPIX_Allreduce_enqueue(mine.data(), sum.data(), n, MPI_INT, MPI_SUM, lane.comm);
  MPIX_Allreduce_enqueue_c(MPI_IN_PLACE, same.data(), n, MPI_INT, MPI_SUM, lane.comm);
  MPIX_Reduce_enqueue(mine.data(), reduced.data(), n, MPI_INT, MPI_SUM, root, lane.comm);
  MPIX_Allgather_enqueue(mine.data(), n, MPI_INT, gather.data(), n, MPI_INT, lane.comm);
  MPIX_Alltoall_enqueue(blocks.data(), n, MPI_INT, crossed.data(), n, MPI_INT, lane.comm);
  MPIX_Reduce_scatter_block_enqueue(gather.data(), folded.data(), n, MPI_INT, MPI_SUM, lane.comm);
  for (Flow<int>* flow : {&bcast, &sum, &same, &reduced, &gather, &crossed, &folded})
    flow->take(lane);
  lane.wait();
  CHECK(bcast.taken() == numbers(count, root));
  CHECK(sum.taken() == sums(count));
  CHECK(same.taken() == sums(count));
  if (rank == root) CHECK(reduced.taken() == sums(count));
  CHECK(gather.taken() == gathered(count));
  std::vector<int> from_each;
  for (int from = 0; from < size; ++from) {
    const auto part = numbers(count, from * size + rank);
    from_each.insert(from_each.end(), part.begin(), part.end());
  }
  CHECK(crossed.taken() == from_each);
  auto times = numbers(count, rank);
  for (int& value : times) value *= size;
  CHECK(folded.taken() == times);
}

// By the order of ranks, since a stream that stands in a send cannot receive.
void messages(const Lane& lane, std::size_t count) {
  if (size == 1) return;
  const int n = static_cast<int>(count);
  Flow<int> out(count, any_streamed()), in(count, any_streamed());
  MPI_Status status = {};
  out.put(numbers(count, rank), lane);
  if (rank % 2 == 0) MPIX_Send_enqueue(out.data(), n, MPI_INT, right(), 3, lane.comm);
  MPIX_Recv_enqueue(in.data(), n, MPI_INT, MPI_ANY_SOURCE, 3, lane.comm, &status);
  if (rank % 2 == 1) MPIX_Send_enqueue_c(out.data(), n, MPI_INT, right(), 3, lane.comm);
  in.take(lane);
  lane.wait();
  int received = 0;
  MPI_Get_count(&status, MPI_INT, &received);
  CHECK(in.taken() == numbers(count, left()));
  CHECK(status.MPI_SOURCE == left() && status.MPI_TAG == 3 && received == n);
}

void requests(const Lane& lane, std::size_t count, int how) {
  const int n = static_cast<int>(count);
  Flow<int> out(count, any_streamed()), in(count, any_streamed());
  MPI_Request both[3];
  MPI_Status statuses[3] = {};
  MPIX_Irecv_enqueue(in.data(), n, MPI_INT, left(), 4, lane.comm, &both[0]);
  out.put(numbers(count, rank), lane);
  MPIX_Isend_enqueue(out.data(), n, MPI_INT, right(), 4, lane.comm, &both[1]);
  both[2] = MPI_REQUEST_NULL;
  if (how == 0) {
    MPIX_Waitall_enqueue(3, both, statuses);
    CHECK(both[0] == MPI_REQUEST_NULL && both[1] == MPI_REQUEST_NULL);
  } else if (how == 1) {
    MPIX_Wait_enqueue(&both[1], MPI_STATUS_IGNORE);
    MPIX_Wait_enqueue(&both[0], &statuses[0]);
  } else {  // by the host, which may not yet look at what the stream has not waited for
    MPI_Waitall(3, both, statuses);
  }
  in.take(lane);
  lane.wait();
  CHECK(in.taken() == numbers(count, left()));
  CHECK(statuses[0].MPI_SOURCE == left() && statuses[0].MPI_TAG == 4);
}

// Nobody waits between the steps of a training: each is a copy, a sum and a copy.
void steps(const Lane& lane) {
  const std::size_t count = 3000;
  Flow<int> out(count, Kind::device), in(count, Kind::device), last(count, Kind::pinned);
  out.put(std::vector<int>(count, 1), lane);
  int factor = 1;
  for (int step = 0; step < 8; ++step) {
    MPIX_Allreduce_enqueue(out.data(), in.data(), static_cast<int>(count), MPI_INT, MPI_SUM,
                           lane.comm);
    CU(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(out.data()),
                     reinterpret_cast<CUdeviceptr>(in.data()), count * sizeof(int), lane.stream));
    factor *= size;
  }
  in.take(lane);
  lane.wait();
  CHECK(in.taken() == std::vector<int>(count, factor));
}

// More than there is room for, and nobody waits for any of it before.
void many(const Lane& lane) {
  const int times = 700;
  std::vector<MPI_Request> all(2 * times);
  Flow<int> out(times, Kind::device), in(times, Kind::device);
  out.put(numbers(times, rank), lane);
  for (int i = 0; i < times; ++i) {
    MPIX_Irecv_enqueue(in.data() + i, 1, MPI_INT, left(), i, lane.comm, &all[2 * i]);
    MPIX_Isend_enqueue(out.data() + i, 1, MPI_INT, right(), i, lane.comm, &all[2 * i + 1]);
  }
  MPIX_Waitall_enqueue(2 * times, all.data(), MPI_STATUSES_IGNORE);
  in.take(lane);
  lane.wait();
  CHECK(in.taken() == numbers(times, left()));
}

// Several streams of a rank, filled in another order at each rank. What a stream of one rank waits
// for may be sent by a stream that the other rank filled later.
void several() {
  const std::size_t count = 5000;
  const int n = static_cast<int>(count), lanes = 4;
  std::deque<Lane> all;
  std::deque<Flow<int>> out, in;
  for (int i = 0; i < lanes; ++i) {
    all.emplace_back();
    out.emplace_back(count, any_streamed());
    in.emplace_back(count, any_streamed());
  }
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < lanes; ++i) {
      const auto at = static_cast<std::size_t>((i + rank + round) % lanes);
      out[at].put(numbers(count, rank), all[at]);
      MPIX_Allreduce_enqueue(out[at].data(), in[at].data(), n, MPI_INT, MPI_SUM, all[at].comm);
      in[at].take(all[at]);
    }
    for (Lane& lane : all) lane.wait();
    for (Flow<int>& each : in) CHECK(each.taken() == sums(count));
  }
  // Two streams on one communicator's group: receives first.
  MPI_Comm shared;
  MPIX_Stream_comm_create(all[0].comm, all[1].handle, &shared);
  MPIX_Recv_enqueue(in[1].data(), n, MPI_INT, left(), 1, shared, MPI_STATUS_IGNORE);
  in[1].take(all[1]);
  MPIX_Recv_enqueue(in[2].data(), n, MPI_INT, left(), 1, all[2].comm, MPI_STATUS_IGNORE);
  in[2].take(all[2]);
  // The host sends for both: on the shared communicator, and on the receiving stream's own.
  MPI_Comm beside;
  MPI_Comm_dup(shared, &beside);
  MPIX_Stream kept = MPIX_STREAM_NULL;
  MPIX_Comm_get_stream(beside, 0, &kept);
  CHECK(kept == all[1].handle);
  MPI_Comm_free(&beside);
  const auto mine = numbers(count, rank);
  MPI_Request sent[2];
  MPI_Isend(mine.data(), n, MPI_INT, right(), 1, shared, &sent[0]);
  MPI_Isend(mine.data(), n, MPI_INT, right(), 1, all[2].comm, &sent[1]);
  all[1].wait();
  all[2].wait();
  MPI_Waitall(2, sent, MPI_STATUSES_IGNORE);
  CHECK(in[1].taken() == numbers(count, left()) && in[2].taken() == numbers(count, left()));
  MPI_Comm_free(&shared);
}

// Ordinary calls come after the default stream, which a blocking stream stands in the way of: what
// is enqueued there must not wait for them. In turns, so that each waits for the other one's rank.
void beside_ordinary(const Lane& lane) {
  const std::size_t count = 2000;
  const int n = static_cast<int>(count);
  Flow<int> out(count, Kind::device), sum(count, Kind::device);
  gpu::Vector<int> send(numbers(count, rank), Kind::device),
      recv(std::vector<int>(count), Kind::device);
  for (int round = 0; round < 4; ++round) {
    out.put(numbers(count, rank), lane);
    MPIX_Allreduce_enqueue(out.data(), sum.data(), n, MPI_INT, MPI_SUM, lane.comm);
    MPI_Request request;
    MPI_Isend(send.data(), n, MPI_INT, right(), 5, MPI_COMM_WORLD, &request);
    MPI_Recv(recv.data(), n, MPI_INT, left(), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sum.take(lane);
    MPI_Allreduce(MPI_IN_PLACE, send.data(), n, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    lane.wait();
    CHECK(sum.taken() == sums(count));
    CHECK(recv.get() == numbers(count, left()));
    send.put(numbers(count, rank));
  }
}

// Buffers of the host, types and operations that are freed at once, and the communicator, too.
void freed_early() {
  const int n = 1000;
  CUstream stream = nullptr;
  std::vector<int> out(2 * n, rank), in(2 * n, -1), sum(n, -1);
  MPI_Op op;
  MPI_Op_create(
      [](void* from, void* into, int* count, MPI_Datatype*) {
        for (int i = 0; i < *count; ++i) static_cast<int*>(into)[i] += static_cast<int*>(from)[i];
      },
      1, &op);
  {
    Lane lane;
    MPI_Datatype vector;
    MPI_Type_vector(n, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Request requests[2];
    MPIX_Irecv_enqueue(in.data(), 1, vector, left(), 6, lane.comm, &requests[0]);
    MPIX_Isend_enqueue(out.data(), 1, vector, right(), 6, lane.comm, &requests[1]);
    MPI_Type_free(&vector);
    MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE);
    MPIX_Allreduce_enqueue(out.data(), sum.data(), n, MPI_INT, op, lane.comm);
    MPI_Op_free(&op);
    MPI_Comm_free(&lane.comm);
    stream = std::exchange(lane.stream, nullptr);
    MPIX_Stream_free(&lane.handle);  // waits for all of it
    CHECK(lane.handle == MPIX_STREAM_NULL);
  }
  CU(cuStreamDestroy(stream));
  for (int i = 0; i < n; ++i) {
    CHECK(in[2 * static_cast<std::size_t>(i)] == left() &&
          in[2 * static_cast<std::size_t>(i) + 1] == -1);
    CHECK(sum[static_cast<std::size_t>(i)] == size * (size - 1) / 2);
  }
}

void disconnected() {
  Lane lane;
  const int mine = rank;
  int got = -1;
  MPI_Request requests[2];
  MPIX_Irecv_enqueue(&got, 1, MPI_INT, left(), 7, lane.comm, &requests[0]);
  MPIX_Isend_enqueue(&mine, 1, MPI_INT, right(), 7, lane.comm, &requests[1]);
  MPI_Comm_disconnect(&lane.comm);  // waits for both
  CHECK(got == left());
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

void streams_of_two_gpus() {
  CU(cuCtxSetCurrent(gpu::contexts[1]));
  Lane far;
  CU(cuCtxSetCurrent(gpu::contexts[0]));
  Lane near;
  each_collective(near, 100);
  const std::size_t count = 1000;
  Flow<int> out(count, Kind::other_device), in(count, Kind::other_device);
  out.put(numbers(count, rank), far);
  MPIX_Allreduce_enqueue(out.data(), in.data(), static_cast<int>(count), MPI_INT, MPI_SUM,
                         far.comm);
  in.take(far);
  far.wait();
  CHECK(in.taken() == sums(count));
}

// Those of the host do not take what one in the stream is to get, which a late stream begins later.
void match_in_call_order(const Lane& lane) {
  const CUhostFn be_late = [](void*) { ::usleep(5000); };
  Flow<int> streamed(100, any_streamed());
  for (int round = 0; round < 3 * size; ++round) {
    const bool is_late = rank == round % size;
    streamed.put(std::vector<int>(100, 1), lane);
    if (is_late) CU(cuLaunchHostFunc(lane.stream, be_late, nullptr));
    MPIX_Allreduce_enqueue(MPI_IN_PLACE, streamed.data(), 100, MPI_INT, MPI_SUM, lane.comm);
    if (!is_late) ::usleep(2500);
    std::vector<int> begun(100, 1000), waited(100, 100000);
    MPI_Request request;
    MPI_Iallreduce(MPI_IN_PLACE, begun.data(), 100, MPI_INT, MPI_SUM, lane.comm, &request);
    MPI_Allreduce(MPI_IN_PLACE, waited.data(), 100, MPI_INT, MPI_SUM, lane.comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    streamed.take(lane);
    lane.wait();
    CHECK(streamed.taken() == std::vector<int>(100, size));
    CHECK(begun[99] == 1000 * size && waited[99] == 100000 * size);
  }
}

}  // namespace

int main(int argc, char** argv) {
  begin(argc > 1 ? std::atoi(argv[1]) : MPI_THREAD_SINGLE);
  gpu::begin();
  {
    Lane lane;
    for (const std::size_t count : {0, 1, 500, 40000}) {
      each_collective(lane, count);
      messages(lane, count);
      for (int how = 0; how < 3; ++how) requests(lane, count, how);
    }
    steps(lane);
    many(lane);
    several();
    beside_ordinary(lane);
    match_in_call_order(lane);
  }
  {
    Lane blocking(MPI_COMM_WORLD, CU_STREAM_DEFAULT);
    each_collective(blocking, 500);
    beside_ordinary(blocking);
  }
  {
    Lane legacy{Lane::Legacy()};
    each_collective(legacy, 500);
    beside_ordinary(legacy);
  }
  freed_early();
  disconnected();
  streams_of_two_gpus();
  // MPI_Finalize waits for it.
  static auto* const left_open = new Lane;
  static auto* const sum = new Flow<int>(10, Kind::pinned);
  sum->put(numbers(10, rank), *left_open);
  MPIX_Allreduce_enqueue(MPI_IN_PLACE, sum->data(), 10, MPI_INT, MPI_SUM, left_open->comm);
  const int status = done();
  const std::vector<int> found(sum->data(), sum->data() + 10);
  return status == 0 && found == sums(10) ? 0 : 1;
}
