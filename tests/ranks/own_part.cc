// The last rank gives itself other bytes than it takes from itself: its call fails and says so, no
// other member waits for it, and the communicator is good afterwards.
#include "check.h"

using namespace ranks;

namespace {

// Of an allgatherv the own part is what others take, too.
enum Kind { gather, gatherv, scatter, scatterv, allgather, alltoall, alltoallv, kinds };

// What one rank says; only its own part is ever unequal.
struct Said {
  int given, taken;  // of its own part
  std::vector<int> send, recv, givens, takens, offsets;
};

Said say(int block, int given, int taken) {
  const auto members = static_cast<std::size_t>(size), me = static_cast<std::size_t>(rank);
  const std::size_t words = members * 2 * static_cast<std::size_t>(block);
  Said said{given, taken, std::vector<int>(words, rank), std::vector<int>(words), {}, {}, {}};
  said.givens = said.takens = std::vector<int>(members, block);
  said.givens[me] = given;
  said.takens[me] = taken;
  for (int i = 0; i < size; ++i) said.offsets.push_back(2 * block * i);
  return said;
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
  Said said = say(block, differs && !scatters ? other : block, differs && scatters ? other : block);
  int code = MPI_SUCCESS;
  if (waits) {
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(begin_call(kind, said, comm, &request) == MPI_SUCCESS);
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  } else {
    code = call(kind, said, comm);
  }
  if (differs) {
    CHECK(class_of(code) == (gives_more ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT));
  } else if (kind >= scatter) {  // of a gather only the root takes anything
    CHECK(code != MPI_SUCCESS);
  }
  int sum = 1;
  CHECK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
  CHECK(sum == size);
}

}  // namespace

int main() {
  begin();
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int kind = gather; kind < kinds; ++kind)
    for (const bool waits : {false, true})
      for (const int block : {1, 5000, 70000})
        for (const bool gives_more : {true, false})
          differ(static_cast<Kind>(kind), waits, block, gives_more, comm);
  MPI_Comm_free(&comm);
  return done();
}
