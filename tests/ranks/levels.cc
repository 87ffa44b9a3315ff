// Short collectives by the levels of a host's caches (TUTTI_RANKS_PER_CACHE says what these are):
// barriers and allreduces mixed with what goes by no levels; all ranks get the same bits in every
// call; and `killed`: a rank is killed, whom another was to hear first.
#include <cstring>
#include <random>

#include "check.h"
#include "long_ends.h"

using namespace ranks;

namespace {

constexpr int kTurns = 120;
constexpr int kMost = 100;  // doubles: more than 512 bytes, and less

int in(MPI_Comm comm, int (*ask)(MPI_Comm, int*)) {
  int answer = -1;
  ask(comm, &answer);
  return answer;
}

// Sums whose bits tell in what order they were made: those of the first call, of all ranks.
void same_bits(MPI_Comm comm) {
  const double mine = 1.0 / (3 + rank);
  double first = 0, of_zero = 0;
  MPI_Allreduce(&mine, &first, 1, MPI_DOUBLE, MPI_SUM, comm);
  of_zero = first;
  MPI_Bcast(&of_zero, 1, MPI_DOUBLE, 0, comm);
  CHECK(std::memcmp(&of_zero, &first, sizeof first) == 0);
  for (int i = 0; i < 12; ++i) {
    double again = mine;
    MPI_Allreduce(MPI_IN_PLACE, &again, 1, MPI_DOUBLE, MPI_SUM, comm);
    CHECK(std::memcmp(&again, &first, sizeof first) == 0);
  }
}

// What member m gives in that turn; whole numbers, so any order of adding is exact.
double given(int m, int turn, int i) {
  return m * 3 + turn * 7 + i;
}

std::vector<double> vector_of(int member, int turn, int n) {
  std::vector<double> all;
  for (int i = 0; i < n; ++i) all.push_back(given(member, turn, i));
  return all;
}

void sums(MPI_Comm comm, int turn, int n, bool begun) {
  const int members = in(comm, MPI_Comm_size);
  const std::vector<double> mine = vector_of(in(comm, MPI_Comm_rank), turn, n);
  std::vector<double> sum(mine.size(), -1), wanted(mine.size());
  for (int m = 0; m < members; ++m)
    for (int i = 0; i < n; ++i) wanted[static_cast<std::size_t>(i)] += given(m, turn, i);
  if (begun) {
    MPI_Request requests[2];
    MPI_Ibarrier(comm, &requests[0]);
    MPI_Iallreduce(mine.data(), sum.data(), n, MPI_DOUBLE, MPI_SUM, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else {
    MPI_Allreduce(mine.data(), sum.data(), n, MPI_DOUBLE, MPI_SUM, comm);
  }
  CHECK(sum == wanted);
}

void who_is_last(MPI_Comm comm, int turn) {
  struct {
    int value, where;
  } mine{(in(comm, MPI_Comm_rank) + turn) % in(comm, MPI_Comm_size), in(comm, MPI_Comm_rank)}, most;
  MPI_Allreduce(&mine, &most, 1, MPI_2INT, MPI_MAXLOC, comm);
  CHECK(most.value == in(comm, MPI_Comm_size) - 1);
  CHECK((most.where + turn) % in(comm, MPI_Comm_size) == most.value);
}

// One after the other again and again, so that entries are used anew.
void from_one(MPI_Comm comm, int turn, int root) {
  for (int i = 0; i < 10; ++i) {
    int word = in(comm, MPI_Comm_rank) == root ? turn * 100 + i : -1;
    MPI_Bcast(&word, 1, MPI_INT, root, comm);
    CHECK(word == turn * 100 + i);
  }
}

void to_one(MPI_Comm comm, int root) {
  const int me = in(comm, MPI_Comm_rank), members = in(comm, MPI_Comm_size);
  for (int i = 0; i < 3; ++i) {
    int sum = -1;
    MPI_Reduce(&me, &sum, 1, MPI_INT, MPI_SUM, root, comm);
    CHECK(me != root || sum == members * (members - 1) / 2);
  }
}

void mixed(MPI_Comm comm) {
  std::mt19937 calls(11);  // the same on all ranks
  for (int turn = 0; turn < kTurns; ++turn) {
    const int n = static_cast<int>(calls() % kMost);
    const int root = static_cast<int>(calls()) & (in(comm, MPI_Comm_size) - 1);
    switch (calls() % 6) {
      case 0:
        MPI_Barrier(comm);
        break;
      case 1:
        sums(comm, turn, n, false);
        break;
      case 2:
        sums(comm, turn, n, true);
        break;
      case 3:
        who_is_last(comm, turn);
        break;
      case 4:
        from_one(comm, turn, root);
        break;
      default:
        to_one(comm, root);
    }
  }
}

// On a communicator of its own: some may hear of the death a call later than others, and prun
// compares how many MPI_COMM_WORLD has had when it ends.
int killed(int who) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Barrier(comm);
  std::thread end;
  if (rank == who) end = killer();
  return until_another_is_dead(rank == 1, "the others heard of it", [comm] {
    int sum = -1;
    const int code = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(code != MPI_SUCCESS || sum == size * (size - 1) / 2);
    return code == MPI_SUCCESS ? MPI_Barrier(comm) : code;
  });
}

}  // namespace

int main(int count, char** arguments) {
  begin(MPI_THREAD_MULTIPLE);
  if (count > 2 && std::strcmp(arguments[1], "killed") == 0) return killed(std::atoi(arguments[2]));
  same_bits(MPI_COMM_WORLD);
  mixed(MPI_COMM_WORLD);
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  same_bits(reversed);
  mixed(reversed);
  MPI_Comm_free(&reversed);
  return done();
}
