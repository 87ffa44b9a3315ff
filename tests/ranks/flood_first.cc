// A great many messages that nobody asks for yet, then one that is asked for first: programs do so,
// and all implementations keep what comes. In the end all were received in order.
#include <vector>

#include "check.h"

using namespace ranks;

namespace {

struct Flood {
  int messages, ints;
};
constexpr Flood kFloods[] = {{50'000, 1}, {20'000, 256}, {4'000, 1500}};

void send(const Flood& flood, int to) {
  std::vector<int> words(static_cast<std::size_t>(flood.ints));
  for (int i = 0; i < flood.messages; ++i) {
    words.front() = words.back() = i;
    MPI_Send(words.data(), flood.ints, MPI_INT, to, 5, MPI_COMM_WORLD);
  }
  const int last = -1;
  MPI_Send(&last, 1, MPI_INT, to, 6, MPI_COMM_WORLD);
}

void receive(const Flood& flood, int from) {
  int last = 0;
  MPI_Recv(&last, 1, MPI_INT, from, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(last == -1);
  std::vector<int> words(static_cast<std::size_t>(flood.ints));
  for (int i = 0; i < flood.messages; ++i) {
    MPI_Recv(words.data(), flood.ints, MPI_INT, from, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (words.front() != i || words.back() != i) return CHECK(words.front() == i);
  }
}

}  // namespace

int main() {
  begin();
  for (const Flood& flood : kFloods) {
    send(flood, rank);  // to oneself
    receive(flood, rank);
    for (int round = 0; round < 3; ++round) {  // what was kept and repaid is not paid back twice
      if (rank > 0) send(flood, 0);
      for (int from = 1; rank == 0 && from < size; ++from) receive(flood, from);
    }
  }
  return done();
}
