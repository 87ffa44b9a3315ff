// Collectives of GPU memory: NCCL serves where every member's buffers lie on a GPU of its own, our
// own algorithms where any member's do not. The first word says what is expected: "forced" (NCCL
// serves whenever it can), "weighed" (whichever is quicker), "shared" (all ranks have one GPU: it
// never serves), "levels" (some share one: it does a part). "slower" and "quicker": than ours, by
// far; "between": than by levels, across hosts. "unawaited": calls that nobody waits for in them,
// which it never serves, and none else.
#include <mpi-ext.h>

#include <numeric>

#include "area.h"
#include "served.h"

using namespace ranks;
using gpu::Kind;
using gpu::Vector;

namespace {

using gpu::served;

enum class By { nccl, either, ours, levels } by = By::nccl;  // what calls of GPU memory go by
unsigned long long before = 0;
void expect(bool nccl) {
  const unsigned long long now = served();
  const bool may = nccl && by != By::ours && size > 1;
  if (gpu::is_counted()) CHECK(by == By::nccl ? (now > before) == may : may || now == before);
  before = now;
}

std::vector<int> numbers(std::size_t count, int first) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

void reductions(std::size_t n, Kind mine, bool nccl) {
  Vector<int> send(numbers(n, rank), mine), recv(std::vector<int>(n), mine);
  std::vector<int> sum = numbers(n, 0);
  for (std::size_t i = 0; i < n; ++i) sum[i] = static_cast<int>(i) * size + size * (size - 1) / 2;
  const auto count = static_cast<int>(n);
  CHECK(MPI_Allreduce(send.data(), recv.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == 0);
  CHECK(recv.get() == sum);
  expect(nccl);
  CHECK(MPI_Allreduce(MPI_IN_PLACE, send.data(), count, MPI_INT, MPI_MAX, MPI_COMM_WORLD) == 0);
  CHECK(send.get() == numbers(n, size - 1));
  expect(nccl);
  send.put(numbers(n, rank));
  for (int root = 0; root < size; ++root) {
    recv.put(std::vector<int>(n));
    CHECK(MPI_Reduce(send.data(), recv.data(), count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD) == 0);
    CHECK(recv.get() == (rank == root ? sum : std::vector<int>(n)));
    expect(nccl);
  }
  Vector<int> all(numbers(n * static_cast<std::size_t>(size), rank), mine);
  CHECK(MPI_Reduce_scatter_block(all.data(), recv.data(), count, MPI_INT, MPI_SUM,
                                 MPI_COMM_WORLD) == 0);
  for (int& each : sum) each += rank * count * size;
  CHECK(recv.get() == sum);
  expect(nccl);
}

void movement(std::size_t n, Kind mine, bool nccl) {
  const auto count = static_cast<int>(n);
  const std::size_t total = n * static_cast<std::size_t>(size);
  Vector<int> block(numbers(n, rank * count), mine), all(std::vector<int>(total), mine);
  CHECK(MPI_Allgather(block.data(), count, MPI_INT, all.data(), count, MPI_INT, MPI_COMM_WORLD) ==
        0);
  CHECK(all.get() == numbers(total, 0));
  expect(nccl);
  for (int root = 0; root < size; ++root) {
    block.put(numbers(n, rank == root ? 77 : rank));
    CHECK(MPI_Bcast(block.data(), count, MPI_INT, root, MPI_COMM_WORLD) == 0);
    CHECK(block.get() == numbers(n, 77));
    expect(nccl);
    block.put(numbers(n, rank * count));
    all.put(std::vector<int>(total));
    CHECK(MPI_Gather(block.data(), count, MPI_INT, all.data(), count, MPI_INT, root,
                     MPI_COMM_WORLD) == 0);
    CHECK(all.get() == (rank == root ? numbers(total, 0) : std::vector<int>(total)));
    expect(nccl);
    all.put(numbers(total, 5));
    CHECK(MPI_Scatter(all.data(), count, MPI_INT, rank == root ? MPI_IN_PLACE : block.data(), count,
                      MPI_INT, root, MPI_COMM_WORLD) == 0);
    CHECK(block.get() == numbers(n, rank * count + (rank == root ? 0 : 5)));
    expect(nccl);
  }
  std::vector<int> given(total), got(total);
  for (std::size_t i = 0; i < total; ++i) {
    const auto peer = static_cast<int>(i / n), at = static_cast<int>(i % n);
    given[i] = value_of(rank, peer, at), got[i] = value_of(peer, rank, at);
  }
  Vector<int> from(given, mine), into(std::vector<int>(total), mine);
  CHECK(MPI_Alltoall(from.data(), count, MPI_INT, into.data(), count, MPI_INT, MPI_COMM_WORLD) ==
        0);
  CHECK(into.get() == got);
  expect(nccl);
}

// A type and an operation that NCCL has not, elements with gaps, too few bytes: ours.
void left_to_us(bool takes_short) {
  const std::size_t n = 40000;
  Vector<int> send(numbers(n, rank), Kind::device), recv(std::vector<int>(n), Kind::device);
  MPI_Allreduce(send.data(), recv.data(), static_cast<int>(n), MPI_INT, MPI_BOR, MPI_COMM_WORLD);
  expect(false);
  MPI_Datatype gaps = MPI_DATATYPE_NULL;
  MPI_Type_vector(static_cast<int>(n / 2), 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  MPI_Bcast(send.data(), 1, gaps, 0, MPI_COMM_WORLD);
  expect(false);
  MPI_Type_free(&gaps);
  MPI_Allreduce(send.data(), recv.data(), 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(takes_short);
  MPI_Allreduce(send.data(), recv.data(), 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(false);
}

void bfloats() {
  const std::size_t n = 100000;
  std::vector<unsigned short> ones(n, 0x3f80);  // 1.0
  Vector<unsigned short> send(ones, Kind::device), recv(ones, Kind::device);
  MPI_Allreduce(send.data(), recv.data(), static_cast<int>(n), MPIX_BFLOAT16, MPI_SUM,
                MPI_COMM_WORLD);
  const std::vector<unsigned short> sums = recv.get();
  const float wanted = static_cast<float>(size);
  unsigned bits = 0;
  std::memcpy(&bits, &wanted, sizeof bits);
  CHECK(sums.front() == bits >> 16 && sums.back() == bits >> 16);
  expect(true);
}

// Again and again, on two communicators: what is said of it is said once a collective.
void unawaited() {
  const std::size_t n = 40000;
  Vector<int> send(numbers(n, rank), Kind::device), recv(std::vector<int>(n), Kind::device);
  const auto count = static_cast<int>(n);
  const auto wait = [](MPI_Request* request) {
    CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  };
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  for (const MPI_Comm comm : {MPI_COMM_WORLD, other}) {
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<int> mine(n, rank), all(n);
    MPI_Iallreduce(mine.data(), all.data(), count, MPI_INT, MPI_MAX, comm, &request);
    wait(&request);  // of host memory: nothing is said
    CHECK(all[n - 1] == size - 1);
    for (int round = 0; round < 2; ++round) {
      MPI_Iallreduce(send.data(), recv.data(), count, MPI_INT, MPI_MAX, comm, &request);
      wait(&request);
      CHECK(recv.get() == numbers(n, size - 1));
    }
    recv.put(numbers(n, rank == 0 ? 7 : 0));
    MPI_Bcast_init(recv.data(), count, MPI_INT, 0, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    wait(&request);
    MPI_Request_free(&request);
    CHECK(recv.get() == numbers(n, 7));
  }
  MPI_Comm_free(&other);
  CHECK(served() == 0);
}

// Allreduces of one size, of which NCCL serves some.
class OneSize {
 public:
  unsigned long long served_of(int calls) {
    const unsigned long long before_them = served();
    for (int call = 0; call < calls; ++call)
      MPI_Allreduce(send_.data(), recv_.data(), static_cast<int>(kCount), MPI_INT, MPI_MAX,
                    MPI_COMM_WORLD);
    return served() - before_them;
  }
  bool are_right() { return recv_.get() == numbers(kCount, size - 1); }

 private:
  static constexpr std::size_t kCount = 50000;
  Vector<int> send_{numbers(kCount, rank), Kind::device};
  Vector<int> recv_{std::vector<int>(kCount), Kind::device};
};

// Until both ways were tried; from then on the quicker one serves each. Where that is ours members
// ask each other seldom, and find the verdict then.
void contest(bool by_nccl) {
  OneSize allreduces;
  const unsigned long long tries = allreduces.served_of(8);
  CHECK(tries > 0 && tries < 8);
  CHECK(allreduces.served_of(4) == (by_nccl ? 4U : 0U));
  if (!by_nccl) CHECK(allreduces.served_of(150) == 0);  // until they have asked again
  CHECK(allreduces.are_right());
}

// Where all members together are slow across hosts NCCL works inside each, or we do, and we work
// between them: the verdict says so.
void between_hosts() {
  OneSize allreduces;
  CHECK(allreduces.served_of(12) > 0);
  CHECK(allreduces.are_right());
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  gpu::begin();
  const std::string what = argc > 1 ? argv[1] : "forced";
  if (what == "unawaited") {
    unawaited();
    return done();
  }
  if (what == "between") {
    between_hosts();
    return done();
  }
  if (what == "slower" || what == "quicker") {
    contest(what == "quicker");
    return done();
  }
  by = what == "forced"    ? By::nccl
       : what == "weighed" ? By::either
       : what == "levels"  ? By::levels
                           : By::ours;
  for (const std::size_t n : {std::size_t{20000}, std::size_t{300001}}) {
    reductions(n, Kind::device, true);
    movement(n, Kind::pool, true);
  }
  // One member's memory is the host's; each time another one's.
  for (int odd = 0; odd < size; ++odd) {
    const Kind mine = rank == odd ? Kind::host : Kind::device;
    reductions(20000, mine, false);
    movement(20000, mine, false);
  }
  reductions(20000, Kind::managed, true);
  bfloats();
  left_to_us(what != "shared");
  MPI_Comm half = MPI_COMM_NULL;  // a team of its own, made and freed
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  int members = 0;
  MPI_Comm_size(half, &members);
  Vector<int> send(numbers(50000, 1), Kind::device), recv(std::vector<int>(50000), Kind::device);
  MPI_Allreduce(send.data(), recv.data(), 50000, MPI_INT, MPI_SUM, half);
  CHECK(recv.get().front() == members);
  if (gpu::is_counted() && by == By::nccl) CHECK((served() > before) == (members > 1));
  MPI_Comm_free(&half);
  unsigned long long mine = served(), all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (gpu::is_counted() && by == By::levels) CHECK(all > 0);
  CHECK(gpu::failed() == 0);  // it was told to, where nobody is to ask it
  return done();
}
