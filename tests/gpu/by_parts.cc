// Reductions inside a host whose GPUs do not reach each other: the team of the host folds, a part
// at a time. Arguments: "right" (all forms, lengths about the ends of parts, each member's memory
// of a kind drawn for it); "bounded" (a vector that does not fit in the process); "both_ways" (one
// part comes while another goes; what copies take is made up); "fails" (one rank's GPU does).
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "area.h"
#include "counted.h"
#include "elements.h"

using namespace ranks;
using gpu::Kind;
using gpu::own;
using gpu::sum;

namespace {

constexpr std::size_t kPart = (std::size_t{1} << 20) / sizeof(int);

std::mt19937 alike(1);  // on all members

std::vector<int> sums(int last, std::size_t first, std::size_t count) {
  std::vector<int> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = sum(last, first + i);
  return all;
}

struct Case {
  const char* name;
  std::size_t given, taken;  // elements; given 0: in place
  std::function<int(const int* send, int* recv)> call;
  int last;                 // whose elements are in the result; below 0: there is none
  std::size_t first, told;  // elements of the whole vector that this member is told
};

std::vector<Case> vectors(std::size_t count) {
  const int n = static_cast<int>(count);
  const auto sum_of = [n](auto call) {
    return [n, call](const int* send, int* recv) {
      return call(send == nullptr ? MPI_IN_PLACE : send, recv, n);
    };
  };
  const auto allreduce = sum_of([](const void* send, int* recv, int m) {
    return MPI_Allreduce(send, recv, m, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  });
  const auto scan = sum_of([](const void* send, int* recv, int m) {
    return MPI_Scan(send, recv, m, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  });
  const auto exscan = sum_of([](const void* send, int* recv, int m) {
    return MPI_Exscan(send, recv, m, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  });
  const int root = size - 1;
  const auto reduce = [n, root](const int* send, int* recv) {
    const void* const given = send != nullptr ? send : rank == root ? MPI_IN_PLACE : recv;
    return MPI_Reduce(given, recv, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  };
  std::vector<Case> cases;
  for (const std::size_t given : {count, std::size_t{0}}) {
    cases.push_back({"allreduce", given, count, allreduce, size - 1, 0, count});
    cases.push_back({"reduce", given, count, reduce, rank == root ? root : -1, 0, count});
    cases.push_back({"scan", given, count, scan, rank, 0, count});
    cases.push_back({"exscan", given, count, exscan, rank - 1, 0, count});
  }
  return cases;
}

// `counts`: of the blocks. All of the vector is taken where it is in place.
std::vector<Case> blocks(const std::vector<int>& counts) {
  const auto me = counts.begin() + rank;
  const auto first = static_cast<std::size_t>(std::accumulate(counts.begin(), me, 0));
  const auto all = static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), 0));
  const auto mine = static_cast<std::size_t>(*me);
  const bool is_even = counts == std::vector<int>(counts.size(), counts[0]);
  const auto scatter = [counts, is_even](const int* send, int* recv) {
    const void* const given = send == nullptr ? MPI_IN_PLACE : send;
    return is_even
               ? MPI_Reduce_scatter_block(given, recv, counts[0], MPI_INT, MPI_SUM, MPI_COMM_WORLD)
               : MPI_Reduce_scatter(given, recv, counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  };
  const char* const name = is_even ? "reduce_scatter_block" : "reduce_scatter";
  return {{name, all, mine, scatter, size - 1, first, mine},
          {name, 0, all, scatter, size - 1, first, mine}};
}

void run(const Case& one) {
  const Kind send_kind = gpu::any_kind(), recv_kind = gpu::any_kind();
  const gpu::Vector<int> from(own(std::max<std::size_t>(one.given, 1)), send_kind);
  gpu::Vector<int> into(own(std::max<std::size_t>(one.taken, 1)), recv_kind);
  CU(cuCtxSynchronize());
  CHECK(one.call(one.given > 0 ? from.data() : nullptr, into.data()) == MPI_SUCCESS);
  std::vector<int> got = into.get();
  got.resize(one.told);
  const bool is_right = one.last < 0 || got == sums(one.last, one.first, one.told);
  CHECK(is_right);
  if (!is_right)
    std::fprintf(stderr, "rank %d: %s of %zu elements%s, from %s to %s\n", rank, one.name, one.told,
                 one.given == 0 ? " in place" : "", gpu::kKindNames[static_cast<int>(send_kind)],
                 gpu::kKindNames[static_cast<int>(recv_kind)]);
}

void right() {
  for (const std::size_t count :
       {std::size_t{1000}, kPart - 1, kPart, kPart + 1, 2 * kPart, 3 * kPart + 777}) {
    for (const Case& one : vectors(count)) run(one);
    const auto of_each = static_cast<int>(count / static_cast<std::size_t>(size));
    std::vector<int> counts(static_cast<std::size_t>(size), of_each);
    for (const Case& one : blocks(counts)) run(one);
    for (int time = 0; time < 3; ++time) {  // one has much, some have nothing
      for (int& each : counts)
        each =
            alike() % 3 == 0 ? 0 : static_cast<int>(alike() % static_cast<unsigned>(2 * of_each));
      counts[alike() % counts.size()] += static_cast<int>(kPart) + of_each;
      for (const Case& one : blocks(counts)) run(one);
    }
  }
}

std::size_t private_bytes() {
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  char line[256];
  std::size_t kib = 0;
  while (std::fgets(line, sizeof line, file) != nullptr)
    if (std::sscanf(line, "VmData: %zu", &kib) == 1) break;
  std::fclose(file);
  return kib << 10;
}

// 64 MiB, of which the process may have no more than 24 for its own.
void bounded() {
  constexpr std::size_t kCount = 16 << 20;
  const gpu::Vector<int> from(own(kCount), Kind::device);
  gpu::Vector<int> into(own(kCount), Kind::device);
  const auto each = static_cast<int>(kCount / static_cast<std::size_t>(size));
  const std::vector<int> counts(static_cast<std::size_t>(size), each);
  CU(cuCtxSynchronize());
  for (const Case& one : vectors(3 * kPart)) run(one);  // threads of the driver have begun
  const rlim_t most = private_bytes() + (std::size_t{24} << 20);
  const rlimit limit{most, most};
  CHECK(::setrlimit(RLIMIT_DATA, &limit) == 0);
  CHECK(::mmap(nullptr, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
        MAP_FAILED);
  for (const auto& cases : {vectors(kCount), blocks(counts)})
    for (const Case& one : cases) {
      if (one.given == 0) continue;
      CHECK(one.call(from.data(), into.data()) == MPI_SUCCESS);
      constexpr std::size_t kLooked = 1000;  // to the end
      std::vector<int> end(kLooked);
      into.area().get(end.data(), kLooked * sizeof(int), (one.told - kLooked) * sizeof(int));
      const bool is_right =
          one.last < 0 || end == sums(one.last, one.first + one.told - kLooked, kLooked);
      CHECK(is_right);
      if (!is_right) std::fprintf(stderr, "rank %d: %s\n", rank, one.name);
    }
}

void both_ways() {
  constexpr int kCount = 4 << 20, kRounds = 20;  // others use the machine, too
  gpu::Vector<int> from(own(kCount), Kind::device), into(own(kCount), Kind::device);
  CU(cuCtxSynchronize());
  int has = 0;
  for (int i = 0; i < kRounds && has == 0; ++i) {
    const unsigned long long before = gpu::counted("both_ways");
    CHECK(MPI_Allreduce(from.data(), into.data(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    has = gpu::counted("both_ways") > before ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &has, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  CHECK(has == 1);
}

// The copies of one rank's GPU fail, from the midst of some call on: its calls fail from there on,
// and those of all who would have had something from it. Nobody waits for it, and calls of host
// memory go on.
void fails() {
  constexpr int kCount = 5 * static_cast<int>(kPart), kCalls = 30;
  const gpu::Vector<int> from(own(kCount), Kind::device);
  gpu::Vector<int> into(own(kCount), Kind::device);
  CU(cuCtxSynchronize());
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  std::vector<bool> are_good;
  for (int i = 0; i < kCalls; ++i) {
    are_good.push_back(MPI_Allreduce(from.data(), into.data(), kCount, MPI_INT, MPI_SUM,
                                     MPI_COMM_WORLD) == MPI_SUCCESS);
    if (i == 0) CHECK(into.get() == sums(size - 1, 0, kCount));
  }
  CHECK(are_good.front() && !are_good.back());
  CHECK(std::is_sorted(are_good.rbegin(), are_good.rend()));
  std::vector<int> plain = own(kCount);
  CHECK(MPI_Allreduce(MPI_IN_PLACE, plain.data(), kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD) ==
        MPI_SUCCESS);
  CHECK(plain == sums(size - 1, 0, kCount));
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  gpu::begin();
  const std::string way = argc > 1 ? argv[1] : "right";
  if (way == "right")
    right();
  else if (way == "bounded")
    bounded();
  else if (way == "both_ways")
    both_ways();
  else
    fails();
  return done();
}
