// Ranks whose children of fork end by exit(), ask whether MPI runs, and call it: a child is no
// rank. It is told so, and whatever it does, the parent's messages and collectives go on as before.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <numeric>

#include "check.h"

using namespace ranks;

namespace {

constexpr int kLong = 300000;  // by another way than a short one

void exchange() {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (const int count : {1, kLong}) {
    std::vector<int> given(static_cast<std::size_t>(count)), taken(given.size());
    std::iota(given.begin(), given.end(), rank);
    MPI_Sendrecv(given.data(), count, MPI_INT, right, 7, taken.data(), count, MPI_INT, left, 7,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(taken.front() == left && taken.back() == left + count - 1);
  }
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == size * (size - 1) / 2);
}

// The status of a child that runs `body` and then ends as an ordinary program does.
template <class Body>
int child(Body body) {
  const pid_t made = ::fork();
  if (made == 0) {
    body();
    std::exit(3);
  }
  int status = 0;
  CHECK(::waitpid(made, &status, 0) == made);
  exchange();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void is_told_so(const char* what, int status) {
  if (status == MPI_ERR_OTHER) return;
  std::fprintf(stderr, "rank %d: a child that called %s ended with %d\n", rank, what, status);
  CHECK(status == MPI_ERR_OTHER);
}

}  // namespace

int main() {
  begin();
  exchange();
  CHECK(child([] {}) == 3);
  CHECK(child([] {
          int begun = 0, ended = 0;
          MPI_Initialized(&begun);
          MPI_Finalized(&ended);
          if (begun == 0 || ended == 0) std::_Exit(4);
        }) == 3);
  is_told_so("MPI_Send", child([] { MPI_Send(&rank, 1, MPI_INT, 0, 9, MPI_COMM_WORLD); }));
  is_told_so("MPI_Barrier", child([] { MPI_Barrier(MPI_COMM_WORLD); }));
  is_told_so("MPI_Finalize", child([] { MPI_Finalize(); }));
  is_told_so("MPI_Init", child([] { MPI_Init(nullptr, nullptr); }));
  is_told_so("MPI_Abort", child([] { MPI_Abort(MPI_COMM_WORLD, 1); }));
  is_told_so("MPI_Session_init", child([] {
               MPI_Session session = MPI_SESSION_NULL;
               MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
             }));
  return done();
}
