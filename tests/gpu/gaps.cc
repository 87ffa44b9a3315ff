// gaps: long collectives between GPUs that read each other's memory, of blocks that no neighbour
// can read where they lie: with gaps, or in memory that was made for one process. The owner's GPU
// packs them, and nothing passes through host memory. The same call on host memory says what has to
// come out. Argument: "real" (a driver that does not count).
#include <algorithm>
#include <cstdlib>
#include <functional>

#include "area.h"
#include "counted.h"
#include "either.h"
#include "elements.h"

using namespace ranks;
using gpu::Kind;
using gpu::own;

namespace {

// Another one for host memory: members whose memory was in the way are not asked for a while.
MPI_Comm on_gpus, on_hosts;

// Elements of 64,000 bytes: a plain row, and one with gaps in it and behind it.
struct Layout {
  MPI_Datatype type;
  std::size_t room;  // ints that an element takes
  Kind kind;
};

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

#define CALL(send, recv, of) \
  [=](const void* send, void* recv, MPI_Datatype of, MPI_Comm comm, MPI_Request* request)

struct Case {
  const char* name;
  int sent, received;  // elements
  std::function<void(const void* send, void* recv, MPI_Datatype of, MPI_Comm comm,
                     MPI_Request* request)>
      call;
};

std::vector<Case> even(int n) {
  const int all = n * size, last = size - 1;
  return {{"bcast", 1, n, CALL(, recv, of){EITHER(Bcast, bcast, recv, n, of, last, comm);
}
}  // namespace
, {"gather", n, all,
   CALL(send, recv, of){EITHER(Gather, gather, send, n, of, recv, n, of, last, comm);
}
}
, {"scatter", all, n,
   CALL(send, recv, of){EITHER(Scatter, scatter, send, n, of, recv, n, of, 0, comm);
}
}
, {"allgather", n, all,
   CALL(send, recv, of){EITHER(Allgather, allgather, send, n, of, recv, n, of, comm);
}
}
, {"alltoall", all, all,
   CALL(send, recv, of){EITHER(Alltoall, alltoall, send, n, of, recv, n, of, comm);
}
}
, {
  "alltoall in place", 1, all, CALL(, recv, of) {
    EITHER(Alltoall, alltoall, MPI_IN_PLACE, 0, of, recv, n, of, comm);
  }
}
}
;
}

// Of rank r, 1 + (r + n) % 3 elements.
std::vector<Case> uneven(int n, const Layout& layout) {
  std::vector<int> counts, places, bytes, mine, own_places, own_bytes;
  int all = 0;
  for (int r = 0; r < size; ++r) {
    counts.push_back(1 + (r + n) % 3);
    places.push_back(all);
    bytes.push_back(all * static_cast<int>(layout.room * sizeof(int)));
    all += counts.back();
  }
  const int given = counts[static_cast<std::size_t>(rank)];
  for (int r = 0; r < size; ++r) {
    mine.push_back(given);
    own_places.push_back(r * given);
    own_bytes.push_back(r * given * static_cast<int>(layout.room * sizeof(int)));
  }
  const std::vector<MPI_Datatype> types(counts.size(), layout.type);
  return {{"gatherv", given, all,
           CALL(send, recv, of){EITHER(Gatherv, gatherv, send, given, of, recv, counts.data(),
                                       places.data(), of, 0, comm);
}
}
, {"scatterv", all, given,
   CALL(send, recv, of){
       EITHER(Scatterv, scatterv, send, counts.data(), places.data(), of, recv, given, of, 0, comm);
}
}
, {"allgatherv", given, all,
   CALL(send, recv, of){EITHER(Allgatherv, allgatherv, send, given, of, recv, counts.data(),
                               places.data(), of, comm);
}
}
, {"alltoallv", all, given* size,
   CALL(send, recv, of){EITHER(Alltoallv, alltoallv, send, counts.data(), places.data(), of, recv,
                               mine.data(), own_places.data(), of, comm);
}
}
, {
  "alltoallw", all, given *size, CALL(send, recv, ) {
    EITHER(Alltoallw, alltoallw, send, counts.data(), bytes.data(), types.data(), recv, mine.data(),
           own_bytes.data(), types.data(), comm);
  }
}
}
;
}

void run(const Case& one, const Layout& layout, bool is_blocking, bool is_counted) {
  const auto ints = [&](int elements) { return static_cast<std::size_t>(elements) * layout.room; };
  const std::vector<int> given = own(ints(one.sent));
  std::vector<int> wanted = own(ints(one.received));
  const gpu::Vector<int> from(given, layout.kind);
  gpu::Vector<int> into(wanted, layout.kind);
  one.call(given.data(), wanted.data(), layout.type, on_hosts, nullptr);
  CU(cuCtxSynchronize());
  MPI_Barrier(on_gpus);
  const unsigned long long before = gpu::through_host();
  MPI_Request request;
  one.call(from.data(), into.data(), layout.type, on_gpus, is_blocking ? nullptr : &request);
  if (!is_blocking) MPI_Wait(&request, MPI_STATUS_IGNORE);
  const unsigned long long passed = gpu::through_host() - before;
  const bool is_right = into.get() == wanted, is_past_host = passed == 0 || !is_counted;
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
  // Each GPU measures what copies take, and lists the types' runs, when it first meets them.
  for (const Layout& layout : all) run(even(1)[4], layout, false, false);
  for (const Layout& layout : all)
    for (const bool is_blocking : {true, false})
      for (const int n : {1, 5})
        for (const auto& cases : {even(n), uneven(n, layout)})
          for (const Case& one : cases) run(one, layout, is_blocking, is_counted);
  for (MPI_Comm* const comm : {&on_gpus, &on_hosts}) MPI_Comm_free(comm);
  return done();
}
