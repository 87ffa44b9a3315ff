// A thread is in a call that waits for what its default stream holds; that goes on when another
// thread has made calls. With two ranks: what it holds goes on when a message has come that was
// asked for before; nobody else makes calls. With four, by messages: of blocks that lie apart,
// which are moved together first; and reductions that are folded, or converted, by who waits for
// that.
#include <mpi-ext.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <thread>

#include "../support/held_stream.h"
#include "area.h"

using namespace ranks;
using gpu::Kind;
using gpu::Vector;

namespace {

constexpr int kCount = 5000;

void beside(MPI_Comm comm, const std::function<void()>& call) {
  tutti::test::Held held;
  CU(held.put());
  std::thread waits([&] {
    CU(cuCtxSetCurrent(gpu::contexts[0]));
    call();
  });
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    int word = round, got = -1;
    MPI_Sendrecv(&word, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
    CHECK(got == round);
  }
  held.let_go();
  waits.join();
}

void all(MPI_Comm comm) {
  const std::vector<int> ones(kCount, 1), threes(kCount, 3);
  Vector<int> from(ones, Kind::device), into(threes, Kind::device);
  std::vector<int> host(kCount);
  const int bytes = kCount * static_cast<int>(sizeof(int));
  const MPI_Comm self = MPI_COMM_SELF;
  beside(comm, [&] { MPI_Bsend(from.data(), kCount, MPI_INT, 0, 2, self); });
  MPI_Recv(host.data(), kCount, MPI_INT, 0, 2, self, MPI_STATUS_IGNORE);
  CHECK(host == ones);
  MPI_Request request;
  beside(comm, [&] { MPI_Ibsend(into.data(), kCount, MPI_INT, 0, 2, self, &request); });
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Recv(host.data(), kCount, MPI_INT, 0, 2, self, MPI_STATUS_IGNORE);
  CHECK(host == threes);
  int at = 0;
  beside(comm, [&] { MPI_Pack(from.data(), kCount, MPI_INT, host.data(), bytes, &at, self); });
  CHECK(host == ones && at == bytes);
  MPI_Aint place = 0;
  std::vector<int> external(kCount);
  beside(comm, [&] {
    MPI_Pack_external("external32", from.data(), kCount, MPI_INT, external.data(), bytes, &place);
  });
  CHECK(external == std::vector<int>(kCount, 1 << 24) && place == bytes);  // big endian
  at = 0;
  beside(comm, [&] { MPI_Unpack(host.data(), bytes, &at, into.data(), kCount, MPI_INT, self); });
  CHECK(into.get() == ones && at == bytes);
  beside(comm, [&] { MPI_Reduce_local(from.data(), into.data(), kCount, MPI_INT, MPI_SUM); });
  CHECK(into.get() == std::vector<int>(kCount, 2));
  beside(comm, [&] {
    MPI_Sendrecv_replace(into.data(), kCount, MPI_INT, 0, 3, 0, 3, self, MPI_STATUS_IGNORE);
  });
  CHECK(into.get() == std::vector<int>(kCount, 2));
  beside(comm,
         [&] { MPI_Isendrecv_replace(into.data(), kCount, MPI_INT, 0, 3, 0, 3, self, &request); });
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(into.get() == std::vector<int>(kCount, 2));
}

// Rank 0's stream stands still until its message is there; the other rank has sent that before.
void behind_message(const char* name, const std::function<void()>& call) {
  constexpr int kSent = 7;
  if (rank == 1) {  // some time into the call
    int ready = 0;
    MPI_Recv(&ready, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::thread sends([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const int word = kSent;
      MPI_Send(&word, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
    });
    call();
    return sends.join();
  }
  if (rank > 1) return call();
  int word = 0;
  MPI_Request request;
  tutti::test::Held held;
  MPI_Irecv(&word, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);
  CU(held.put());
  const int ready = 1;
  MPI_Send(&ready, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
  std::thread lets_go([&] {
    while (std::atomic_ref(word).load() != kSent)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    held.let_go();
  });
  call();
  lets_go.join();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(word == kSent);
  if (word != kSent) std::fprintf(stderr, "%s\n", name);
}

void collectives(int count) {
  const auto all = static_cast<std::size_t>(2 * count);
  const Vector<int> from(std::vector<int>(all, rank + 1), Kind::device);
  Vector<int> into(std::vector<int>(all), Kind::device);
  const MPI_Comm world = MPI_COMM_WORLD;
  const auto are = [&](int wanted, int elements) {
    std::vector<int> got = into.get();
    got.resize(static_cast<std::size_t>(elements));
    return got == std::vector<int>(got.size(), wanted);
  };
  const int *const send = from.data(), counts[] = {count, count}, places[] = {0, count};
  int* const recv = into.data();
  CU(cuCtxSynchronize());
  behind_message("allreduce", [&] { MPI_Allreduce(send, recv, count, MPI_INT, MPI_SUM, world); });
  CHECK(are(3, count));
  behind_message("reduce", [&] { MPI_Reduce(send, recv, count, MPI_INT, MPI_MAX, 0, world); });
  CHECK(rank == 1 || are(2, count));
  behind_message("scan", [&] { MPI_Scan(send, recv, count, MPI_INT, MPI_SUM, world); });
  CHECK(are(rank == 0 ? 1 : 3, count));
  behind_message("reduce_scatter_block",
                 [&] { MPI_Reduce_scatter_block(send, recv, count, MPI_INT, MPI_PROD, world); });
  CHECK(are(2, count));
  behind_message("bcast", [&] { MPI_Bcast(recv, count, MPI_INT, 1, world); });
  CHECK(are(2, count));
  const auto has_both = [&] {  // what the one gave, then the other
    const std::vector<int> got = into.get();
    into.put(std::vector<int>(all));
    CU(cuCtxSynchronize());
    return got.front() == 1 && got[all / 2 - 1] == 1 && got[all / 2] == 2 && got.back() == 2;
  };
  behind_message("allgather",
                 [&] { MPI_Allgather(send, count, MPI_INT, recv, count, MPI_INT, world); });
  CHECK(has_both());
  behind_message("alltoall",
                 [&] { MPI_Alltoall(send, count, MPI_INT, recv, count, MPI_INT, world); });
  CHECK(has_both());
  behind_message("allgatherv", [&] {
    MPI_Allgatherv(send, count, MPI_INT, recv, counts, places, MPI_INT, world);
  });
  CHECK(has_both());
  behind_message("alltoallv", [&] {
    MPI_Alltoallv(send, counts, places, MPI_INT, recv, counts, places, MPI_INT, world);
  });
  CHECK(has_both());
  behind_message("gather",
                 [&] { MPI_Gather(send, count, MPI_INT, recv, count, MPI_INT, 1, world); });
  behind_message("scatter",
                 [&] { MPI_Scatter(send, count, MPI_INT, recv, count, MPI_INT, 0, world); });
  CHECK(are(1, count));
}

void blocks_apart(int count) {
  const int gap = 3;
  std::vector<int> counts, places, expected;
  for (int i = 0; i < size; ++i) {
    counts.push_back(count);
    places.push_back(i * (count + gap));
    expected.insert(expected.end(), static_cast<std::size_t>(count), i + 1);
    expected.insert(expected.end(), static_cast<std::size_t>(gap), -1);
  }
  const Vector<int> from(std::vector<int>(static_cast<std::size_t>(count), rank + 1), Kind::device);
  Vector<int> into(std::vector<int>(expected.size(), -1), Kind::device);
  CU(cuCtxSynchronize());
  behind_message("allgatherv", [&] {
    MPI_Allgatherv(from.data(), count, MPI_INT, into.data(), counts.data(), places.data(), MPI_INT,
                   MPI_COMM_WORLD);
  });
  CHECK(into.get() == expected);
  into.put(std::vector<int>(expected.size(), -1));
  CU(cuCtxSynchronize());
  tutti::test::Held held;
  CU(held.put());
  MPI_Request request;
  MPI_Iallgatherv(from.data(), count, MPI_INT, into.data(), counts.data(), places.data(), MPI_INT,
                  MPI_COMM_WORLD, &request);
  held.let_go();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(into.get() == expected);
}

void add(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

void on_the_spot(int count) {
  MPI_Op sum;
  MPI_Op_create(&add, 1, &sum);
  const auto many = static_cast<std::size_t>(count);
  const Vector<int> from(std::vector<int>(many, rank + 1), Kind::device);
  Vector<int> into(std::vector<int>(many), Kind::device);
  const std::vector<std::uint16_t> one(many, 0x3f80), four(many, 0x4080);  // bfloat16
  const Vector<std::uint16_t> halves(one, Kind::device);
  Vector<std::uint16_t> total(one, Kind::device);
  CU(cuCtxSynchronize());
  const auto start = [&](bool is_own, MPI_Request* request) {
    if (is_own)
      MPI_Iallreduce(from.data(), into.data(), count, MPI_INT, sum, MPI_COMM_WORLD, request);
    else
      MPI_Iallreduce(halves.data(), total.data(), count, MPIX_BFLOAT16, MPI_SUM, MPI_COMM_WORLD,
                     request);
  };
  behind_message("a user's operation", [&] {
    MPI_Allreduce(from.data(), into.data(), count, MPI_INT, sum, MPI_COMM_WORLD);
  });
  CHECK(into.get() == std::vector<int>(many, 10));
  behind_message("a wider type", [&] {
    MPI_Allreduce(halves.data(), total.data(), count, MPIX_BFLOAT16, MPI_SUM, MPI_COMM_WORLD);
  });
  CHECK(total.get() == four);
  for (const bool is_own : {true, false}) {
    into.put(std::vector<int>(many));
    total.put(one);
    CU(cuCtxSynchronize());
    behind_message("a request", [&] {
      MPI_Request request;
      start(is_own, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    if (is_own) CHECK(into.get() == std::vector<int>(many, 10));
    if (!is_own) CHECK(total.get() == four);
  }
  MPI_Op_free(&sum);
}

}  // namespace

int main() {
  begin(MPI_THREAD_MULTIPLE);
  gpu::begin();
  if (size == 2) {
    for (const int count : {1, kCount, 100 * kCount}) collectives(count);
    return done();
  }
  if (size == 4) {
    for (const int count : {1, kCount, 20 * kCount}) {
      blocks_apart(count);
      on_the_spot(count);
    }
    return done();
  }
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  std::vector<char> room(1 << 20);
  MPI_Buffer_attach(room.data(), 1 << 20);
  {  // what a first use of the GPU waits for is not asked here
    Vector<int> one(std::vector<int>(kCount, 1), Kind::device),
        other(std::vector<int>(kCount), Kind::device);
    MPI_Sendrecv(one.data(), kCount, MPI_INT, 0, 1, other.data(), kCount, MPI_INT, 0, 1, comm,
                 MPI_STATUS_IGNORE);
    MPI_Reduce_local(one.data(), other.data(), kCount, MPI_INT, MPI_SUM);
    all(comm);
  }
  void* back = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&back, &bytes);
  CHECK(back == room.data());
  MPI_Comm_free(&comm);
  return done();
}
