// Collectives of long vectors in GPU memory, of which nothing passes through host memory: neither
// what members send each other nor what they fold on the way. Arguments: "direct"; "staged" (GPUs
// do not reach each other, so all does); "full" (there is no room for temporaries).
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>

#include "area.h"
#include "counted.h"
#include "either.h"
#include "elements.h"

using namespace ranks;
using gpu::element;
using gpu::Kind;
using gpu::own;
using gpu::sum;

namespace {

struct Case {
  const char* name;
  std::size_t sent, received;  // elements
  std::function<int(const int* send, int* recv, MPI_Request* request)> call;
  std::function<int(std::size_t i)> result;  // below 0: nothing is said of it
};

std::vector<Case> reductions(std::size_t count) {
  const int n = static_cast<int>(count);
  const std::size_t all = count * static_cast<std::size_t>(size);
  const auto block = count * static_cast<std::size_t>(rank);
  const auto total = [](std::size_t i) { return sum(size - 1, i); };
  std::vector<Case> cases;
  cases.push_back({"allreduce", count, count,
                   [n](const int* send, int* recv, MPI_Request* request) {
                     return EITHER(Allreduce, allreduce, send, recv, n, MPI_INT, MPI_SUM,
                                   MPI_COMM_WORLD);
                   },
                   total});
  cases.push_back({"allreduce in place", 1, count,
                   [n](const int*, int* recv, MPI_Request* request) {
                     return EITHER(Allreduce, allreduce, MPI_IN_PLACE, recv, n, MPI_INT, MPI_SUM,
                                   MPI_COMM_WORLD);
                   },
                   total});
  cases.push_back({"reduce", count, count,
                   [n](const int* send, int* recv, MPI_Request* request) {
                     return EITHER(Reduce, reduce, send, recv, n, MPI_INT, MPI_SUM, size - 1,
                                   MPI_COMM_WORLD);
                   },
                   [](std::size_t i) { return rank == size - 1 ? sum(rank, i) : -1; }});
  cases.push_back({"reduce_scatter_block", all, count,
                   [n](const int* send, int* recv, MPI_Request* request) {
                     return EITHER(Reduce_scatter_block, reduce_scatter_block, send, recv, n,
                                   MPI_INT, MPI_SUM, MPI_COMM_WORLD);
                   },
                   [block](std::size_t i) { return sum(size - 1, block + i); }});
  cases.push_back(
      {"reduce_scatter_block in place", 1, all,
       [n](const int*, int* recv, MPI_Request* request) {
         return EITHER(Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, recv, n, MPI_INT,
                       MPI_SUM, MPI_COMM_WORLD);
       },
       [block, count](std::size_t i) { return i < count ? sum(size - 1, block + i) : -1; }});
  cases.push_back({"scan", count, count,
                   [n](const int* send, int* recv, MPI_Request* request) {
                     return EITHER(Scan, scan, send, recv, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
                   },
                   [](std::size_t i) { return sum(rank, i); }});
  cases.push_back({"exscan", count, count,
                   [n](const int* send, int* recv, MPI_Request* request) {
                     return EITHER(Exscan, exscan, send, recv, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
                   },
                   [](std::size_t i) { return rank == 0 ? -1 : sum(rank - 1, i); }});
  cases.push_back({"exscan in place", 1, count,
                   [n](const int*, int* recv, MPI_Request* request) {
                     return EITHER(Exscan, exscan, MPI_IN_PLACE, recv, n, MPI_INT, MPI_SUM,
                                   MPI_COMM_WORLD);
                   },
                   [](std::size_t i) { return rank == 0 ? -1 : sum(rank - 1, i); }});
  return cases;
}

std::vector<Case> movement(std::size_t count) {
  const int n = static_cast<int>(count);
  const std::size_t all = count * static_cast<std::size_t>(size);
  const auto block = count * static_cast<std::size_t>(rank);
  std::vector<Case> cases;
  cases.push_back({"bcast", 1, count,
                   [n](const int*, int* recv, MPI_Request* request) {
                     return EITHER(Bcast, bcast, recv, n, MPI_INT, 0, MPI_COMM_WORLD);
                   },
                   [](std::size_t i) { return element(0, i); }});
  cases.push_back({"gather", count, all,
                   [n](const int* send, int* recv, MPI_Request* request) {
                     return EITHER(Gather, gather, send, n, MPI_INT, recv, n, MPI_INT, 0,
                                   MPI_COMM_WORLD);
                   },
                   [count](std::size_t i) {
                     return rank == 0 ? element(static_cast<int>(i / count), i % count) : -1;
                   }});
  cases.push_back({"scatter", all, count,
                   [n](const int* send, int* recv, MPI_Request* request) {
                     return EITHER(Scatter, scatter, send, n, MPI_INT, recv, n, MPI_INT, 0,
                                   MPI_COMM_WORLD);
                   },
                   [block](std::size_t i) { return element(0, block + i); }});
  cases.push_back(
      {"allgather", count, all,
       [n](const int* send, int* recv, MPI_Request* request) {
         return EITHER(Allgather, allgather, send, n, MPI_INT, recv, n, MPI_INT, MPI_COMM_WORLD);
       },
       [count](std::size_t i) { return element(static_cast<int>(i / count), i % count); }});
  const auto transposed = [block, count](std::size_t i) {
    return element(static_cast<int>(i / count), block + i % count);
  };
  cases.push_back({"alltoall", all, all,
                   [n](const int* send, int* recv, MPI_Request* request) {
                     return EITHER(Alltoall, alltoall, send, n, MPI_INT, recv, n, MPI_INT,
                                   MPI_COMM_WORLD);
                   },
                   transposed});
  cases.push_back({"alltoall in place", 1, all,
                   [n](const int*, int* recv, MPI_Request* request) {
                     return EITHER(Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_INT, recv, n, MPI_INT,
                                   MPI_COMM_WORLD);
                   },
                   transposed});
  return cases;
}

// Blocks of other lengths: of rank r, from `first` on, `count` + r elements, one after the other.
struct Blocks {
  explicit Blocks(std::size_t count, int first = 0) {
    for (int r = 0; r < size; ++r) {
      places.push_back(all);
      counts.push_back(r < first ? 0 : static_cast<int>(count) + r);
      all += counts.back();
    }
  }
  std::size_t total() const { return static_cast<std::size_t>(all); }
  std::size_t mine() const { return static_cast<std::size_t>(counts[at(rank)]); }
  static std::size_t at(int r) { return static_cast<std::size_t>(r); }
  // The i-th element of all blocks, each of which is its rank's own.
  int of_each(std::size_t i) const {
    int r = size - 1;
    while (static_cast<int>(i) < places[at(r)]) --r;
    return element(r, i - static_cast<std::size_t>(places[at(r)]));
  }
  std::vector<int> counts, places;
  int all = 0;
};

std::vector<Case> uneven(std::size_t count) {
  const Blocks of(count);
  const auto before = static_cast<std::size_t>(of.places[Blocks::at(rank)]);
  const int mine = static_cast<int>(of.mine());
  std::vector<Case> cases;
  cases.push_back({"allgatherv", of.mine(), of.total(),
                   [of, mine](const int* send, int* recv, MPI_Request* request) {
                     return EITHER(Allgatherv, allgatherv, send, mine, MPI_INT, recv,
                                   of.counts.data(), of.places.data(), MPI_INT, MPI_COMM_WORLD);
                   },
                   [of](std::size_t i) { return of.of_each(i); }});
  cases.push_back({"reduce_scatter", of.total(), of.mine(),
                   [of](const int* send, int* recv, MPI_Request* request) {
                     return EITHER(Reduce_scatter, reduce_scatter, send, recv, of.counts.data(),
                                   MPI_INT, MPI_SUM, MPI_COMM_WORLD);
                   },
                   [before](std::size_t i) { return sum(size - 1, before + i); }});
  cases.push_back({"gatherv", of.mine(), of.total(),
                   [of, mine](const int* send, int* recv, MPI_Request* request) {
                     return EITHER(Gatherv, gatherv, send, mine, MPI_INT, recv, of.counts.data(),
                                   of.places.data(), MPI_INT, 0, MPI_COMM_WORLD);
                   },
                   [of](std::size_t i) { return rank == 0 ? of.of_each(i) : -1; }});
  cases.push_back({"scatterv", of.total(), of.mine(),
                   [of, mine](const int* send, int* recv, MPI_Request* request) {
                     return EITHER(Scatterv, scatterv, send, of.counts.data(), of.places.data(),
                                   MPI_INT, recv, mine, MPI_INT, 0, MPI_COMM_WORLD);
                   },
                   [before](std::size_t i) { return element(0, before + i); }});
  // All but two have nothing to move, and do not know of them.
  const Blocks last(count, size - 1);
  const int given = static_cast<int>(last.mine());
  cases.push_back({"gatherv of the last", std::max<std::size_t>(last.mine(), 1), last.total(),
                   [last, given](const int* send, int* recv, MPI_Request* request) {
                     return EITHER(Gatherv, gatherv, send, given, MPI_INT, recv, last.counts.data(),
                                   last.places.data(), MPI_INT, 0, MPI_COMM_WORLD);
                   },
                   [last](std::size_t i) { return rank == 0 ? last.of_each(i) : -1; }});
  return cases;
}

// What two send each other is of one length: `count` + both ranks.
struct Crossed {
  explicit Crossed(std::size_t count) {
    for (int r = 0; r < size; ++r) {
      places.push_back(all);
      counts.push_back(static_cast<int>(count) + rank + r);
      all += counts.back();
    }
    std::vector<int> theirs(places.size());
    MPI_Alltoall(places.data(), 1, MPI_INT, theirs.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (const int place : theirs) from.push_back(static_cast<std::size_t>(place));
    for (const int place : places) bytes.push_back(place * static_cast<int>(sizeof(int)));
  }
  int at(std::size_t i) const {
    auto r = places.size() - 1;
    while (static_cast<int>(i) < places[r]) --r;
    return element(static_cast<int>(r), from[r] + i - static_cast<std::size_t>(places[r]));
  }
  std::vector<int> counts, places, bytes;
  std::vector<std::size_t> from;  // where it lies at its sender
  int all = 0;
};

std::vector<Case> crossed(std::size_t count) {
  const Crossed of(count);
  const auto all = static_cast<std::size_t>(of.all);
  const std::vector<MPI_Datatype> types(of.counts.size(), MPI_INT);
  std::vector<Case> cases;
  cases.push_back({"alltoallv", all, all,
                   [of](const int* send, int* recv, MPI_Request* request) {
                     const int *c = of.counts.data(), *d = of.places.data();
                     return EITHER(Alltoallv, alltoallv, send, c, d, MPI_INT, recv, c, d, MPI_INT,
                                   MPI_COMM_WORLD);
                   },
                   [of](std::size_t i) { return of.at(i); }});
  cases.push_back({"alltoallw", all, all,
                   [of, types](const int* send, int* recv, MPI_Request* request) {
                     const int *c = of.counts.data(), *d = of.bytes.data();
                     return EITHER(Alltoallw, alltoallw, send, c, d, types.data(), recv, c, d,
                                   types.data(), MPI_COMM_WORLD);
                   },
                   [of](std::size_t i) { return of.at(i); }});
  return cases;
}

void run(const Case& one, bool is_blocking, bool is_direct) {
  const gpu::Vector<int> from(own(one.sent), Kind::device);
  gpu::Vector<int> into(own(one.received), Kind::device);
  CU(cuCtxSynchronize());
  MPI_Barrier(MPI_COMM_WORLD);
  const unsigned long long before = gpu::through_host();
  MPI_Request request;
  CHECK(one.call(from.data(), into.data(), is_blocking ? nullptr : &request) == MPI_SUCCESS);
  if (!is_blocking) MPI_Wait(&request, MPI_STATUS_IGNORE);
  const unsigned long long passed = gpu::through_host() - before;
  const std::vector<int> got = into.get();
  bool is_right = true;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const int wanted = one.result(i);
    is_right = is_right && (wanted < 0 || got[i] == wanted);
  }
  CHECK(is_right);
  const bool is_past_host = !is_direct || passed == 0 || !gpu::is_driver_counted();
  CHECK(is_past_host);
  if (!is_right || !is_past_host)
    std::fprintf(stderr, "rank %d: %s of %zu elements%s: %s, %llu bytes through host memory\n",
                 rank, one.name, one.received, is_blocking ? "" : ", nonblocking",
                 is_right ? "right" : "wrong", passed);
}

// Each GPU measures what copies take before it first sends, and members find out how they reach
// each other.
void warm_up() {
  const std::size_t count = 100000;
  for (const Case& one : reductions(count)) run(one, true, false);
}

// Blocks too short to go from GPU to GPU: long ones behind many of those are asked about soon.
void run_short_blocks() {
  constexpr int kPassed = 4;
  for (const std::size_t count : {100, 70001})
    for (const auto& cases : {uneven(count), crossed(count)})
      for (const Case& one : cases)
        for (int time = 0; time <= kPassed; ++time) run(one, true, false);
}

// 16 MiB, again and again: once there was room enough, the driver is asked for no more.
void steady() {
  const std::size_t count = std::size_t{4} << 20;
  for (const Case& one : reductions(count)) {
    if (std::string(one.name) != "allreduce") continue;
    run(one, true, true);
    const unsigned long long allocated = gpu::counted("allocated");
    run(one, true, true);
    if (gpu::is_driver_counted())
      CHECK(gpu::counted("allocated") == allocated + 2);  // the test's own
  }
}

// The user's own memory is all that there is.
void fill_gpu() {
  CUdeviceptr all = 0;
  for (std::size_t bytes = std::size_t{1} << 30; bytes >= 4096; bytes /= 2)
    while (cuMemAlloc(&all, bytes) == CUDA_SUCCESS) continue;
}

}  // namespace

int main(int argc, char** argv) {
  ::setenv("TUTTI_SINGLE_COPY", "on", 0);  // of what could be read all is
  begin();
  gpu::begin();
  const std::string way = argc > 1 ? argv[1] : "direct";
  const bool is_direct = way == "direct";
  if (rank == 0 && !gpu::is_driver_counted())
    std::printf("the driver does not count: what passes through host memory is not asked\n");
  if (way == "full") {
    const gpu::Vector<int> some(own(1), Kind::device);
    std::vector<std::unique_ptr<gpu::Vector<int>>> room;
    for (int i = 0; i < 2; ++i)
      room.push_back(std::make_unique<gpu::Vector<int>>(own(1 << 20), Kind::device));
    fill_gpu();
    room.clear();
  } else {
    warm_up();
  }
  if (is_direct) run_short_blocks();
  for (const bool is_blocking : {true, false}) {
    for (const Case& one : reductions(std::size_t{1} << 18)) run(one, is_blocking, is_direct);
    for (const auto& cases : {movement(70001), uneven(70001), crossed(70001)})
      for (const Case& one : cases) run(one, is_blocking, is_direct);
  }
  if (is_direct) steady();
  return done();
}
