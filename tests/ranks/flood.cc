// A million messages to a rank that does not receive: its memory stays small, its senders wait or
// keep their messages, nothing is lost or passes another, and a receive for the last is served
// first. With one rank nobody floods.
#include <fstream>

#include "check.h"

using namespace ranks;

namespace {

constexpr int kMessages = 1'000'000;
constexpr int kLast = 7, kNever = 8;

// Memory of its own that this process uses now.
long resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib;
  }
  return 0;
}

// Progress without a receive that any message matches.
void look_elsewhere(int times) {
  for (int i = 0; i < times; ++i) {
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, kNever, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(flag == 0);
  }
}

void receive_in_order(int each) {
  for (int i = 0; i < each; ++i)
    for (int from = 1; from < size; ++from) {
      int word = -1;
      MPI_Recv(&word, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (word != i) return CHECK(word == i);
    }
}

// Blocking sends: the senders wait, and the receiver keeps no more than it allows each of them.
void blocking(int each) {
  if (rank > 0) {
    for (int i = 0; i < each; ++i) MPI_Send(&i, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    return;
  }
  const long before = resident_kib();
  look_elsewhere(20000);
  const long kept = resident_kib() - before;
  CHECK(kept < 16384L * (size - 1));
  receive_in_order(each);
}

// All are started and none is waited for: the receiver keeps a record of each that it was told of.
void nonblocking(int each) {
  if (rank == 0) {
    const long before = resident_kib();
    for (int from = 1; from < size; ++from) {
      int word = -1;
      MPI_Recv(&word, 1, MPI_INT, from, kLast, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK(word == -5);
    }
    const long kept = resident_kib() - before;
    CHECK(kept < kMessages / 1024 * 300L + 16384L * size);
    return receive_in_order(each);
  }
  const auto count = static_cast<std::size_t>(each);
  std::vector<int> words(count);
  std::vector<MPI_Request> requests(count + 1);
  for (int i = 0; i < each; ++i) {
    int& word = words[static_cast<std::size_t>(i)];
    word = i;
    MPI_Isend(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &requests[static_cast<std::size_t>(i)]);
  }
  const int last = -5;
  MPI_Isend(&last, 1, MPI_INT, 0, kLast, MPI_COMM_WORLD, &requests.back());
  MPI_Waitall(each + 1, requests.data(), MPI_STATUSES_IGNORE);
}

}  // namespace

int main() {
  begin();
  const int each = size > 1 ? kMessages / (size - 1) : 0;
  blocking(each);
  MPI_Barrier(MPI_COMM_WORLD);
  nonblocking(each);
  MPI_Barrier(MPI_COMM_WORLD);
  return done();
}
