// A call waits for what the default stream held when it began, and for nothing that came later:
// its stream stands still from the second call on until the first one has ended.
#include <unistd.h>

#include <atomic>

#include "area.h"

using namespace ranks;
using gpu::Kind;

namespace {

constexpr int kTagEarly = 1, kTagLate = 2, kTagGo = 3;
std::atomic<bool> goes_on{false};

// From here on the default stream stands still.
void stand() {
  goes_on.store(false);
  CU(cuLaunchHostFunc(
      nullptr,
      [](void*) {
        while (!goes_on.load()) ::usleep(100);
      },
      nullptr));
}

void let_go() {
  goes_on.store(true);
  CU(cuCtxSynchronize());
}

struct Buffers {
  explicit Buffers(int count)
      : count(count),
        early(std::vector<int>(static_cast<std::size_t>(count), 1 + rank), Kind::device),
        late(std::vector<int>(static_cast<std::size_t>(count), 1 + rank), Kind::device) {
    CU(cuCtxSynchronize());
  }
  const int count;
  gpu::Vector<int> early, late;
  bool are(int value) {
    const std::vector<int> expected(static_cast<std::size_t>(count), value);
    return early.get() == expected && late.get() == expected;
  }
};

// What tells the other rank that the second call has begun.
void tell_go() {
  MPI_Send(nullptr, 0, MPI_INT, 1 - rank, kTagGo, MPI_COMM_WORLD);
}
void await_go() {
  MPI_Recv(nullptr, 0, MPI_INT, 1 - rank, kTagGo, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Rank 1 receives twice; what is for the second receive comes first.
void receives(int count, bool stands) {
  Buffers all(count);
  MPI_Request early, late;
  if (rank == 0) {
    await_go();
    MPI_Isend(all.late.data(), count, MPI_INT, 1, kTagLate, MPI_COMM_WORLD, &late);
    MPI_Isend(all.early.data(), count, MPI_INT, 1, kTagEarly, MPI_COMM_WORLD, &early);
    MPI_Wait(&early, MPI_STATUS_IGNORE);
    MPI_Wait(&late, MPI_STATUS_IGNORE);
    return;
  }
  MPI_Irecv(all.early.data(), count, MPI_INT, 0, kTagEarly, MPI_COMM_WORLD, &early);
  if (stands) stand();
  MPI_Irecv(all.late.data(), count, MPI_INT, 0, kTagLate, MPI_COMM_WORLD, &late);
  tell_go();
  MPI_Wait(&early, MPI_STATUS_IGNORE);
  if (stands) {
    int has_ended = 1;
    MPI_Test(&late, &has_ended, MPI_STATUS_IGNORE);
    CHECK(has_ended == 0);
    let_go();
  }
  MPI_Wait(&late, MPI_STATUS_IGNORE);
  CHECK(all.are(1));
}

// Rank 0 sends twice; the first is received after the second has begun.
void sends(int count, bool stands) {
  Buffers all(count);
  if (rank == 1) {
    await_go();
    MPI_Recv(all.early.data(), count, MPI_INT, 0, kTagEarly, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tell_go();
    MPI_Recv(all.late.data(), count, MPI_INT, 0, kTagLate, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(all.are(1));
    return;
  }
  MPI_Request early, late;
  MPI_Isend(all.early.data(), count, MPI_INT, 1, kTagEarly, MPI_COMM_WORLD, &early);
  if (stands) stand();
  MPI_Isend(all.late.data(), count, MPI_INT, 1, kTagLate, MPI_COMM_WORLD, &late);
  tell_go();
  await_go();
  MPI_Wait(&early, MPI_STATUS_IGNORE);
  if (stands) let_go();
  MPI_Wait(&late, MPI_STATUS_IGNORE);
}

// A message to oneself waits for both of its calls.
void to_itself(int count, bool stands) {
  Buffers all(count);
  gpu::Vector<int> into(std::vector<int>(static_cast<std::size_t>(count), -1), Kind::device);
  CU(cuCtxSynchronize());
  CHECK(all.are(1 + rank));  // so that put() waits for nothing
  MPI_Request requests[2];
  MPI_Irecv(into.data(), count, MPI_INT, rank, kTagLate, MPI_COMM_WORLD, &requests[0]);
  if (stands) stand();
  all.late.put(std::vector<int>(static_cast<std::size_t>(count), 9));
  MPI_Isend(all.late.data(), count, MPI_INT, rank, kTagLate, MPI_COMM_WORLD, &requests[1]);
  int has_ended = 0;
  for (int looks = 0; looks < 50; ++looks) MPI_Test(&requests[0], &has_ended, MPI_STATUS_IGNORE);
  CHECK(!stands || has_ended == 0);
  if (stands) let_go();
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(into.get() == std::vector<int>(static_cast<std::size_t>(count), 9));
}

// Rank 1 comes to the sum when rank 0 has begun its next call: what is left of it comes then.
void sums(int count, bool stands) {
  Buffers all(count);
  MPI_Request sum, late;
  if (rank == 1) await_go();
  MPI_Iallreduce(MPI_IN_PLACE, all.early.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &sum);
  if (rank == 1) {
    MPI_Wait(&sum, MPI_STATUS_IGNORE);
    tell_go();
    MPI_Send(all.early.data(), count, MPI_INT, 0, kTagLate, MPI_COMM_WORLD);
    CHECK(all.early.get() == std::vector<int>(static_cast<std::size_t>(count), 3));
    return;
  }
  if (stands) stand();
  MPI_Irecv(all.late.data(), count, MPI_INT, 1, kTagLate, MPI_COMM_WORLD, &late);
  tell_go();
  await_go();
  MPI_Wait(&sum, MPI_STATUS_IGNORE);
  if (stands) let_go();
  MPI_Wait(&late, MPI_STATUS_IGNORE);
  CHECK(all.are(3));
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  for (const bool stands : {false, true})  // first all kernels are loaded
    for (const int count : {100, 100'000, 2'000'000}) {
      receives(count, stands);
      sends(count, stands);
      to_itself(count, stands);
      sums(count, stands);
    }
  return done();
}
