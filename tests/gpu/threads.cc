// Threads with GPU memory of all kinds: messages, sums and partitioned messages, each on a
// communicator of its own, and calls in a stream that the default stream waits for, all at once.
// No memory comes or goes while that stream may stand still: the driver waits for it then.
#include <deque>
#include <thread>

#include "stream_area.h"

using namespace ranks;
using gpu::Flow;
using gpu::Kind;
using gpu::Lane;
using gpu::left;
using gpu::numbers;
using gpu::right;

namespace {

constexpr int kRounds = 30;

void in_parts(gpu::Vector<int>& out, gpu::Vector<int>& in, int count, MPI_Comm comm) {
  MPI_Request both[2];
  MPI_Psend_init(out.data(), 1, count, MPI_INT, right(), 3, comm, MPI_INFO_NULL, &both[0]);
  MPI_Precv_init(in.data(), 1, count, MPI_INT, left(), 3, comm, MPI_INFO_NULL, &both[1]);
  MPI_Startall(2, both);
  MPI_Pready(0, both[0]);
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  for (MPI_Request& each : both) MPI_Request_free(&each);
}

// What a round sends and receives, and how much: the same draws on all ranks.
struct Round {
  int count;
  gpu::Vector<int> out, in;
  Round(int of, Kind kind) : count(of), out(content(of), kind), in(content(of), kind) {}
  static std::vector<int> content(int of) { return std::vector<int>(static_cast<std::size_t>(of)); }
};
void prepare(std::deque<Round>& rounds, unsigned seed) {
  std::mt19937 draw(seed);
  for (int round = 0; round < kRounds; ++round) {
    const int count = 1 << draw() % 16;
    const auto kind = static_cast<Kind>(draw() % gpu::kKinds);
    rounds.emplace_back(count, kind == Kind::other_device ? Kind::device : kind);
  }
}

void ordinary(MPI_Comm comm, std::deque<Round>& rounds) {
  CU(cuCtxSetCurrent(gpu::contexts[0]));
  for (Round& round : rounds) {
    const int count = round.count;
    const auto size_of = static_cast<std::size_t>(count);
    gpu::Vector<int>&out = round.out, &in = round.in;
    out.put(numbers(size_of, rank));
    MPI_Request both[2];
    MPI_Irecv(in.data(), count, MPI_INT, left(), 1, comm, &both[0]);
    MPI_Isend(out.data(), count, MPI_INT, right(), 1, comm, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    CHECK(in.get() == numbers(size_of, left()));
    out.put(std::vector<int>(size_of, 1));
    MPI_Allreduce(out.data(), in.data(), count, MPI_INT, MPI_SUM, comm);
    CHECK(in.get() == std::vector<int>(size_of, size));
    out.put(numbers(size_of, rank));
    in_parts(out, in, count, comm);
    CHECK(in.get() == numbers(size_of, left()));
  }
}

void in_stream(const Lane& lane) {
  CU(cuCtxSetCurrent(gpu::contexts[0]));
  const int count = 3000;
  Flow<int> in(count, Kind::device), greatest(count, Kind::device);
  for (int round = 0; round < kRounds; ++round) {
    Flow<int> out(count, Kind::device);
    out.put(numbers(count, rank), lane);
    MPI_Request both[2];
    MPIX_Irecv_enqueue(in.data(), count, MPI_INT, left(), 4, lane.comm, &both[0]);
    MPIX_Isend_enqueue(out.data(), count, MPI_INT, right(), 4, lane.comm, &both[1]);
    MPIX_Waitall_enqueue(2, both, MPI_STATUSES_IGNORE);
    MPIX_Allreduce_enqueue(out.data(), greatest.data(), count, MPI_INT, MPI_MAX, lane.comm);
    in.take(lane);
    greatest.take(lane);
    lane.wait();
    CHECK(in.taken() == numbers(count, left()));
    CHECK(greatest.taken() == numbers(count, size - 1));
  }
}

}  // namespace

int main() {
  begin(MPI_THREAD_MULTIPLE);
  gpu::begin();
  {
    const Lane lane(MPI_COMM_WORLD, CU_STREAM_DEFAULT);
    MPI_Comm comms[2];
    std::vector<std::thread> all;
    std::deque<Round> rounds[2];
    for (MPI_Comm& each : comms) MPI_Comm_dup(MPI_COMM_WORLD, &each);
    for (unsigned i = 0; i < 2; ++i) prepare(rounds[i], i + 1);
    for (unsigned i = 0; i < 2; ++i) all.emplace_back(ordinary, comms[i], std::ref(rounds[i]));
    all.emplace_back([&lane] { in_stream(lane); });
    for (std::thread& each : all) each.join();
    for (MPI_Comm& each : comms) MPI_Comm_free(&each);
  }
  return done();
}
