// Messages between memory of all kinds: each mode, each protocol, each layout, requests of each
// sort.
#include <unistd.h>

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

using Send = decltype(&MPI_Send);
using Begin = decltype(&MPI_Isend);
struct Mode {
  Send send;
  Begin begin, init;
  bool is_ready = false;  // the receive has to be there
};
const Mode kModes[] = {{MPI_Send, MPI_Isend, MPI_Send_init},
                       {MPI_Ssend, MPI_Issend, MPI_Ssend_init},
                       {MPI_Bsend, MPI_Ibsend, MPI_Bsend_init},
                       {MPI_Rsend, MPI_Irsend, MPI_Rsend_init, true}};

// To the right in a ring, the same from the left: each rank waits in the send, in the receive, or
// for both.
void exchange(std::size_t count, const Mode& mode) {
  gpu::Vector<int> out(numbers(count, rank), any_kind());
  gpu::Vector<int> in(std::vector<int>(count, -1), any_kind());
  const int n = static_cast<int>(count);
  const auto how = gpu::luck()() % (mode.is_ready ? 2 : 3);
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (how != 2) MPI_Irecv(in.data(), n, MPI_INT, left(), 1, MPI_COMM_WORLD, &requests[0]);
  if (mode.is_ready) MPI_Barrier(MPI_COMM_WORLD);
  if (how == 0)
    mode.send(out.data(), n, MPI_INT, right(), 1, MPI_COMM_WORLD);
  else
    mode.begin(out.data(), n, MPI_INT, right(), 1, MPI_COMM_WORLD, &requests[1]);
  if (how == 2) MPI_Recv(in.data(), n, MPI_INT, left(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(in.get() == numbers(count, left()));
}

// The room for buffered sends is of any kind, too.
class Room {
 public:
  Room() { MPI_Buffer_attach(area_.data(), kBytes); }
  ~Room() {
    int bytes = 0;
    void* same = nullptr;
    MPI_Buffer_detach(static_cast<void*>(&same), &bytes);
    CHECK(same == area_.data() && bytes == kBytes);
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

 private:
  static constexpr int kBytes = 4 << 20;
  gpu::Area area_{kBytes, any_kind()};
};

void all_modes() {
  for (int round = 0; round < kRounds / 2; ++round) {
    const Room room;
    for (const std::size_t count : {0, 1, 7, 1000, 20011, 300000})
      for (const Mode& mode : kModes) exchange(count, mode);
  }
}

// Looks for the message, by a call that waits or by one that does not, and takes what it found.
int receive_probed(int* into, int how) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  int found = 0, is_there = 0;
  if (how == 0) MPI_Mprobe(left(), 2, MPI_COMM_WORLD, &message, &status);
  if (how == 1) MPI_Probe(left(), 2, MPI_COMM_WORLD, &status);
  while (how == 2 && is_there == 0)
    MPI_Improbe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &is_there, &message, &status);
  while (how == 3 && is_there == 0)
    MPI_Iprobe(left(), MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &status);
  CHECK(status.MPI_SOURCE == left() && status.MPI_TAG == 2);
  MPI_Get_count(&status, MPI_INT, &found);
  MPI_Request request = MPI_REQUEST_NULL;
  if (how == 0) MPI_Mrecv(into, found, MPI_INT, &message, MPI_STATUS_IGNORE);
  if (how == 1) MPI_Recv(into, found, MPI_INT, left(), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (how == 2) MPI_Imrecv(into, found, MPI_INT, &message, &request);
  if (how == 3) MPI_Irecv(into, found, MPI_INT, left(), 2, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  return found;
}

void probed() {
  for (int round = 0; round < 2 * kRounds; ++round) {
    const std::size_t count = round % 3 == 0 ? 0 : round % 3 == 1 ? 100 : 50000;
    gpu::Vector<int> out(numbers(count, rank), any_kind());
    gpu::Vector<int> in(std::vector<int>(count, -1), any_kind());
    MPI_Request sent;
    MPI_Isend(out.data(), static_cast<int>(count), MPI_INT, right(), 2, MPI_COMM_WORLD, &sent);
    CHECK(receive_probed(in.data(), round % 4) == static_cast<int>(count));
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
void persistent(const Mode& mode) {
  const std::size_t count = 30000;
  const int n = static_cast<int>(count);
  for (int turn = 0; turn < kRounds / 3; ++turn) {
    const Room room;
    gpu::Vector<int> out(numbers(count, 0), any_kind());
    gpu::Vector<int> in(std::vector<int>(count, -1), any_kind());
    MPI_Request requests[2];
    MPI_Recv_init(in.data(), n, MPI_INT, left(), 4, MPI_COMM_WORLD, &requests[0]);
    mode.init(out.data(), n, MPI_INT, right(), 4, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 4; ++round) {
      out.put(numbers(count, 10 * round + rank));
      if (mode.is_ready) {
        MPI_Start(&requests[0]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Start(&requests[1]);
      } else {
        MPI_Startall(2, requests);
      }
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      CHECK(in.get() == numbers(count, 10 * round + left()));
    }
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  }
}

// Of the parts of one message: one, a stretch, and some.
constexpr int kParts = 6;
void give_parts(MPI_Request request, int how) {
  const int rest[] = {5, 0, 2};
  if (how == 0)
    for (int part = kParts - 1; part >= 0; --part) MPI_Pready(part, request);
  if (how == 1) {
    MPI_Pready_range(3, kParts - 1, request);
    MPI_Pready_range(0, 2, request);
  }
  if (how == 2) {
    MPI_Pready_range(3, 4, request);
    MPI_Pready(1, request);
    MPI_Pready_list(3, rest, request);
  }
}

// A part that has arrived is there, whatever of the others is.
void partitioned() {
  const int each = 4000, others = 4, of_other = kParts * each / others;
  const std::size_t count = std::size_t{kParts} * each;
  for (int turn = 0; turn < kRounds; ++turn) {
    gpu::Vector<int> out(numbers(count, 0), any_kind());
    gpu::Vector<int> in(std::vector<int>(count, -1), any_kind());
    MPI_Request requests[2];
    MPI_Psend_init(out.data(), kParts, each, MPI_INT, right(), 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[0]);
    MPI_Precv_init(in.data(), others, of_other, MPI_INT, left(), 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests[1]);
    for (int round = 0; round < 4; ++round) {
      const auto expected = numbers(count, 10 * round + left());
      MPI_Startall(2, requests);
      out.put(numbers(count, 10 * round + rank));
      give_parts(requests[0], round % 3);
      for (int part = others - 1, flag = 0; round % 2 == 1 && part >= 0; part -= flag) {
        MPI_Parrived(requests[1], part, &flag);
        if (flag == 0) continue;
        std::vector<int> got(of_other);  // nothing else: others may be coming
        const auto begin = static_cast<std::size_t>(part) * of_other;
        in.area().get(got.data(), of_other * sizeof(int), begin * sizeof(int));
        CHECK(std::equal(got.begin(), got.end(), expected.begin() + part * of_other));
      }
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      CHECK(in.get() == expected);
    }
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  }
}

// As a program fills its memory that was built with a default stream for each thread: that one
// blocks the process's default stream, which calls come after.
void filled_by_the_threads_stream() {
  const std::size_t count = 50000;
  gpu::Vector<int> mirror(std::vector<int>(count), gpu::Kind::pinned);
  gpu::Vector<int> out(std::vector<int>(count), gpu::Kind::device);
  gpu::Vector<int> in(std::vector<int>(count, -1), gpu::Kind::device);
  const auto stand = [](void*) { ::usleep(2000); };
  for (int round = 1; round <= 20; ++round) {
    mirror.put(numbers(count, 10 * round + rank));
    CU(cuLaunchHostFunc(CU_STREAM_PER_THREAD, stand, nullptr));
    CU(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(out.data()),
                     reinterpret_cast<CUdeviceptr>(mirror.data()), count * sizeof(int),
                     CU_STREAM_PER_THREAD));
    MPI_Sendrecv(out.data(), static_cast<int>(count), MPI_INT, right(), 6, in.data(),
                 static_cast<int>(count), MPI_INT, left(), 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(in.get() == numbers(count, 10 * round + left()));
  }
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  all_modes();
  probed();
  replaced();
  for (const Mode& mode : kModes) persistent(mode);
  partitioned();
  filled_by_the_threads_stream();
  return done();
}
