// 50,000 messages that nobody asks for yet, then one that is asked for first: programs do so, and
// all implementations keep what comes. In the end all were received in order.
#include "check.h"

using namespace ranks;

namespace {

constexpr int kMany = 50000;

void flood(int to) {
  for (int i = 0; i < kMany; ++i) MPI_Send(&i, 1, MPI_INT, to, 5, MPI_COMM_WORLD);
  const int last = -1;
  MPI_Send(&last, 1, MPI_INT, to, 6, MPI_COMM_WORLD);
}

void receive(int from) {
  int word = 0;
  MPI_Recv(&word, 1, MPI_INT, from, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(word == -1);
  for (int i = 0; i < kMany; ++i) {
    MPI_Recv(&word, 1, MPI_INT, from, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (word != i) return CHECK(word == i);
  }
}

}  // namespace

int main() {
  begin();
  flood(rank);  // to oneself
  receive(rank);
  for (int round = 0; round < 3; ++round) {  // what was kept and repaid is not paid back twice
    if (rank > 0) flood(0);
    for (int from = 1; rank == 0 && from < size; ++from) receive(from);
  }
  return done();
}
