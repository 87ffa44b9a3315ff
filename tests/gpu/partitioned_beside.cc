// Partitioned messages of GPU memory beside a call in a stream that the default stream waits for.
// They come after the default stream, as every ordinary call does; what they put into the GPU's
// streams may not stand in the way of the call in the stream meanwhile, or both wait for ever.
#include <algorithm>

#include "stream_area.h"

using namespace ranks;
using gpu::Flow;
using gpu::Kind;
using gpu::Lane;
using gpu::left;
using gpu::numbers;
using gpu::right;

namespace {

constexpr int kParts = 6, kEach = 500, kAll = kParts * kEach;

// Both requests, from beginning to end, with a sum in the stream under way; its result is right,
// too.
void round_beside(const Lane& lane, MPI_Request (&both)[2], int parts) {
  Flow<int> sum(100, Kind::device);
  sum.put(std::vector<int>(100, 1), lane);
  MPIX_Allreduce_enqueue(MPI_IN_PLACE, sum.data(), 100, MPI_INT, MPI_SUM, lane.comm);
  MPI_Startall(2, both);
  MPI_Pready(0, both[0]);
  if (parts > 1) {
    const int last[] = {5, 4};
    MPI_Pready_range(1, 3, both[0]);
    MPI_Pready_list(2, last, both[0]);
  }
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  sum.take(lane);
  lane.wait();
  CHECK(sum.taken() == std::vector<int>(100, size));
}

void in_one_memory(const Lane& lane) {
  gpu::Vector<int> out(numbers(kAll, rank), Kind::device), in(std::vector<int>(kAll), Kind::device);
  MPI_Request both[2];
  MPI_Psend_init(out.data(), kParts, kEach, MPI_INT, right(), 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &both[0]);
  MPI_Precv_init(in.data(), kParts, kEach, MPI_INT, left(), 1, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &both[1]);
  for (int round = 0; round < 3; ++round) {
    out.put(numbers(kAll, rank + round));
    round_beside(lane, both, kParts);
    CHECK(in.get() == numbers(kAll, left() + round));
  }
  for (MPI_Request& each : both) MPI_Request_free(&each);
}

// Half of each message lies in the host's memory, half in a GPU's.
void in_two_memories(const Lane& lane) {
  gpu::Vector<int> out(numbers(kEach, rank), Kind::device),
      in(std::vector<int>(kEach), Kind::device);
  std::vector<int> out_host = numbers(kEach, rank + 1), in_host(kEach);
  const auto over = [](const int* one, const int* other) {
    const int lengths[] = {kEach, kEach};
    MPI_Aint places[2];
    MPI_Get_address(one, &places[0]);
    MPI_Get_address(other, &places[1]);
    MPI_Datatype both;
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &both);
    MPI_Type_commit(&both);
    return both;
  };
  MPI_Datatype types[] = {over(out.data(), out_host.data()), over(in.data(), in_host.data())};
  MPI_Request both[2];
  MPI_Psend_init(MPI_BOTTOM, 1, 1, types[0], right(), 2, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]);
  MPI_Precv_init(MPI_BOTTOM, 1, 1, types[1], left(), 2, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
  for (int round = 0; round < 3; ++round) {
    out.put(numbers(kEach, rank + 2 * round));
    std::ranges::copy(numbers(kEach, rank + 1 + round), out_host.begin());
    round_beside(lane, both, 1);
    CHECK(in.get() == numbers(kEach, left() + 2 * round));
    CHECK(in_host == numbers(kEach, left() + 1 + round));
  }
  for (MPI_Request& each : both) MPI_Request_free(&each);
  for (MPI_Datatype& each : types) MPI_Type_free(&each);
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  {
    const Lane lane(MPI_COMM_WORLD, CU_STREAM_DEFAULT);
    in_one_memory(lane);
    in_two_memories(lane);
  }
  return done();
}
