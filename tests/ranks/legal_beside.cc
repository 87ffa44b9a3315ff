// Legal programs that the comparison of collectives once took for wrong ones: intercommunicators
// whose sides have their own terms, communicators never freed, numbers that come back and serve
// several groups at once, callbacks that call MPI within MPI_Finalize. Run with
// TUTTI_MISMATCH=every too, which compares each call.
#include "check.h"

using namespace ranks;

namespace {

int g_called = 0;

int call_back(MPI_Comm, int, void*, void*) {
  int mine = 1, sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  g_called += sum;
  return MPI_SUCCESS;
}

// One rank alone on either side; or the evens and the odds. Never freed.
MPI_Comm halves(int color, int key, int tag) {
  MPI_Comm local, inter;
  MPI_Comm_split(MPI_COMM_WORLD, color, key, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, color == 0 ? 1 : 0, tag, &inter);
  return inter;
}

void everything_between(MPI_Comm inter, bool first) {
  int remote = 0, size = 0;
  MPI_Comm_remote_size(inter, &remote);
  MPI_Comm_size(inter, &size);
  int mine = 3, sum = -1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(sum == 3 * remote);
  MPI_Request request;
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_MAX, inter, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(sum == 3);
  // What a side gives is folded in its own way.
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, first ? MPI_SUM : MPI_MAX, inter);
  CHECK(sum == (first ? 3 : 3 * remote));
  MPI_Barrier(inter);
  MPI_Ibarrier(inter, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  // Each side gives as much as it likes.
  const int gives = first ? 2 : 5, gets = first ? 5 : 2;
  std::vector<int> out(static_cast<std::size_t>(gives), 4);
  std::vector<int> in(static_cast<std::size_t>(gets * remote), -1);
  MPI_Allgather(out.data(), gives, MPI_INT, in.data(), gets, MPI_INT, inter);
  for (const int value : in) CHECK(value == 4);
  // The same bytes of another type, and none at all one way.
  std::vector<int> to(static_cast<std::size_t>(2 * remote), 6), from(to.size(), -1);
  if (first)
    MPI_Alltoall(to.data(), 2, MPI_INT, from.data(), 0, MPI_INT, inter);
  else
    MPI_Alltoall(to.data(), 0, MPI_INT, from.data(), 2, MPI_INT, inter);
  for (const int value : from) CHECK(value == (first ? -1 : 6));
  int all = -1;
  std::vector<int> blocks(static_cast<std::size_t>(size * remote), 1);
  std::vector<int> block(static_cast<std::size_t>(remote), -1);
  MPI_Reduce_scatter_block(blocks.data(), block.data(), remote, MPI_INT, MPI_SUM, inter);
  for (const int value : block) CHECK(value == remote);
  int rank = 0;
  MPI_Comm_rank(inter, &rank);
  const int root = first ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
  all = first ? 8 : -1;
  MPI_Bcast(&all, 1, MPI_INT, root, inter);
  CHECK(all == 8);
  MPI_Reduce(&mine, &all, 1, MPI_INT, MPI_SUM, root, inter);
  if (root == MPI_ROOT) CHECK(all == 3 * remote);
}

// Numbers come back: each round frees on some ranks before others have come, and what is made next
// has other members.
void numbers_come_back() {
  for (int round = 0; round < 40; ++round) {
    const int width = 1 + round % 4;
    MPI_Comm part, copy;
    MPI_Comm_split(MPI_COMM_WORLD, (ranks::rank + round) / width, -ranks::rank, &part);
    MPI_Comm_dup(part, &copy);
    int mine = ranks::rank, most = -1;
    if (round % 2 == 0) MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, copy);
    MPI_Bcast(&mine, 1, MPI_INT, 0, part);
    if (round % 3 == 0) MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    if (round % 5 != 0) MPI_Comm_free(&part);
  }
}

}  // namespace

int main() {
  ranks::begin();
  int key = MPI_KEYVAL_INVALID;
  if (ranks::rank == 0) {  // the others have nothing to be called within MPI_Finalize
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, call_back, &key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  }
  if (ranks::size > 1) {
    everything_between(halves(ranks::rank % 2, ranks::rank, 11), ranks::rank % 2 == 0);
    everything_between(halves(ranks::rank == 0 ? 0 : 1, ranks::rank, 12), ranks::rank == 0);
  }
  numbers_come_back();
  const int status = ranks::done();
  return ranks::rank == 0 && g_called != 1 ? 1 : status;
}
