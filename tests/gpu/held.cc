// Each call that goes into a stream returns while the stream stands still, before any peer has come
// to it: the stream is let go when all ranks have made all of them. A call that waited would end
// the test by its time. The words: "ours", or "nccl" where the collectives are NCCL's in the stream
// itself.
#include <deque>
#include <optional>

#include "stream_area.h"

using namespace ranks;
using gpu::Flow;
using gpu::Kind;
using gpu::Lane;
using gpu::left;
using gpu::numbers;
using gpu::right;

namespace {

const int kCount = 4000;
std::optional<gpu::Held> held;

// The stream stands still until release(), where it is wanted.
void hold(const Lane& lane, bool is_wanted = true) {
  if (is_wanted) held.emplace(lane);
}
void release(const Lane& lane) {
  MPI_Barrier(MPI_COMM_WORLD);  // all ranks have returned from all of their calls
  if (held) {
    CHECK(cuStreamQuery(lane.stream) == CUDA_ERROR_NOT_READY);
    held->let_go();
  }
  lane.wait();
  held.reset();
}

// Rank 0's stream sends before it receives, so that no ring of them waits for itself.
void messages(const Lane& lane) {
  std::deque<Flow<int>> in;
  for (int i = 0; i < 4; ++i) in.emplace_back(kCount, Kind::device);
  Flow<int> out(kCount, Kind::device);
  MPI_Status one = {}, all[2] = {};
  hold(lane);
  out.put(numbers(kCount, rank), lane);
  MPI_Request first[2], second[2];
  MPIX_Irecv_enqueue(in[0].data(), kCount, MPI_INT, left(), 1, lane.comm, &first[0]);
  MPIX_Isend_enqueue(out.data(), kCount, MPI_INT, right(), 1, lane.comm, &first[1]);
  MPIX_Irecv_enqueue_c(in[1].data(), kCount, MPI_INT, left(), 2, lane.comm, &second[0]);
  MPIX_Isend_enqueue_c(out.data(), kCount, MPI_INT, right(), 2, lane.comm, &second[1]);
  MPIX_Wait_enqueue(&first[1], MPI_STATUS_IGNORE);
  MPIX_Wait_enqueue(&first[0], &one);
  MPIX_Waitall_enqueue(2, second, all);
  if (size > 1) {
    if (rank == 0) MPIX_Send_enqueue(out.data(), kCount, MPI_INT, right(), 3, lane.comm);
    MPIX_Recv_enqueue(in[2].data(), kCount, MPI_INT, left(), 3, lane.comm, MPI_STATUS_IGNORE);
    if (rank != 0) MPIX_Send_enqueue(out.data(), kCount, MPI_INT, right(), 3, lane.comm);
    if (rank == 0) MPIX_Send_enqueue_c(out.data(), kCount, MPI_INT, right(), 4, lane.comm);
    MPIX_Recv_enqueue_c(in[3].data(), kCount, MPI_INT, left(), 4, lane.comm, MPI_STATUS_IGNORE);
    if (rank != 0) MPIX_Send_enqueue_c(out.data(), kCount, MPI_INT, right(), 4, lane.comm);
  }
  for (Flow<int>& each : in) each.take(lane);
  release(lane);
  for (std::size_t i = 0; i < (size > 1 ? in.size() : 2); ++i)
    CHECK(in[i].taken() == numbers(kCount, left()));
  CHECK(one.MPI_SOURCE == left() && one.MPI_TAG == 1);
  CHECK(all[0].MPI_SOURCE == left() && all[0].MPI_TAG == 2);
}

void collectives(const Lane& lane, bool is_held) {
  const auto all = static_cast<std::size_t>(size) * kCount;
  Flow<int> mine(kCount, Kind::device), blocks(all, Kind::device), sum(kCount, Kind::device),
      bcast(kCount, Kind::device), reduced(kCount, Kind::device), folded(kCount, Kind::device),
      gathered(all, Kind::device), crossed(all, Kind::device);
  const auto ours = numbers(kCount, rank);
  std::vector<int> sums(kCount), each;
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < kCount; ++i) {
      sums[static_cast<std::size_t>(i)] += r * 1000003 + i;
      each.push_back(r * 1000003 + i);
    }
  hold(lane, is_held);
  mine.put(ours, lane);
  blocks.put(each, lane);
  bcast.put(ours, lane);
  MPIX_Barrier_enqueue(lane.comm);
  MPIX_Allreduce_enqueue(mine.data(), sum.data(), kCount, MPI_INT, MPI_SUM, lane.comm);
  MPIX_Bcast_enqueue(bcast.data(), kCount, MPI_INT, 0, lane.comm);
  MPIX_Reduce_enqueue(mine.data(), reduced.data(), kCount, MPI_INT, MPI_SUM, 0, lane.comm);
  MPIX_Reduce_scatter_block_enqueue(blocks.data(), folded.data(), kCount, MPI_INT, MPI_MAX,
                                    lane.comm);
  MPIX_Allgather_enqueue(mine.data(), kCount, MPI_INT, gathered.data(), kCount, MPI_INT, lane.comm);
  MPIX_Alltoall_enqueue(blocks.data(), kCount, MPI_INT, crossed.data(), kCount, MPI_INT, lane.comm);
  for (Flow<int>* flow : {&sum, &bcast, &reduced, &folded, &gathered, &crossed}) flow->take(lane);
  release(lane);
  CHECK(sum.taken() == sums);
  CHECK(bcast.taken() == numbers(kCount, 0));
  if (rank == 0) CHECK(reduced.taken() == sums);
  CHECK(folded.taken() == ours);
  CHECK(gathered.taken() == each);
  std::vector<int> same;
  for (int r = 0; r < size; ++r) same.insert(same.end(), ours.begin(), ours.end());
  CHECK(crossed.taken() == same);
}

// The forms with large counts.
void large_counts(const Lane& lane, bool is_held) {
  const auto all = static_cast<std::size_t>(size) * kCount;
  Flow<int> mine(kCount, Kind::device), blocks(all, Kind::device), into(all, Kind::device);
  hold(lane, is_held);
  mine.put(numbers(kCount, rank), lane);
  MPIX_Allreduce_enqueue_c(mine.data(), into.data(), kCount, MPI_INT, MPI_SUM, lane.comm);
  MPIX_Bcast_enqueue_c(into.data(), kCount, MPI_INT, 0, lane.comm);
  MPIX_Reduce_enqueue_c(mine.data(), into.data(), kCount, MPI_INT, MPI_SUM, 0, lane.comm);
  MPIX_Allgather_enqueue_c(mine.data(), kCount, MPI_INT, blocks.data(), kCount, MPI_INT, lane.comm);
  MPIX_Reduce_scatter_block_enqueue_c(blocks.data(), into.data(), kCount, MPI_INT, MPI_MAX,
                                      lane.comm);
  MPIX_Alltoall_enqueue_c(blocks.data(), kCount, MPI_INT, into.data(), kCount, MPI_INT, lane.comm);
  into.take(lane);
  release(lane);
  const auto taken =
      into.taken();  // of each rank the block of this one, which is this one's numbers
  for (std::size_t i = 0; i < taken.size(); ++i)
    CHECK(taken[i] == rank * 1000003 + static_cast<int>(i % kCount));
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  gpu::begin();
  const bool by_nccl = argc > 1 && std::string(argv[1]) == "nccl";
  {
    const auto lane = by_nccl ? std::make_unique<Lane>(Lane::Promised()) : std::make_unique<Lane>();
    // As with NCCL itself, its first call of a kind may wait for the others' and for the driver.
    for (const bool is_held : {!by_nccl, true}) {
      if (!by_nccl) messages(*lane);
      collectives(*lane, is_held);
      large_counts(*lane, is_held);
    }
  }
  return done();
}
