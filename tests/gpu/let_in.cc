// A thread is in a call that waits for what its default stream holds; that goes on when another
// thread has made calls.
#include <chrono>
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

}  // namespace

int main() {
  begin(MPI_THREAD_MULTIPLE);
  gpu::begin();
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
