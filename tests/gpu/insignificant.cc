// Calls in streams look at what ordinary calls look at: arguments that are not significant with
// this member may be anything.
#include "stream_area.h"

using namespace ranks;
using gpu::any_streamed;
using gpu::Flow;
using gpu::Lane;
using gpu::numbers;

namespace {

// Between two groups only the root and the other group have part in a rooted call: nothing of the
// others is looked at, nor of the root what it does not have.
void between_groups() {
  if (size == 1) return;
  const std::size_t count = 300;
  const int n = static_cast<int>(count);
  const bool is_root = rank == 0, is_beside = rank > 0 && rank < size / 2;
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, rank < size / 2 ? 0 : 1, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_root || is_beside ? size / 2 : 0, 8, &inter);
  {
    Lane lane(inter);
    const int root = is_root ? MPI_ROOT : is_beside ? MPI_PROC_NULL : 0;
    Flow<int> data(count, any_streamed()), sum(count, any_streamed());
    data.put(numbers(count, rank), lane);
    void* const given = is_beside ? nullptr : data.data();
    const MPI_Datatype type = is_beside ? MPI_DATATYPE_NULL : MPI_INT;
    CHECK(MPIX_Bcast_enqueue(given, is_beside ? -1 : n, type, root, lane.comm) == MPI_SUCCESS);
    CHECK(MPIX_Reduce_enqueue(is_root ? nullptr : given, is_root ? sum.data() : nullptr, n, type,
                              is_beside ? MPI_OP_NULL : MPI_SUM, root, lane.comm) == MPI_SUCCESS);
    data.take(lane);
    sum.take(lane);
    lane.wait();
    if (!is_beside) CHECK(data.taken() == numbers(count, 0));
    auto times = numbers(count, 0);
    for (int& value : times) value *= size - size / 2;
    if (is_root) CHECK(sum.taken() == times);
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

// The null handle is a type for what moves nothing, as in ordinary calls.
void without_type(const Lane& lane) {
  const MPI_Datatype none = MPI_DATATYPE_NULL;
  int word = 0;
  CHECK(MPIX_Bcast_enqueue(nullptr, 0, none, 0, lane.comm) == MPI_SUCCESS);
  CHECK(MPIX_Allgather_enqueue(nullptr, 0, none, nullptr, 0, none, lane.comm) == MPI_SUCCESS);
  CHECK(MPIX_Alltoall_enqueue(nullptr, 0, none, nullptr, 0, none, lane.comm) == MPI_SUCCESS);
  CHECK(MPIX_Send_enqueue(&word, 1, none, MPI_PROC_NULL, 3, lane.comm) == MPI_SUCCESS);
  CHECK(MPIX_Recv_enqueue(nullptr, 0, none, MPI_PROC_NULL, 3, lane.comm, MPI_STATUS_IGNORE) ==
        MPI_SUCCESS);
  lane.wait();
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  {
    Lane lane;
    without_type(lane);
  }
  between_groups();
  return done();
}
