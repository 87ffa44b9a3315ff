// Every collective, blocking and nonblocking, in place and not, against results computed here.
#include <algorithm>
#include <functional>

#include "check.h"

using namespace ranks;

namespace {

using Ints = std::vector<int>;
const MPI_Comm kWorld = MPI_COMM_WORLD;
const int kCounts[] = {0, 1, 5, 100, 3001, 40000};

Ints filled(int n, const std::function<int(int)>& value) {
  Ints data(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) data[static_cast<std::size_t>(i)] = value(i);
  return data;
}
Ints mine(int n, int to = 0) {
  return filled(n, [to](int i) { return value_of(rank, to, i); });
}

// Blocking and nonblocking forms of a call run through the same checks.
void finish(MPI_Request& request, bool blocking) {
  if (!blocking) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void barrier_and_bcast(bool blocking) {
  MPI_Request request = MPI_REQUEST_NULL;
  blocking ? MPI_Barrier(kWorld) : MPI_Ibarrier(kWorld, &request);
  finish(request, blocking);
  for (int n : kCounts)
    for (int root = 0; root < size; ++root) {
      const auto value = [root](int i) { return value_of(root, 1, i); };
      Ints data = rank == root ? filled(n, value) : Ints(static_cast<std::size_t>(n), -1);
      blocking ? MPI_Bcast(data.data(), n, MPI_INT, root, kWorld)
               : MPI_Ibcast(data.data(), n, MPI_INT, root, kWorld, &request);
      finish(request, blocking);
      CHECK(data == filled(n, value));
    }
}

int sum_at(int i) {
  int sum = 0;
  for (int r = 0; r < size; ++r) sum += value_of(r, 0, i) % 1000;
  return sum;
}
Ints small(int n) {
  return filled(n, [](int i) { return value_of(rank, 0, i) % 1000; });
}

void reductions(bool blocking) {
  MPI_Request request = MPI_REQUEST_NULL;
  for (int n : kCounts) {
    const Ints in = small(n), wanted = filled(n, sum_at);
    Ints out(static_cast<std::size_t>(n), -1), both = in;
    blocking ? MPI_Allreduce(in.data(), out.data(), n, MPI_INT, MPI_SUM, kWorld)
             : MPI_Iallreduce(in.data(), out.data(), n, MPI_INT, MPI_SUM, kWorld, &request);
    finish(request, blocking);
    CHECK(out == wanted);
    blocking ? MPI_Allreduce(MPI_IN_PLACE, both.data(), n, MPI_INT, MPI_SUM, kWorld)
             : MPI_Iallreduce(MPI_IN_PLACE, both.data(), n, MPI_INT, MPI_SUM, kWorld, &request);
    finish(request, blocking);
    CHECK(both == wanted);
    for (int root = 0; root < size; ++root) {
      std::fill(out.begin(), out.end(), -1);
      const bool in_place = rank == root && root % 2 == 1;
      if (in_place) out = in;
      const void* from = in_place ? MPI_IN_PLACE : in.data();
      blocking ? MPI_Reduce(from, out.data(), n, MPI_INT, MPI_SUM, root, kWorld)
               : MPI_Ireduce(from, out.data(), n, MPI_INT, MPI_SUM, root, kWorld, &request);
      finish(request, blocking);
      if (rank == root)
        CHECK(out == wanted);
      else
        CHECK(out == Ints(static_cast<std::size_t>(n), -1));
    }
  }
}

void scans(bool blocking) {
  MPI_Request request = MPI_REQUEST_NULL;
  for (int n : kCounts) {
    const Ints in = small(n);
    const auto before = [](int ranks, int i) {
      int sum = 0;
      for (int r = 0; r < ranks; ++r) sum += value_of(r, 0, i) % 1000;
      return sum;
    };
    Ints out(static_cast<std::size_t>(n), -1), both = in;
    blocking ? MPI_Scan(in.data(), out.data(), n, MPI_INT, MPI_SUM, kWorld)
             : MPI_Iscan(in.data(), out.data(), n, MPI_INT, MPI_SUM, kWorld, &request);
    finish(request, blocking);
    CHECK(out == filled(n, [&](int i) { return before(rank + 1, i); }));
    blocking ? MPI_Scan(MPI_IN_PLACE, both.data(), n, MPI_INT, MPI_SUM, kWorld)
             : MPI_Iscan(MPI_IN_PLACE, both.data(), n, MPI_INT, MPI_SUM, kWorld, &request);
    finish(request, blocking);
    CHECK(both == out);
    both = in;
    blocking ? MPI_Exscan(in.data(), out.data(), n, MPI_INT, MPI_SUM, kWorld)
             : MPI_Iexscan(in.data(), out.data(), n, MPI_INT, MPI_SUM, kWorld, &request);
    finish(request, blocking);
    if (rank > 0) CHECK(out == filled(n, [&](int i) { return before(rank, i); }));
    blocking ? MPI_Exscan(MPI_IN_PLACE, both.data(), n, MPI_INT, MPI_SUM, kWorld)
             : MPI_Iexscan(MPI_IN_PLACE, both.data(), n, MPI_INT, MPI_SUM, kWorld, &request);
    finish(request, blocking);
    if (rank > 0) CHECK(both == out);
  }
}

void reduce_scatters(bool blocking) {
  MPI_Request request = MPI_REQUEST_NULL;
  for (int base : {0, 1, 7, 1000}) {
    const auto length = [base](int r) { return r % 3 == 2 ? 0 : base + r; };
    Ints counts, starts;
    int total = 0;
    for (int r = 0; r < size; ++r) {
      counts.push_back(length(r));
      starts.push_back(total);
      total += length(r);
    }
    const Ints in = small(total);
    const int own = length(rank), start = starts[static_cast<std::size_t>(rank)];
    const Ints wanted = filled(own, [start](int i) { return sum_at(start + i); });
    Ints out(static_cast<std::size_t>(own), -1), both = in;
    blocking ? MPI_Reduce_scatter(in.data(), out.data(), counts.data(), MPI_INT, MPI_SUM, kWorld)
             : MPI_Ireduce_scatter(in.data(), out.data(), counts.data(), MPI_INT, MPI_SUM, kWorld,
                                   &request);
    finish(request, blocking);
    CHECK(out == wanted);
    both.resize(static_cast<std::size_t>(std::max(total, own)));
    blocking
        ? MPI_Reduce_scatter(MPI_IN_PLACE, both.data(), counts.data(), MPI_INT, MPI_SUM, kWorld)
        : MPI_Ireduce_scatter(MPI_IN_PLACE, both.data(), counts.data(), MPI_INT, MPI_SUM, kWorld,
                              &request);
    finish(request, blocking);
    CHECK(std::equal(wanted.begin(), wanted.end(), both.begin()));

    const Ints blocks = small(base * size);
    Ints block(static_cast<std::size_t>(base), -1);
    blocking ? MPI_Reduce_scatter_block(blocks.data(), block.data(), base, MPI_INT, MPI_SUM, kWorld)
             : MPI_Ireduce_scatter_block(blocks.data(), block.data(), base, MPI_INT, MPI_SUM,
                                         kWorld, &request);
    finish(request, blocking);
    CHECK(block == filled(base, [base](int i) { return sum_at(rank * base + i); }));
  }
}

void gathers(bool blocking) {
  MPI_Request request = MPI_REQUEST_NULL;
  for (int n : kCounts) {
    const Ints in = mine(n);
    const auto all = [n](int i) { return value_of(i / n, 0, i % n); };
    const Ints wanted = n == 0 ? Ints() : filled(n * size, all);
    for (int root = 0; root < size; ++root) {
      Ints out(static_cast<std::size_t>(n * size), -1);
      const bool in_place = rank == root && root % 2 == 0;
      if (in_place) std::copy(in.begin(), in.end(), out.begin() + rank * n);
      const void* from = in_place ? MPI_IN_PLACE : in.data();
      blocking ? MPI_Gather(from, n, MPI_INT, out.data(), n, MPI_INT, root, kWorld)
               : MPI_Igather(from, n, MPI_INT, out.data(), n, MPI_INT, root, kWorld, &request);
      finish(request, blocking);
      if (rank == root) CHECK(out == wanted);
      Ints part(static_cast<std::size_t>(n), -1);
      const Ints whole = rank == root ? wanted : Ints();
      blocking
          ? MPI_Scatter(whole.data(), n, MPI_INT, part.data(), n, MPI_INT, root, kWorld)
          : MPI_Iscatter(whole.data(), n, MPI_INT, part.data(), n, MPI_INT, root, kWorld, &request);
      finish(request, blocking);
      CHECK(part == in);
    }
    Ints out(static_cast<std::size_t>(n * size), -1), both(out);
    blocking ? MPI_Allgather(in.data(), n, MPI_INT, out.data(), n, MPI_INT, kWorld)
             : MPI_Iallgather(in.data(), n, MPI_INT, out.data(), n, MPI_INT, kWorld, &request);
    finish(request, blocking);
    CHECK(out == wanted);
    std::copy(in.begin(), in.end(), both.begin() + rank * n);
    blocking ? MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, both.data(), n, MPI_INT, kWorld)
             : MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, both.data(), n, MPI_INT, kWorld,
                              &request);
    finish(request, blocking);
    CHECK(both == wanted);
  }
}

// Blocks of different lengths, with gaps of two between them, in reverse order in memory.
struct Uneven {
  Ints counts, displs;
  int room = 0;
  explicit Uneven(int base) : counts(static_cast<std::size_t>(size)), displs(counts) {
    for (int r = size - 1; r >= 0; --r) {
      const auto at = static_cast<std::size_t>(r);
      counts[at] = (r % 4 == 1) ? 0 : base + r;
      displs[at] = room;
      room += counts[at] + 2;
    }
  }
  Ints laid_out(int to) const {
    Ints data(static_cast<std::size_t>(room), -1);
    for (int r = 0; r < size; ++r) {
      const auto at = static_cast<std::size_t>(r);
      for (int i = 0; i < counts[at]; ++i)
        data[static_cast<std::size_t>(displs[at] + i)] = value_of(r, to, i);
    }
    return data;
  }
};

void uneven_gathers(bool blocking) {
  MPI_Request request = MPI_REQUEST_NULL;
  for (int base : {0, 1, 50, 4000}) {
    const Uneven shape(base);
    const int own = shape.counts[static_cast<std::size_t>(rank)];
    const Ints in = mine(own), wanted = shape.laid_out(0);
    const int *counts = shape.counts.data(), *displs = shape.displs.data();
    for (int root = 0; root < size; ++root) {
      Ints out(static_cast<std::size_t>(shape.room), -1), part(static_cast<std::size_t>(own), -1);
      blocking
          ? MPI_Gatherv(in.data(), own, MPI_INT, out.data(), counts, displs, MPI_INT, root, kWorld)
          : MPI_Igatherv(in.data(), own, MPI_INT, out.data(), counts, displs, MPI_INT, root, kWorld,
                         &request);
      finish(request, blocking);
      if (rank == root) CHECK(out == wanted);
      blocking ? MPI_Scatterv(wanted.data(), counts, displs, MPI_INT, part.data(), own, MPI_INT,
                              root, kWorld)
               : MPI_Iscatterv(wanted.data(), counts, displs, MPI_INT, part.data(), own, MPI_INT,
                               root, kWorld, &request);
      finish(request, blocking);
      CHECK(part == in);
    }
    Ints out(static_cast<std::size_t>(shape.room), -1);
    blocking ? MPI_Allgatherv(in.data(), own, MPI_INT, out.data(), counts, displs, MPI_INT, kWorld)
             : MPI_Iallgatherv(in.data(), own, MPI_INT, out.data(), counts, displs, MPI_INT, kWorld,
                               &request);
    finish(request, blocking);
    CHECK(out == wanted);
    std::fill(out.begin(), out.end(), -1);
    const int place = shape.displs[static_cast<std::size_t>(rank)];
    std::copy(in.begin(), in.end(), out.begin() + place);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out.data(), counts, displs, MPI_INT, kWorld);
    CHECK(out == wanted);
  }
}

void exchanges(bool blocking) {
  MPI_Request request = MPI_REQUEST_NULL;
  for (int n : {0, 1, 9, 700, 5000}) {
    Ints in, wanted, out(static_cast<std::size_t>(n * size), -1);
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < n; ++i) {
        in.push_back(value_of(rank, r, i));
        wanted.push_back(value_of(r, rank, i));
      }
    blocking ? MPI_Alltoall(in.data(), n, MPI_INT, out.data(), n, MPI_INT, kWorld)
             : MPI_Ialltoall(in.data(), n, MPI_INT, out.data(), n, MPI_INT, kWorld, &request);
    finish(request, blocking);
    CHECK(out == wanted);
    Ints both = in;
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, both.data(), n, MPI_INT, kWorld);
    CHECK(both == wanted);
  }
}

// Rank r sends (r + to) % 5 * base numbers to `to`, in reverse order of blocks.
void uneven_exchanges(bool blocking) {
  MPI_Request request = MPI_REQUEST_NULL;
  const auto at = [](int r) { return static_cast<std::size_t>(r); };
  for (int base : {0, 1, 30, 2000}) {
    const auto length = [base](int from, int to) { return (from + to) % 5 * base; };
    Ints scounts(at(size)), sdispls(at(size)), rcounts(at(size)), rdispls(at(size));
    int sroom = 0, rroom = 0;
    for (int r = size - 1; r >= 0; --r) {
      scounts[at(r)] = length(rank, r);
      rcounts[at(r)] = length(r, rank);
      sdispls[at(r)] = sroom;
      rdispls[at(r)] = rroom;
      sroom += scounts[at(r)] + 1;
      rroom += rcounts[at(r)] + 3;
    }
    Ints in(at(sroom), -2), out(at(rroom), -1), wanted(out);
    for (int r = 0; r < size; ++r) {
      for (int i = 0; i < scounts[at(r)]; ++i) in[at(sdispls[at(r)] + i)] = value_of(rank, r, i);
      for (int i = 0; i < rcounts[at(r)]; ++i)
        wanted[at(rdispls[at(r)] + i)] = value_of(r, rank, i);
    }
    blocking ? MPI_Alltoallv(in.data(), scounts.data(), sdispls.data(), MPI_INT, out.data(),
                             rcounts.data(), rdispls.data(), MPI_INT, kWorld)
             : MPI_Ialltoallv(in.data(), scounts.data(), sdispls.data(), MPI_INT, out.data(),
                              rcounts.data(), rdispls.data(), MPI_INT, kWorld, &request);
    finish(request, blocking);
    CHECK(out == wanted);
  }
}

}  // namespace

int main() {
  begin();
  for (bool blocking : {true, false}) {
    barrier_and_bcast(blocking);
    reductions(blocking);
    scans(blocking);
    reduce_scatters(blocking);
    gathers(blocking);
    uneven_gathers(blocking);
    exchanges(blocking);
    uneven_exchanges(blocking);
  }
  return done();
}
