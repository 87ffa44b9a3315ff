// Every collective in every form, on memory of kinds that each rank draws: the same call on host
// memory says what has to come out.
#include <functional>
#include <numeric>

#include "area.h"

using namespace ranks;
using gpu::any_kind;

namespace {

enum Form { kBlocking, kNonblocking, kPersistent };
const Form kForms[] = {kBlocking, kNonblocking, kPersistent};

// The three forms of a collective, waited for; `after` comes behind the arguments of the first.
#define CALL(form, Name, name, ...)                                                 \
  do {                                                                              \
    MPI_Request request;                                                            \
    if ((form) == kBlocking) MPI_##Name(__VA_ARGS__, MPI_COMM_WORLD);               \
    if ((form) == kNonblocking) MPI_I##name(__VA_ARGS__, MPI_COMM_WORLD, &request); \
    if ((form) == kPersistent) {                                                    \
      MPI_##Name##_init(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &request);      \
      MPI_Start(&request);                                                          \
    }                                                                               \
    if ((form) != kBlocking) MPI_Wait(&request, MPI_STATUS_IGNORE);                 \
    if ((form) == kPersistent) MPI_Request_free(&request);                          \
  } while (false)

using Call = std::function<void(int* send, int* recv, Form form)>;

std::vector<int> filled(std::size_t count, int seed) {
  std::vector<int> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = value_of(rank, seed, static_cast<int>(i)) % 1000;
  return all;
}

void compare(const char* name, std::size_t sent, std::size_t received, const Call& call) {
  for (const Form form : kForms) {
    const std::vector<int> given = filled(sent, 1), before = filled(received, 2);
    std::vector<int> send = given, expected = before;
    call(send.data(), expected.data(), kBlocking);
    gpu::Vector<int> from(given, any_kind()), into(before, any_kind());
    call(from.data(), into.data(), form);
    const bool is_right = into.get() == expected;
    CHECK(is_right);
    if (!is_right)
      std::fprintf(stderr, "rank %d: %s, form %d, %zu elements\n", rank, name, form, received);
  }
}

int* in_place() {
  return static_cast<int*>(MPI_IN_PLACE);
}

void movement(int n) {
  const auto one = static_cast<std::size_t>(n), all = one * static_cast<std::size_t>(size);
  const int root = size - 1;
  compare("bcast", 1, one,
          [&](int*, int* recv, Form form) { CALL(form, Bcast, bcast, recv, n, MPI_INT, root); });
  compare("gather", one, all, [&](int* send, int* recv, Form form) {
    CALL(form, Gather, gather, send, n, MPI_INT, recv, n, MPI_INT, root);
  });
  compare("scatter", all, one, [&](int* send, int* recv, Form form) {
    CALL(form, Scatter, scatter, send, n, MPI_INT, recv, n, MPI_INT, root);
  });
  compare("allgather", one, all, [&](int* send, int* recv, Form form) {
    CALL(form, Allgather, allgather, send, n, MPI_INT, recv, n, MPI_INT);
  });
  compare("allgather in place", 1, all, [&](int*, int* recv, Form form) {
    CALL(form, Allgather, allgather, in_place(), 0, MPI_INT, recv, n, MPI_INT);
  });
  compare("alltoall", all, all, [&](int* send, int* recv, Form form) {
    CALL(form, Alltoall, alltoall, send, n, MPI_INT, recv, n, MPI_INT);
  });
  compare("alltoall in place", 1, all, [&](int*, int* recv, Form form) {
    CALL(form, Alltoall, alltoall, in_place(), 0, MPI_INT, recv, n, MPI_INT);
  });
}

void vectors(int n) {
  const auto p = static_cast<std::size_t>(size);
  std::vector<int> counts(p), displs(p), bytes(p);
  std::vector<MPI_Datatype> types(p, MPI_INT);
  int all = 0;
  for (std::size_t i = 0; i < p; ++i) {
    counts[i] = n + static_cast<int>(i);
    displs[i] = all + 1;
    bytes[i] = displs[i] * static_cast<int>(sizeof(int));
    all = displs[i] + counts[i];
  }
  const int mine = n + rank;
  const auto room = static_cast<std::size_t>(all), own = static_cast<std::size_t>(mine);
  const int* c = counts.data();
  const int* d = displs.data();
  // What I send to each and receive from each has to be equal: of my own number.
  std::vector<int> equal(p, mine), steps(p), step_bytes(p);
  for (std::size_t i = 0; i < p; ++i) {
    steps[i] = static_cast<int>(i) * mine;
    step_bytes[i] = steps[i] * static_cast<int>(sizeof(int));
  }
  compare("gatherv", own, room, [&](int* send, int* recv, Form form) {
    CALL(form, Gatherv, gatherv, send, mine, MPI_INT, recv, c, d, MPI_INT, 0);
  });
  compare("scatterv", room, own, [&](int* send, int* recv, Form form) {
    CALL(form, Scatterv, scatterv, send, c, d, MPI_INT, recv, mine, MPI_INT, 0);
  });
  compare("allgatherv", own, room, [&](int* send, int* recv, Form form) {
    CALL(form, Allgatherv, allgatherv, send, mine, MPI_INT, recv, c, d, MPI_INT);
  });
  compare("alltoallv", own * p, room, [&](int* send, int* recv, Form form) {
    CALL(form, Alltoallv, alltoallv, send, equal.data(), steps.data(), MPI_INT, recv, c, d,
         MPI_INT);
  });
  compare("alltoallw", own * p, room, [&](int* send, int* recv, Form form) {
    CALL(form, Alltoallw, alltoallw, send, equal.data(), step_bytes.data(), types.data(), recv, c,
         bytes.data(), types.data());
  });
  compare("reduce_scatter", room, own, [&](int* send, int* recv, Form form) {
    CALL(form, Reduce_scatter, reduce_scatter, send, recv, c, MPI_INT, MPI_SUM);
  });
}

void reductions(int n, MPI_Op op) {
  const auto one = static_cast<std::size_t>(n), all = one * static_cast<std::size_t>(size);
  compare("reduce", one, one, [&](int* send, int* recv, Form form) {
    CALL(form, Reduce, reduce, send, recv, n, MPI_INT, op, size - 1);
  });
  compare("allreduce", one, one, [&](int* send, int* recv, Form form) {
    CALL(form, Allreduce, allreduce, send, recv, n, MPI_INT, op);
  });
  compare("allreduce in place", 1, one, [&](int*, int* recv, Form form) {
    CALL(form, Allreduce, allreduce, in_place(), recv, n, MPI_INT, op);
  });
  compare("reduce_scatter_block", all, one, [&](int* send, int* recv, Form form) {
    CALL(form, Reduce_scatter_block, reduce_scatter_block, send, recv, n, MPI_INT, op);
  });
  compare("scan", one, one, [&](int* send, int* recv, Form form) {
    CALL(form, Scan, scan, send, recv, n, MPI_INT, op);
  });
  compare("exscan", one, one, [&](int* send, int* recv, Form form) {
    CALL(form, Exscan, exscan, send, recv, n, MPI_INT, op);
  });
}

// Not commutative: a then b keeps b's first digit.
void compose(void* a, void* b, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i)
    static_cast<int*>(b)[i] = static_cast<int*>(a)[i] * 3 + static_cast<int*>(b)[i];
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  MPI_Op own;
  MPI_Op_create(&compose, 0, &own);
  for (const int n : {1, 5, 3000, 40000}) {
    movement(n);
    vectors(n);
    for (const MPI_Op op : {MPI_SUM, MPI_MAX, own}) reductions(n, op);
  }
  MPI_Op_free(&own);
  return done();
}
