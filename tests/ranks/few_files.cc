// Long messages between all ranks, some of which may open few files only: there are fewer rails
// then (TUTTI_TCP_RAILS), and all arrives.
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"

using namespace ranks;

namespace {

constexpr int kInts = 1 << 20, kRounds = 3, kMore = 12;

void limit_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const int lowest = ::dup(0);
  ::close(lowest);
  limit.rlim_cur = static_cast<rlim_t>(lowest + kMore);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void exchange(int round) {
  const auto size = static_cast<std::size_t>(ranks::size);
  std::vector<std::vector<int>> send(size, std::vector<int>(kInts)), recv = send;
  std::vector<MPI_Request> requests;
  for (int other = 0; other < ranks::size; ++other) {
    const auto at = static_cast<std::size_t>(other);
    for (int i = 0; i < kInts; ++i) send[at][i] = value_of(ranks::rank, other, i + round);
    MPI_Irecv(recv[at].data(), kInts, MPI_INT, other, round, MPI_COMM_WORLD,
              &requests.emplace_back());
    MPI_Isend(send[at].data(), kInts, MPI_INT, other, round, MPI_COMM_WORLD,
              &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (int other = 0; other < ranks::size; ++other) {
    int wrong = 0;
    for (int i = 0; i < kInts; ++i)
      wrong += recv[static_cast<std::size_t>(other)][i] != value_of(other, ranks::rank, i + round);
    CHECK(wrong == 0);
  }
}

}  // namespace

// "first": rank 0 only, which the others call.
int main(int argc, char**) {
  ranks::begin();
  if (argc == 1 || ranks::rank == 0) limit_files();
  for (int round = 0; round < kRounds; ++round) exchange(round);
  return ranks::done();
}
