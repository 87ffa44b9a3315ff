// Calls in streams and NCCL, by the first word:
//   declined   what is waited for goes by ours while a stream stands still, and by NCCL again later
//   streamed   what is enqueued on memory that was promised is NCCL's, in the stream itself
//   alone      so it is of one communicator a process, whatever the order on each rank
//   beside     with calls that are waited for, by NCCL and ours in turn
//   unkept     a promise that a rank does not keep, or that one did not make
//   refused    NCCL does not take what rank 1 puts
//   killed     the last rank dies inside
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <deque>
#include <optional>
#include <string_view>

#include "served.h"
#include "stream_area.h"

using namespace ranks;
using gpu::Flow;
using gpu::has_served;
using gpu::Held;
using gpu::Kind;
using gpu::Lane;
using gpu::numbers;
using gpu::served;
using gpu::Vector;

namespace {

constexpr std::size_t kCount = 20000;
constexpr int kNumber = static_cast<int>(kCount);

std::vector<int> sums(int times = 1) {
  std::vector<int> all(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    for (int r = 0; r < size; ++r) all[i] += times * (r * 1000003 + static_cast<int>(i));
  return all;
}

// A sum that is waited for, and whether NCCL made it; neither true nor false where nobody counts.
// The memory is kept: to free it waits for streams that stand still.
std::optional<bool> waited_by_nccl(std::deque<Vector<int>>& kept, MPI_Comm comm = MPI_COMM_WORLD) {
  auto& send = kept.emplace_back(numbers(kCount, rank), Kind::device);
  auto& recv = kept.emplace_back(std::vector<int>(kCount), Kind::device);
  const auto before = served();
  CHECK(MPI_Allreduce(send.data(), recv.data(), kNumber, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
  CHECK(recv.get() == sums());
  return gpu::is_counted() ? std::optional(served() > before) : std::nullopt;
}

// Rank 0's stream stands until rank 1 sends, which it does behind the call that both wait for.
void declined() {
  std::deque<Vector<int>> kept;
  CHECK(waited_by_nccl(kept) != false);
  Lane lane;
  CHECK(waited_by_nccl(kept) != false);
  Flow<int> in(kCount, Kind::device);
  const auto sent = numbers(kCount, 7);
  if (rank == 0) {
    MPIX_Recv_enqueue(in.data(), kNumber, MPI_INT, 1, 3, lane.comm, MPI_STATUS_IGNORE);
    in.take(lane);
  }
  CHECK(waited_by_nccl(kept) != true);
  if (rank == 1) MPI_Send(sent.data(), kNumber, MPI_INT, 0, 3, lane.comm);
  lane.wait();
  if (rank == 0) CHECK(in.taken() == sent);
  lane.close();  // what it held has ended
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(waited_by_nccl(kept) != false);
}

int class_of(int code) {
  int error_class = code;
  MPI_Error_class(code, &error_class);
  return error_class;
}

std::vector<int> by_rank(int step) {
  std::vector<int> all;
  for (int r = 0; r < size; ++r) {
    const auto part = numbers(kCount, r * size + step);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// Each of them, on a stream that has come to none of them when all were called, on all ranks. (A
// real NCCL takes memory in first calls, for which the driver may wait for a stream that is held.)
void each(const Lane& lane, bool holds = gpu::is_counted()) {
  const std::size_t all = kCount * static_cast<std::size_t>(size);
  Flow<int> mine(kCount, Kind::device), sum(kCount, Kind::device), same(kCount, Kind::device),
      reduced(kCount, Kind::device), bcast(kCount, Kind::device), gathered(all, Kind::device),
      blocks(all, Kind::device), crossed(all, Kind::device), folded(kCount, Kind::device);
  const int root = size - 1, n = kNumber;
  std::vector<int> to_each;
  for (int to = 0; to < size; ++to) {
    const auto part = numbers(kCount, rank * size + to);
    to_each.insert(to_each.end(), part.begin(), part.end());
  }
  const auto before = served();
  Held held(lane);
  if (!holds) held.let_go();
  mine.put(numbers(kCount, rank), lane);
  same.put(numbers(kCount, rank), lane);
  bcast.put(numbers(kCount, rank), lane);
  blocks.put(to_each, lane);
  MPIX_Allreduce_enqueue(mine.data(), sum.data(), n, MPI_INT, MPI_SUM, lane.comm);
  MPIX_Allreduce_enqueue_c(MPI_IN_PLACE, same.data(), n, MPI_INT, MPI_SUM, lane.comm);
  MPIX_Allreduce_enqueue(mine.data(), sum.data(), 0, MPI_INT, MPI_SUM, lane.comm);
  MPIX_Reduce_enqueue(mine.data(), reduced.data(), n, MPI_INT, MPI_SUM, root, lane.comm);
  MPIX_Barrier_enqueue(lane.comm);  // by ours, between two of NCCL's
  MPIX_Bcast_enqueue(bcast.data(), n, MPI_INT, root, lane.comm);
  MPIX_Allgather_enqueue(mine.data(), n, MPI_INT, gathered.data(), n, MPI_INT, lane.comm);
  MPIX_Alltoall_enqueue(blocks.data(), n, MPI_INT, crossed.data(), n, MPI_INT, lane.comm);
  MPIX_Reduce_scatter_block_enqueue(gathered.data(), folded.data(), n, MPI_INT, MPI_SUM, lane.comm);
  for (Flow<int>* flow : {&sum, &same, &reduced, &bcast, &gathered, &crossed, &folded})
    flow->take(lane);
  MPI_Barrier(MPI_COMM_WORLD);
  if (holds) CHECK(has_served(before, 0));
  held.let_go();
  lane.wait();
  CHECK(has_served(before, 7));
  CHECK(sum.taken() == sums() && same.taken() == sums());
  if (rank == root) CHECK(reduced.taken() == sums());
  CHECK(bcast.taken() == numbers(kCount, root));
  CHECK(crossed.taken() == by_rank(rank));
  std::vector<int> everybodys;
  for (int r = 0; r < size; ++r) {
    const auto part = numbers(kCount, r);
    everybodys.insert(everybodys.end(), part.begin(), part.end());
  }
  CHECK(gathered.taken() == everybodys);
  auto times = numbers(kCount, rank);
  for (int& value : times) value *= size;
  CHECK(folded.taken() == times);
}

// What a stream that is captured does not take is not called: all can call it again.
void refused_by_a_capture(const Lane& lane) {
  Flow<int> sum(kCount, Kind::device);
  const auto call = [&] {
    return MPIX_Allreduce_enqueue(MPI_IN_PLACE, sum.data(), kNumber, MPI_INT, MPI_SUM, lane.comm);
  };
  sum.put(numbers(kCount, rank), lane);
  MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
  if (rank == 0) {
    CUgraph graph = nullptr;
    CU(cuStreamBeginCapture(lane.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CHECK(class_of(call()) == MPI_ERR_UNSUPPORTED_OPERATION);
    CU(cuStreamEndCapture(lane.stream, &graph));
  }
  CHECK(call() == MPI_SUCCESS);
  sum.take(lane);
  lane.wait();
  CHECK(sum.taken() == sums());
}

void streamed() {
  Lane lane{Lane::Promised()};
  for (int round = 0; round < 3; ++round) each(lane, round > 0 || gpu::is_counted());
  refused_by_a_capture(lane);
  refused_by_a_capture(Lane());  // ours likewise
  // More than there is room for.
  Flow<int> out(kCount, Kind::device);
  out.put(std::vector<int>(kCount, rank == 0 ? 1 : 0), lane);
  for (int i = 0; i < 600; ++i)
    MPIX_Allreduce_enqueue(MPI_IN_PLACE, out.data(), 1, MPI_INT, MPI_MAX, lane.comm);
  out.take(lane);
  lane.wait();
  CHECK(out.taken().front() == 1);
  // The communicator is freed at once.
  Flow<int> sum(kCount, Kind::device);
  sum.put(numbers(kCount, rank), lane);
  MPIX_Allreduce_enqueue(MPI_IN_PLACE, sum.data(), kNumber, MPI_INT, MPI_SUM, lane.comm);
  MPI_Comm_free(&lane.comm);
  sum.take(lane);
  lane.wait();
  CHECK(sum.taken() == sums());
  lane.close();
  Lane blocking(Lane::Promised(), CU_STREAM_DEFAULT);
  each(blocking);
}

// Filled in another order on each rank, on GPUs that have room for one kernel. Not the first calls,
// in which NCCL connects, and what it asks of the driver then waits for streams that stand still.
void alone() {
  std::deque<Lane> lanes;
  for (int i = 0; i < 3; ++i) {
    const Lane& lane = lanes.emplace_back(Lane::Promised());
    Flow<int> first(kCount, Kind::device);
    first.put(numbers(kCount, rank), lane);
    MPIX_Allreduce_enqueue(MPI_IN_PLACE, first.data(), kNumber, MPI_INT, MPI_SUM, lane.comm);
    lane.wait();
  }
  for (int round = 0; round < 4; ++round) {
    const auto before = served();
    std::deque<Flow<int>> out, in;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      out.emplace_back(kCount, Kind::device);
      in.emplace_back(kCount, Kind::device);
    }
    for (int i = 0; i < 3; ++i) {
      const auto at = static_cast<std::size_t>((i + rank + round) % 3);
      out[at].put(numbers(kCount, rank), lanes[at]);
      MPIX_Allreduce_enqueue(out[at].data(), in[at].data(), kNumber, MPI_INT, MPI_SUM,
                             lanes[at].comm);
      in[at].take(lanes[at]);
    }
    for (Lane& lane : lanes) lane.wait();
    for (Flow<int>& each : in) CHECK(each.taken() == sums());
    CHECK(has_served(before, 1));
  }
  lanes.front().close();
  MPI_Barrier(MPI_COMM_WORLD);
  Lane next{Lane::Promised()};
  each(next, false);  // its first calls
}

// Some of the waited calls find streams at rest, some do not: by whom they go changes.
void beside() {
  Lane lane{Lane::Promised()};
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  std::deque<Vector<int>> kept;
  for (int round = 0; round < 24; ++round) {
    Flow<int> out(kCount, Kind::device), sum(kCount, Kind::device);
    out.put(numbers(kCount, rank), lane);
    MPIX_Allreduce_enqueue(out.data(), sum.data(), kNumber, MPI_INT, MPI_SUM, lane.comm);
    sum.take(lane);
    if (round % 4 == rank % 4) lane.wait();
    if (round % 3 == 0) waited_by_nccl(kept, other);
    Vector<int> send(numbers(kCount, rank), Kind::device),
        recv(std::vector<int>(kCount), Kind::device);
    CHECK(MPI_Allreduce(send.data(), recv.data(), kNumber, MPI_INT, MPI_SUM, lane.comm) ==
          MPI_SUCCESS);
    CHECK(recv.get() == sums());
    lane.wait();
    CHECK(sum.taken() == sums());
  }
  lane.close();
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(waited_by_nccl(kept, other) != false);
  MPI_Comm_free(&other);
}

// What rank 1 cannot give nobody waits for: its call ends with an error, and the others' too.
void ends_with_errors(int of_the_one, void* send_of_the_one) {
  Lane lane{Lane::Promised()};
  MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
  Flow<int> out(kCount, Kind::device), sum(kCount, Kind::device);
  const auto call = [&](void* send) {
    return MPIX_Allreduce_enqueue(send, sum.data(), kNumber, MPI_INT, MPI_SUM, lane.comm);
  };
  for (int i = 0; i < 2; ++i) {
    out.put(numbers(kCount, rank), lane);
    CHECK(call(out.data()) == MPI_SUCCESS);
    sum.take(lane);
    lane.wait();
    CHECK(sum.taken() == sums());
  }
  if (rank == 1) {
    CHECK(class_of(call(send_of_the_one != nullptr ? send_of_the_one : out.data())) == of_the_one);
  } else {
    int code = call(out.data());  // unless it has heard of it already
    lane.wait();
    while (code == MPI_SUCCESS) code = call(out.data());
    CHECK(class_of(code) == MPI_ERR_OTHER);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(class_of(call(out.data())) != MPI_SUCCESS);  // and so it stays, nobody waits
  MPI_Comm_free(&lane.comm);
  MPIX_Stream_free(&lane.handle);
}

void unkept() {
  std::vector<int> on_host(kCount);
  ends_with_errors(MPI_ERR_BUFFER, on_host.data());
  // One that was not made: ours serve, whatever the others have promised.
  const auto before = served();
  Lane* const lane = rank == 0 ? new Lane : new Lane(Lane::Promised());
  Flow<int> out(kCount, Kind::device), sum(kCount, Kind::device);
  out.put(numbers(kCount, rank), *lane);
  MPIX_Allreduce_enqueue(rank == 0 ? on_host.data() : out.data(), sum.data(), kNumber, MPI_INT,
                         MPI_MAX, lane->comm);
  sum.take(*lane);
  lane->wait();
  CHECK(sum.taken() == numbers(kCount, size - 1));
  CHECK(has_served(before, 0));
  delete lane;
}

// The last rank dies, when the others' streams have come to the call.
void killed() {
  Lane lane{Lane::Promised()};
  MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Flow<int> out(kCount, Kind::device), sum(kCount, Kind::device);
  const auto call = [&] {
    return MPIX_Allreduce_enqueue(out.data(), sum.data(), kNumber, MPI_INT, MPI_SUM, lane.comm);
  };
  out.put(numbers(kCount, rank), lane);
  CHECK(call() == MPI_SUCCESS);
  sum.take(lane);
  lane.wait();
  CHECK(sum.taken() == sums());
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    ::usleep(20000);
    std::raise(SIGKILL);
  }
  int code = call();  // unless it was seen to die already
  lane.wait();
  while (code == MPI_SUCCESS) code = call();
  CHECK(class_of(code) == MPI_ERR_PROC_ABORTED);
  MPI_Comm_free(&lane.comm);
  MPIX_Stream_free(&lane.handle);
  std::printf("rank %d goes on\n", rank);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  begin(MPI_THREAD_MULTIPLE);
  gpu::begin();
  if (what == "declined") declined();
  if (what == "streamed") streamed();
  if (what == "alone") alone();
  if (what == "beside") beside();
  if (what == "unkept") unkept();
  if (what == "refused") ends_with_errors(MPI_ERR_OTHER, nullptr);
  if (what == "killed") {
    killed();
    return failures == 0 ? 0 : 1;
  }
  return done();
}
