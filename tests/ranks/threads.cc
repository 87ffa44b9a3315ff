// MPI_THREAD_MULTIPLE: four threads of every rank send, receive and run collectives at once.
#include <thread>

#include "check.h"

using namespace ranks;

namespace {

constexpr int kThreads = 4;

void exchange(MPI_Comm comm, int me) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < 200; ++i) {
    const int n = i % 20 == 19 ? 50000 : i % 7 + 1;
    const std::vector<int> out(static_cast<std::size_t>(n), value_of(rank, me, i));
    std::vector<int> in(static_cast<std::size_t>(n), -1);
    MPI_Request requests[2];
    MPI_Irecv(in.data(), n, MPI_INT, left, me, comm, &requests[0]);
    MPI_Isend(out.data(), n, MPI_INT, right, me, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in == std::vector<int>(static_cast<std::size_t>(n), value_of(left, me, i)));
  }
}

void collect(MPI_Comm comm, int me) {
  for (int i = 0; i < 100; ++i) {
    int sum = -1, word = rank + me + i;
    MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == size * (size - 1) / 2 + size * (me + i));
    std::vector<int> all(static_cast<std::size_t>(size), -1);
    MPI_Allgather(&word, 1, MPI_INT, all.data(), 1, MPI_INT, comm);
    for (int r = 0; r < size; ++r) CHECK(all[static_cast<std::size_t>(r)] == r + me + i);
  }
}

// One thread waits long in a receive; the others must not stand behind it.
void blocked_receive() {
  int word = 0;
  std::thread waiter(
      [&word] { MPI_Recv(&word, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
  const int value = 17;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&value, 1, MPI_INT, rank, 99, MPI_COMM_WORLD);
  waiter.join();
  CHECK(word == 17);
}

}  // namespace

int main() {
  begin(MPI_THREAD_MULTIPLE);
  int level = -1;
  MPI_Query_thread(&level);
  CHECK(level == MPI_THREAD_MULTIPLE);
  std::vector<MPI_Comm> comms(kThreads);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<std::thread> threads;
  for (int me = 0; me < kThreads; ++me)
    threads.emplace_back([&comms, me] {
      int is_main = 1;
      MPI_Is_thread_main(&is_main);
      CHECK(is_main == 0);
      exchange(MPI_COMM_WORLD, me);  // one communicator, a tag for each thread
      collect(comms[static_cast<std::size_t>(me)], me);
      exchange(comms[static_cast<std::size_t>(me)], me);
    });
  for (std::thread& thread : threads) thread.join();
  blocked_receive();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  return done();
}
