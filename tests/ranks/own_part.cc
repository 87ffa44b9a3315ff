// The last rank gives itself other bytes than it takes from itself: its call fails and says so,
// nothing is read or written beside what it said, and no other member waits for it. The team of a
// communicator is broken afterwards, so each call has a communicator of its own.
#include <algorithm>

#include "check.h"

using namespace ranks;

namespace {

// Of an allgatherv the own part is what others take, too.
enum Kind { gather, gatherv, scatter, scatterv, allgather, alltoall, alltoallv, kinds };

constexpr int kUntouched = -77;
constexpr std::size_t kMargin = 70000;  // behind what is received

// What one rank says; only its own part is ever unequal.
struct Said {
  int given, taken;  // of its own part
  std::vector<int> send, recv, givens, takens, offsets;
};

std::size_t words_of(Kind kind, int count, bool from_each, const Said& said,
                     const std::vector<int>& counts) {
  const bool is_vector = kind == gatherv || kind == scatterv || kind == alltoallv;
  if (!from_each) return static_cast<std::size_t>(count);
  if (!is_vector) return static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
  return static_cast<std::size_t>(said.offsets.back() + counts.back());
}

// The buffers are as long as the call says.
Said say(Kind kind, int block, int given, int taken) {
  const auto members = static_cast<std::size_t>(size), me = static_cast<std::size_t>(rank);
  Said said{given, taken, {}, {}, std::vector<int>(members, block), {}, {}};
  said.takens = said.givens;
  said.givens[me] = given;
  said.takens[me] = taken;
  for (int i = 0; i < size; ++i) said.offsets.push_back(2 * block * i);
  const bool scatters = kind == scatter || kind == scatterv,
             gathers = kind == gather || kind == gatherv || kind == allgather;
  said.send.assign(words_of(kind, given, !gathers, said, said.givens), rank);
  said.recv.assign(words_of(kind, taken, !scatters, said, said.takens) + kMargin, kUntouched);
  return said;
}

bool is_untouched(const Said& said) {
  return std::all_of(said.recv.end() - static_cast<std::ptrdiff_t>(kMargin), said.recv.end(),
                     [](int word) { return word == kUntouched; });
}

int call(Kind kind, Said& said, MPI_Comm comm) {
  const int root = size - 1;
  int *send = said.send.data(), *recv = said.recv.data(), *offsets = said.offsets.data();
  int *givens = said.givens.data(), *takens = said.takens.data();
  switch (kind) {
    case gather:
      return MPI_Gather(send, said.given, MPI_INT, recv, said.taken, MPI_INT, root, comm);
    case gatherv:
      return MPI_Gatherv(send, said.given, MPI_INT, recv, takens, offsets, MPI_INT, root, comm);
    case scatter:
      return MPI_Scatter(send, said.given, MPI_INT, recv, said.taken, MPI_INT, root, comm);
    case scatterv:
      return MPI_Scatterv(send, givens, offsets, MPI_INT, recv, said.taken, MPI_INT, root, comm);
    case allgather:
      return MPI_Allgather(send, said.given, MPI_INT, recv, said.taken, MPI_INT, comm);
    case alltoall:
      return MPI_Alltoall(send, said.given, MPI_INT, recv, said.taken, MPI_INT, comm);
    default:
      return MPI_Alltoallv(send, givens, offsets, MPI_INT, recv, takens, offsets, MPI_INT, comm);
  }
}

int begin_call(Kind kind, Said& said, MPI_Comm comm, MPI_Request* request) {
  const int root = size - 1;
  int *send = said.send.data(), *recv = said.recv.data(), *offsets = said.offsets.data();
  int *givens = said.givens.data(), *takens = said.takens.data();
  switch (kind) {
    case gather:
      return MPI_Igather(send, said.given, MPI_INT, recv, said.taken, MPI_INT, root, comm, request);
    case gatherv:
      return MPI_Igatherv(send, said.given, MPI_INT, recv, takens, offsets, MPI_INT, root, comm,
                          request);
    case scatter:
      return MPI_Iscatter(send, said.given, MPI_INT, recv, said.taken, MPI_INT, root, comm,
                          request);
    case scatterv:
      return MPI_Iscatterv(send, givens, offsets, MPI_INT, recv, said.taken, MPI_INT, root, comm,
                           request);
    case allgather:
      return MPI_Iallgather(send, said.given, MPI_INT, recv, said.taken, MPI_INT, comm, request);
    case alltoall:
      return MPI_Ialltoall(send, said.given, MPI_INT, recv, said.taken, MPI_INT, comm, request);
    default:
      return MPI_Alltoallv_init(send, givens, offsets, MPI_INT, recv, takens, offsets, MPI_INT,
                                comm, MPI_INFO_NULL, request) +
             MPI_Start(request);
  }
}

// All agree on what goes between two ranks, whatever the last one says of its own part.
void differ(Kind kind, bool waits, int block, bool gives_more, MPI_Comm comm) {
  const bool differs = rank == size - 1, scatters = kind == scatter || kind == scatterv;
  const int other = gives_more == scatters ? block / 2 : 2 * block;
  Said said =
      say(kind, block, differs && !scatters ? other : block, differs && scatters ? other : block);
  int code = MPI_SUCCESS;
  if (waits) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(begin_call(kind, said, comm, &request) == MPI_SUCCESS);
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  } else {
    code = call(kind, said, comm);
  }
  CHECK(is_untouched(said));
  if (differs) {
    CHECK(class_of(code) == (gives_more ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT));
  } else if (kind >= scatter) {  // of a gather only the root takes anything
    CHECK(code != MPI_SUCCESS);
  }
}

}  // namespace

int main() {
  begin();
  for (int kind = gather; kind < kinds; ++kind)
    for (const bool waits : {false, true})
      for (const int block : {1, 5000, 70000})
        for (const bool gives_more : {true, false}) {
          MPI_Comm comm = MPI_COMM_NULL;
          MPI_Comm_dup(MPI_COMM_WORLD, &comm);
          MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
          differ(static_cast<Kind>(kind), waits, block, gives_more, comm);
          MPI_Comm_free(&comm);
        }
  return done();
}
