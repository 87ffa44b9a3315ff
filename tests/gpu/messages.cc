// Messages between memory of all kinds: each mode, each protocol, each layout, requests of each
// sort.
#include <algorithm>
#include <numeric>

#include "area.h"

using namespace ranks;
using gpu::any_kind;

namespace {

const int kRounds = 6;

std::vector<int> numbers(std::size_t count, int from) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), from * 1000003);
  return all;
}
int right() {
  return (rank + 1) % size;
}
int left() {
  return (rank + size - 1) % size;
}

// To the right in a ring, the same from the left.
void exchange(std::size_t count, int how) {
  gpu::Vector<int> out(numbers(count, rank), any_kind());
  gpu::Vector<int> in(std::vector<int>(count, -1), any_kind());
  const int n = static_cast<int>(count);
  MPI_Request requests[2];
  MPI_Irecv(in.data(), n, MPI_INT, left(), 1, MPI_COMM_WORLD, &requests[0]);
  if (how == 0) MPI_Isend(out.data(), n, MPI_INT, right(), 1, MPI_COMM_WORLD, &requests[1]);
  if (how == 1) MPI_Issend(out.data(), n, MPI_INT, right(), 1, MPI_COMM_WORLD, &requests[1]);
  if (how == 2) MPI_Ibsend(out.data(), n, MPI_INT, right(), 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(in.get() == numbers(count, left()));
}

// The room for buffered sends is of any kind, too.
void all_modes() {
  constexpr int kRoom = 4 << 20;
  for (int round = 0; round < kRounds; ++round) {
    gpu::Area room(kRoom, any_kind());
    MPI_Buffer_attach(room.data(), kRoom);
    for (const std::size_t count : {0, 1, 7, 1000, 20011, 300000})
      for (int how = 0; how < 3; ++how) exchange(count, how);
    int bytes = 0;
    void* same = nullptr;
    MPI_Buffer_detach(static_cast<void*>(&same), &bytes);
    CHECK(same == room.data() && bytes == kRoom);
  }
}

void probed() {
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t count = round % 2 == 0 ? 100 : 50000;
    gpu::Vector<int> out(numbers(count, rank), any_kind());
    gpu::Vector<int> in(std::vector<int>(count, -1), any_kind());
    MPI_Request sent;
    MPI_Isend(out.data(), static_cast<int>(count), MPI_INT, right(), 2, MPI_COMM_WORLD, &sent);
    MPI_Message message;
    MPI_Status status;
    int found = 0;
    MPI_Mprobe(left(), 2, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_INT, &found);
    CHECK(found == static_cast<int>(count));
    MPI_Mrecv(in.data(), found, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    CHECK(in.get() == numbers(count, left()));
  }
}

void replaced() {
  for (const std::size_t count : {3, 40000}) {
    for (int round = 0; round < kRounds; ++round) {
      gpu::Vector<int> same(numbers(count, rank), any_kind());
      const int n = static_cast<int>(count);
      if (round % 2 == 0) {
        MPI_Sendrecv_replace(same.data(), n, MPI_INT, right(), 3, left(), 3, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
      } else {
        MPI_Request request;
        MPI_Isendrecv_replace(same.data(), n, MPI_INT, right(), 3, left(), 3, MPI_COMM_WORLD,
                              &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      }
      CHECK(same.get() == numbers(count, left()));
    }
  }
}

// New contents by the default stream before each start: the call has to wait for it.
void persistent() {
  const std::size_t count = 30000;
  const int n = static_cast<int>(count);
  for (int turn = 0; turn < kRounds; ++turn) {
    gpu::Vector<int> out(numbers(count, 0), any_kind());
    gpu::Vector<int> in(std::vector<int>(count, -1), any_kind());
    MPI_Request requests[2];
    MPI_Send_init(out.data(), n, MPI_INT, right(), 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in.data(), n, MPI_INT, left(), 4, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 4; ++round) {
      out.put(numbers(count, 10 * round + rank));
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      CHECK(in.get() == numbers(count, 10 * round + left()));
    }
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  }
}

void partitioned() {
  const int parts = 5, each = 4000;
  const std::size_t count = std::size_t{parts} * each;
  for (int turn = 0; turn < kRounds; ++turn) {
    gpu::Vector<int> out(numbers(count, 0), any_kind());
    gpu::Vector<int> in(std::vector<int>(count, -1), any_kind());
    MPI_Request requests[2];
    MPI_Psend_init(out.data(), parts, each, MPI_INT, right(), 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Precv_init(in.data(), parts, each, MPI_INT, left(), 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
    for (int round = 0; round < 3; ++round) {
      MPI_Startall(2, requests);
      out.put(numbers(count, 10 * round + rank));
      for (int part = parts - 1; part >= 0; --part) MPI_Pready(part, requests[0]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      CHECK(in.get() == numbers(count, 10 * round + left()));
    }
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  }
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  all_modes();
  probed();
  replaced();
  persistent();
  partitioned();
  return done();
}
