// gaps: long collectives between GPUs that read each other's memory, of blocks that no neighbour
// can read where they lie: with gaps, or in memory that was made for one process. The owner's GPU
// packs them, and nothing passes through host memory. The same call on host memory says what has to
// come out. Argument: "real" (a driver that does not count).
#include <cstdlib>
#include <functional>

#include "area.h"
#include "counted.h"
#include "elements.h"

using namespace ranks;
using gpu::Kind;
using gpu::own;

namespace {

// Another one for host memory: members whose memory was in the way are not asked for a while.
MPI_Comm on_gpus, on_hosts;

struct Layout {
  MPI_Datatype type;
  std::size_t room;  // ints that an element takes
  Kind kind;
  bool is_pair = false;  // a double, an int, and a gap
};

// Elements of 64,000 bytes: one with gaps in it and behind it, and a plain row.
std::vector<Layout> layouts() {
  MPI_Datatype row, made, rows;
  MPI_Type_contiguous(16000, MPI_INT, &row);
  MPI_Type_vector(400, 40, 60, MPI_INT, &made);
  MPI_Type_create_resized(made, 0, 24000 * sizeof(int), &rows);
  MPI_Type_free(&made);
  MPI_Type_commit(&row);
  MPI_Type_commit(&rows);
  return {{rows, 24000, Kind::device}, {row, 16000, Kind::pool}, {row, 16000, Kind::mapped}};
}

// What a call is given; without a request it is a blocking one.
struct With {
  const void* send;
  void* recv;
  MPI_Datatype type;
  MPI_Comm comm;
  MPI_Request* request;
};
#define CALL(Name, name, ...)                                                    \
  [=](const With& with) {                                                        \
    with.request == nullptr ? MPI_##Name(__VA_ARGS__, with.comm)                 \
                            : MPI_I##name(__VA_ARGS__, with.comm, with.request); \
  }

struct Case {
  const char* name;
  int sent, received;  // elements
  std::function<void(const With& with)> call;
};

std::vector<Case> even(int n) {
  const int all = n * size, last = size - 1;
  return {
      {"bcast", 1, n, CALL(Bcast, bcast, with.recv, n, with.type, last)},
      {"gather", n, all,
       CALL(Gather, gather, with.send, n, with.type, with.recv, n, with.type, last)},
      {"scatter", all, n,
       CALL(Scatter, scatter, with.send, n, with.type, with.recv, n, with.type, 0)},
      {"allgather", n, all,
       CALL(Allgather, allgather, with.send, n, with.type, with.recv, n, with.type)},
      {"alltoall", all, all,
       CALL(Alltoall, alltoall, with.send, n, with.type, with.recv, n, with.type)},
      {"alltoall in place", 1, all,
       CALL(Alltoall, alltoall, MPI_IN_PLACE, 0, with.type, with.recv, n, with.type)},
  };
}

// Of rank r, 1 + (r + n) % 3 elements.
std::vector<Case> uneven(int n, const Layout& layout) {
  const int bytes = static_cast<int>(layout.room * sizeof(int)), given = 1 + (rank + n) % 3;
  std::vector<int> counts, places, at, own_counts, own_places, own_at;
  int all = 0;
  for (int r = 0; r < size; ++r) {
    counts.push_back(1 + (r + n) % 3);
    places.push_back(all);
    at.push_back(all * bytes);
    all += counts.back();
    own_counts.push_back(given);
    own_places.push_back(r * given);
    own_at.push_back(r * given * bytes);
  }
  const std::vector<MPI_Datatype> types(counts.size(), layout.type);
  return {
      {"gatherv", given, all,
       CALL(Gatherv, gatherv, with.send, given, with.type, with.recv, counts.data(), places.data(),
            with.type, 0)},
      {"scatterv", all, given,
       CALL(Scatterv, scatterv, with.send, counts.data(), places.data(), with.type, with.recv,
            given, with.type, 0)},
      {"allgatherv", given, all,
       CALL(Allgatherv, allgatherv, with.send, given, with.type, with.recv, counts.data(),
            places.data(), with.type)},
      {"alltoallv", all, given * size,
       CALL(Alltoallv, alltoallv, with.send, counts.data(), places.data(), with.type, with.recv,
            own_counts.data(), own_places.data(), with.type)},
      {"alltoallw", all, given * size,
       CALL(Alltoallw, alltoallw, with.send, counts.data(), at.data(), types.data(), with.recv,
            own_counts.data(), own_at.data(), types.data())},
  };
}

std::vector<Case> reductions(int n) {
  return {
      {"allreduce", n, n,
       CALL(Allreduce, allreduce, with.send, with.recv, n, with.type, MPI_MINLOC)},
      {"allreduce in place", 1, n,
       CALL(Allreduce, allreduce, MPI_IN_PLACE, with.recv, n, with.type, MPI_MINLOC)},
      {"reduce", n, n, CALL(Reduce, reduce, with.send, with.recv, n, with.type, MPI_MINLOC, 0)},
      {"scan", n, n, CALL(Scan, scan, with.send, with.recv, n, with.type, MPI_MINLOC)},
      {"reduce_scatter_block", n * size, n,
       CALL(Reduce_scatter_block, reduce_scatter_block, with.send, with.recv, n, with.type,
            MPI_MINLOC)},
  };
}

std::vector<int> told(std::vector<int> all, const Layout& layout) {
  if (layout.is_pair)
    for (std::size_t i = 3; i < all.size(); i += layout.room) all[i] = 0;
  return all;
}

void run(const Case& one, const Layout& layout, bool is_blocking, bool is_counted) {
  const auto ints = [&](int elements) { return static_cast<std::size_t>(elements) * layout.room; };
  const std::vector<int> given = own(ints(one.sent));
  std::vector<int> wanted = own(ints(one.received));
  const gpu::Vector<int> from(given, layout.kind);
  gpu::Vector<int> into(wanted, layout.kind);
  one.call({given.data(), wanted.data(), layout.type, on_hosts, nullptr});
  CU(cuCtxSynchronize());
  MPI_Barrier(on_gpus);
  const unsigned long long before = gpu::through_host();
  MPI_Request request;
  one.call({from.data(), into.data(), layout.type, on_gpus, is_blocking ? nullptr : &request});
  if (!is_blocking) MPI_Wait(&request, MPI_STATUS_IGNORE);
  const unsigned long long passed = gpu::through_host() - before;
  const bool is_right = told(into.get(), layout) == told(wanted, layout);
  const bool is_past_host = passed == 0 || !is_counted;
  CHECK(is_right);
  CHECK(is_past_host);
  if (!is_right || !is_past_host)
    std::fprintf(stderr, "rank %d: %s%s, %s: %s, %llu bytes through host memory\n", rank, one.name,
                 is_blocking ? "" : ", nonblocking", gpu::kKindNames[static_cast<int>(layout.kind)],
                 is_right ? "right" : "wrong", passed);
}

}  // namespace

int main(int argc, char** argv) {
  ::setenv("TUTTI_SINGLE_COPY", "on", 0);  // of what could be read all is
  begin();
  gpu::begin();
  for (MPI_Comm* const comm : {&on_gpus, &on_hosts}) MPI_Comm_dup(MPI_COMM_WORLD, comm);
  const bool is_counted = argc == 1 && gpu::is_driver_counted();
  const std::vector<Layout> all = layouts();
  const Layout pair{MPI_DOUBLE_INT, 4, Kind::device, true};
  // Each GPU measures what copies take, and lists the types' runs, when it first meets them.
  for (const Layout& layout : all) run(even(1)[4], layout, false, false);
  run(reductions(8000)[0], pair, false, false);
  for (const bool is_blocking : {true, false}) {
    for (const Layout& layout : all)
      for (const int n : {1, 5})
        for (const auto& cases : {even(n), uneven(n, layout)})
          for (const Case& one : cases) run(one, layout, is_blocking, is_counted);
    for (const Case& one : reductions(30000)) run(one, pair, is_blocking, is_counted);
  }
  for (MPI_Comm* const comm : {&on_gpus, &on_hosts}) MPI_Comm_free(comm);
  return done();
}
