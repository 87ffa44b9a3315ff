// Two threads that are in MPI at once without MPI_THREAD_MULTIPLE are told, once; what is legal is
// not: calls that any thread may make at any time, threads in turn, an operation that asks for an
// extent. Standard error is a pipe that this program reads.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "check.h"

using namespace ranks;

namespace {

constexpr int kLimitMs = 60'000;

int told(int pipe, int limit_ms) {
  pollfd waits{pipe, POLLIN, 0};
  return ::poll(&waits, 1, limit_ms);
}

void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  MPI_Aint least = 0, extent = 0;
  MPI_Type_get_extent(*type, &least, &extent);
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

void be_legal() {
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(&add, 1, &op);
  std::atomic<bool> ends{false};
  std::thread asks([&ends] {
    for (int flag = 0; !ends; MPI_Initialized(&flag)) MPI_Finalized(&flag);
  });
  for (int i = 0; i < 1000; ++i) {
    const auto collect = [&op] {
      int one = 1, sum = 0;
      MPI_Allreduce(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
      CHECK(sum == size);
    };
    std::thread(collect).join();
    collect();
  }
  ends = true;
  asks.join();
  MPI_Op_free(&op);
}

// The thread never comes back: the receive has no sender.
void be_wrong(int pipe, int out) {
  std::thread([] {
    int word = 0;
    MPI_Recv(&word, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }).detach();
  for (int i = 0, me = 0; i < kLimitMs && told(pipe, 1) == 0; ++i)
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
  char text[1000];
  const ssize_t got = told(pipe, 0) > 0 ? ::read(pipe, text, sizeof text) : 0;
  const bool is_told = got > 0 && ::write(out, text, static_cast<size_t>(got)) == got;
  ::_exit(is_told ? 3 : 1);
}

}  // namespace

int main(int argc, char** /*argv*/) {
  int ends[2] = {-1, -1};
  const int out = ::dup(STDERR_FILENO);
  CHECK(::pipe(ends) == 0 && ::dup2(ends[1], STDERR_FILENO) >= 0);
  begin(MPI_THREAD_SERIALIZED);
  be_legal();
  const bool is_quiet = told(ends[0], 0) == 0;
  if (argc > 1) be_wrong(ends[0], out);
  ::dup2(out, STDERR_FILENO);
  CHECK(is_quiet);
  return done();
}
