// Long nonblocking collectives under way while the program computes, several at a time, between
// short calls, ended in any order; and functions of the program's, which its own thread calls only.
#include <pthread.h>

#include <algorithm>

#include "check.h"

using namespace ranks;

namespace {

const int kRounds = 8;
const int kWords = 80000;  // 320 KB: long ones are told apart from 256 KiB on

const pthread_t g_program = pthread_self();
volatile double g_computed = 1;

void compute(int turns) {
  for (int i = 0; i < turns; ++i) g_computed = g_computed * 0.999999 + 0.000001;
}

// Those that are under way together, and what they must bring.
class Together {
 public:
  explicit Together(int round) : round_(round) {
    mine_.assign(words_, rank + round);
    each_.resize(words_ * all_);
    for (int to = 0; to < size; ++to)
      std::fill_n(each_.begin() + to * kWords, kWords, value_of(rank, to, round));
    sum_.assign(words_, -1);
    told_.assign(words_, rank == round % size ? round : -1);
    from_all_.assign(words_ * all_, -1);
    exchanged_.assign(words_ * all_, -1);
    MPI_Iallreduce(mine_.data(), sum_.data(), kWords, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                   &requests_[0]);
    MPI_Ibcast(told_.data(), kWords, MPI_INT, round % size, MPI_COMM_WORLD, &requests_[1]);
    MPI_Iallgather(mine_.data(), kWords, MPI_INT, from_all_.data(), kWords, MPI_INT, MPI_COMM_WORLD,
                   &requests_[2]);
    MPI_Ialltoall(each_.data(), kWords, MPI_INT, exchanged_.data(), kWords, MPI_INT, MPI_COMM_WORLD,
                  &requests_[3]);
  }

  // Each round in another order.
  void end() {
    for (int i = 0; i < 4; ++i) {
      MPI_Request& one = requests_[(i * 3 + round_ + rank) % 4];
      int is_done = 0;
      MPI_Test(&one, &is_done, MPI_STATUS_IGNORE);
      if (is_done == 0) MPI_Wait(&one, MPI_STATUS_IGNORE);
    }
    CHECK(sum_ == std::vector<int>(words_, size * (size - 1) / 2 + size * round_));
    CHECK(told_ == std::vector<int>(words_, round_));
    for (int from = 0; from < size; ++from) {
      const auto is = [&](const std::vector<int>& what, int value) {
        const auto first = what.begin() + from * kWords;
        return std::all_of(first, first + kWords, [value](int word) { return word == value; });
      };
      CHECK(is(from_all_, from + round_));
      CHECK(is(exchanged_, value_of(from, rank, round_)));
    }
  }

 private:
  int round_;
  std::size_t words_ = kWords, all_ = static_cast<std::size_t>(size);
  std::vector<int> mine_, each_, sum_, told_, from_all_, exchanged_;
  MPI_Request requests_[4];
};

void between_short_calls() {
  for (int round = 0; round < kRounds; ++round) {
    Together long_ones(round);
    for (int i = 0; i < 5; ++i) {
      compute(20'000 * (1 + (rank + round) % 3));
      int word = rank, sum = -1;
      MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      CHECK(sum == size * (size - 1) / 2);
      const int right = (rank + 1) % size, left = (rank + size - 1) % size;
      MPI_Sendrecv(&rank, 1, MPI_INT, right, 5, &word, 1, MPI_INT, left, 5, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      CHECK(word == left);
    }
    long_ones.end();
  }
}

void started_again() {
  std::vector<int> mine(kWords), sum(kWords);
  MPI_Request request;
  MPI_Allreduce_init(mine.data(), sum.data(), kWords, MPI_INT, MPI_MAX, MPI_COMM_WORLD,
                     MPI_INFO_NULL, &request);
  for (int round = 0; round < kRounds; ++round) {
    std::fill(mine.begin(), mine.end(), rank + round);
    MPI_Start(&request);
    compute(50'000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum == std::vector<int>(kWords, size - 1 + round));
  }
  MPI_Request_free(&request);
}

int g_calls_of_others = 0;

void add(void* from, void* into, int* count, MPI_Datatype*) {
  if (pthread_equal(pthread_self(), g_program) == 0) ++g_calls_of_others;
  for (int i = 0; i < *count; ++i) static_cast<int*>(into)[i] += static_cast<int*>(from)[i];
}

// What is long is under way beside it, so that a thread of the library's would be at work.
void functions_of_ours() {
  MPI_Op own;
  MPI_Op_create(&add, 1, &own);
  for (int round = 0; round < kRounds; ++round) {
    Together long_ones(round);
    compute(50'000);
    std::vector<int> mine(kWords, rank), sum(kWords, -1), again(kWords, -1);
    MPI_Request request;
    MPI_Iallreduce(mine.data(), sum.data(), kWords, MPI_INT, own, MPI_COMM_WORLD, &request);
    compute(100'000);
    MPI_Allreduce(mine.data(), again.data(), kWords, MPI_INT, own, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum == std::vector<int>(kWords, size * (size - 1) / 2) && again == sum);
    long_ones.end();
  }
  MPI_Op_free(&own);
  CHECK(g_calls_of_others == 0);
}

}  // namespace

int main() {
  begin();
  between_short_calls();
  started_again();
  functions_of_ours();
  return done();
}
