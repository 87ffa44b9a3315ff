// What the standard calls not significant may be anything (MPI 5.0, 6): here it points into memory
// that nobody may touch. Every collective that has such arguments, in its three ways: run, started,
// and kept and begun twice; within a group and between two.
#include <sys/mman.h>

#include <algorithm>
#include <functional>

#include "check.h"

using namespace ranks;

namespace {

char* nowhere = nullptr;  // any look at it ends the process

template <class Handle>
Handle bad() {
  return reinterpret_cast<Handle>(nowhere + 64);
}
MPI_Datatype bad_type() {
  return bad<MPI_Datatype>();
}
int* bad_ints() {
  return bad<int*>();
}
constexpr int kBadCount = -7;

using Check = std::function<void()>;

#define IN_EVERY_WAY(Run, Start, reset, check, ...)                               \
  do {                                                                            \
    MPI_Request request;                                                          \
    reset();                                                                      \
    CHECK(MPI_##Run(__VA_ARGS__) == MPI_SUCCESS);                                 \
    check();                                                                      \
    reset();                                                                      \
    CHECK(MPI_##Start(__VA_ARGS__, &request) == MPI_SUCCESS);                     \
    MPI_Wait(&request, MPI_STATUS_IGNORE);                                        \
    check();                                                                      \
    CHECK(MPI_##Run##_init(__VA_ARGS__, MPI_INFO_NULL, &request) == MPI_SUCCESS); \
    for (int i = 0; i < 2; ++i) {                                                 \
      reset();                                                                    \
      MPI_Start(&request);                                                        \
      MPI_Wait(&request, MPI_STATUS_IGNORE);                                      \
      check();                                                                    \
    }                                                                             \
    MPI_Request_free(&request);                                                   \
  } while (false)

// One side of a call: significant here, or all of it bad.
struct Side {
  explicit Side(bool is_here, int blocks, int* memory)
      : buffer(is_here ? memory : bad<int*>()),
        count(is_here ? 1 : kBadCount),
        type(is_here ? MPI_INT : bad_type()),
        ones(static_cast<std::size_t>(blocks), 1),
        places(static_cast<std::size_t>(blocks)),
        counts(is_here ? ones.data() : bad_ints()),
        displs(is_here ? places.data() : bad_ints()) {
    for (int i = 0; i < blocks; ++i) places[static_cast<std::size_t>(i)] = i;
  }
  Side(const Side&) = delete;
  void* buffer;
  int count;
  MPI_Datatype type;
  std::vector<int> ones, places;
  int *counts, *displs;
};

struct Role {
  bool gives, takes;  // in a gather; the other way round in a scatter
  int me, others;     // my number among the givers; how many give to a taker
};

void gathers(MPI_Comm comm, int root, const Role& role) {
  int mine = 100 + role.me;
  std::vector<int> all(static_cast<std::size_t>(role.others));
  const Side send(role.gives, 1, &mine), recv(role.takes, role.others, all.data());
  const Check reset = [&] { all.assign(all.size(), -1); };
  const Check check = [&] {
    for (int i = 0; i < role.others; ++i)
      CHECK(all[static_cast<std::size_t>(i)] == (role.takes ? 100 + i : -1));
  };
  IN_EVERY_WAY(Gather, Igather, reset, check, send.buffer, send.count, send.type, recv.buffer,
               recv.count, recv.type, root, comm);
  IN_EVERY_WAY(Gatherv, Igatherv, reset, check, send.buffer, send.count, send.type, recv.buffer,
               recv.counts, recv.displs, recv.type, root, comm);
}

void scatters(MPI_Comm comm, int root, const Role& role) {
  int mine = -1;
  std::vector<int> all(static_cast<std::size_t>(role.others));
  for (int i = 0; i < role.others; ++i) all[static_cast<std::size_t>(i)] = 200 + i;
  const Side send(role.takes, role.others, all.data()), recv(role.gives, 1, &mine);
  const Check reset = [&] { mine = -1; };
  const Check check = [&] { CHECK(mine == (role.gives ? 200 + role.me : -1)); };
  IN_EVERY_WAY(Scatter, Iscatter, reset, check, send.buffer, send.count, send.type, recv.buffer,
               recv.count, recv.type, root, comm);
  IN_EVERY_WAY(Scatterv, Iscatterv, reset, check, send.buffer, send.counts, send.displs, send.type,
               recv.buffer, recv.count, recv.type, root, comm);
}

void reduces(MPI_Comm comm, int root, const Role& role) {
  int mine = 1 + role.me, sum = -1;
  const bool is_here = role.gives || role.takes;
  void* const send = role.gives ? &mine : bad<int*>();
  void* const recv = role.takes ? &sum : bad<int*>();
  const int count = is_here ? 1 : kBadCount;
  const MPI_Datatype type = is_here ? MPI_INT : bad_type();
  const MPI_Op op = is_here ? MPI_SUM : bad<MPI_Op>();
  const Check reset = [&] { sum = -1; };
  const Check check = [&] {
    CHECK(sum == (role.takes ? role.others * (role.others + 1) / 2 : -1));
  };
  IN_EVERY_WAY(Reduce, Ireduce, reset, check, send, recv, count, type, op, root, comm);
}

void broadcasts(MPI_Comm comm, int root, const Role& role) {
  int word = 0;
  const bool is_here = role.gives || role.takes;
  void* const buffer = is_here ? &word : bad<int*>();
  const int count = is_here ? 1 : kBadCount;
  const MPI_Datatype type = is_here ? MPI_INT : bad_type();
  const Check reset = [&] { word = role.takes ? 300 : -1; };
  const Check check = [&] { CHECK(word == (is_here ? 300 : -1)); };
  IN_EVERY_WAY(Bcast, Ibcast, reset, check, buffer, count, type, root, comm);
}

void rooted(MPI_Comm comm, int root, const Role& role) {
  gathers(comm, root, role);
  scatters(comm, root, role);
  reduces(comm, root, role);
  broadcasts(comm, root, role);
}

// MPI_IN_PLACE: the root's other side says nothing.
void rooted_in_place(int root) {
  const bool is_root = rank == root;
  std::vector<int> all(static_cast<std::size_t>(size), 200), mine(1, 200);
  const Side many(is_root, size, all.data());
  const auto mine_at = all.begin() + root;
  const Check reset = [&] {
    all.assign(all.size(), -1);
    *mine_at = 200;
  };
  const Check check = [&] { CHECK(!is_root || all == std::vector<int>(all.size(), 200)); };
  void* const one = is_root ? MPI_IN_PLACE : mine.data();
  const int count = is_root ? kBadCount : 1;
  const MPI_Datatype type = is_root ? bad_type() : MPI_INT;
  IN_EVERY_WAY(Gather, Igather, reset, check, one, count, type, many.buffer, many.count, many.type,
               root, MPI_COMM_WORLD);
  IN_EVERY_WAY(Gatherv, Igatherv, reset, check, one, count, type, many.buffer, many.counts,
               many.displs, many.type, root, MPI_COMM_WORLD);
  const Check refill = [&] { all.assign(all.size(), 200), mine[0] = is_root ? 200 : -1; };
  const Check check_one = [&] { CHECK(mine[0] == 200); };
  IN_EVERY_WAY(Scatter, Iscatter, refill, check_one, many.buffer, many.count, many.type, one, count,
               type, root, MPI_COMM_WORLD);
  IN_EVERY_WAY(Scatterv, Iscatterv, refill, check_one, many.buffer, many.counts, many.displs,
               many.type, one, count, type, root, MPI_COMM_WORLD);
}

void all_in_place() {
  std::vector<int> all(static_cast<std::size_t>(size)), bytes(all.size());
  const Side recv(true, size, all.data());
  std::vector<MPI_Datatype> types(all.size(), MPI_INT);
  for (int i = 0; i < size; ++i) bytes[static_cast<std::size_t>(i)] = i * 4;
  const Check only_mine = [&] {
    all.assign(all.size(), -1);
    all[static_cast<std::size_t>(rank)] = rank;
  };
  const Check gathered = [&] {
    for (int i = 0; i < size; ++i) CHECK(all[static_cast<std::size_t>(i)] == i);
  };
  IN_EVERY_WAY(Allgather, Iallgather, only_mine, gathered, MPI_IN_PLACE, kBadCount, bad_type(),
               all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  IN_EVERY_WAY(Allgatherv, Iallgatherv, only_mine, gathered, MPI_IN_PLACE, kBadCount, bad_type(),
               all.data(), recv.counts, recv.displs, MPI_INT, MPI_COMM_WORLD);
  const Check mine = [&] { all.assign(all.size(), rank); };
  IN_EVERY_WAY(Alltoall, Ialltoall, mine, gathered, MPI_IN_PLACE, kBadCount, bad_type(), all.data(),
               1, MPI_INT, MPI_COMM_WORLD);
  IN_EVERY_WAY(Alltoallv, Ialltoallv, mine, gathered, MPI_IN_PLACE, bad_ints(), bad_ints(),
               bad_type(), all.data(), recv.counts, recv.displs, MPI_INT, MPI_COMM_WORLD);
  IN_EVERY_WAY(Alltoallw, Ialltoallw, mine, gathered, MPI_IN_PLACE, bad_ints(), bad_ints(),
               bad<MPI_Datatype*>(), all.data(), recv.counts, bytes.data(), types.data(),
               MPI_COMM_WORLD);
}

// Even ranks against odd ones; the root is of the even ones.
void between_groups() {
  const bool is_even = rank % 2 == 0;
  MPI_Comm local, inter;
  MPI_Comm_split(MPI_COMM_WORLD, is_even ? 0 : 1, rank, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, is_even ? 1 : 0, 5, &inter);
  const int evens = (size + 1) / 2, odds = size / 2;
  for (int root = 0; root < evens; ++root) {
    const bool is_root = is_even && rank == 2 * root;
    const int word = is_root ? MPI_ROOT : is_even ? MPI_PROC_NULL : root;
    rooted(inter, word, {!is_even, is_root, rank / 2, odds});
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&local);
}

// What only leaders are asked for, and what MPI_UNDEFINED leaves out.
void making_communicators() {
  MPI_Comm half, inter;
  const bool is_even = rank % 2 == 0;
  MPI_Comm_split(MPI_COMM_WORLD, is_even ? 0 : 1, rank, &half);
  const bool leads = rank < 2;
  MPI_Intercomm_create(half, 0, leads ? MPI_COMM_WORLD : bad<MPI_Comm>(),
                       leads ? 1 - rank : kBadCount, 6, &inter);
  MPI_Barrier(inter);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

// Who has no neighbours to send to, or none to receive from, has no buffer for it.
void without_neighbours() {
  const int others = size - 1, to = 0;  // all others to the first
  std::vector<int> sources;
  for (int other = 1; other < size; ++other) sources.push_back(other);
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 0 ? others : 0, sources.data(),
                                 MPI_UNWEIGHTED, rank == 0 ? 0 : 1, &to, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  std::vector<int> all(static_cast<std::size_t>(rank == 0 ? others : 0));
  const int mine = 300 + rank;
  int* const into = rank == 0 && others > 0 ? all.data() : nullptr;
  const int* const from = rank == 0 ? nullptr : &mine;
  const auto is_right = [&] {
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == 301 + static_cast<int>(i));
    std::fill(all.begin(), all.end(), -1);
  };
  CHECK(MPI_Neighbor_allgather(&mine, 1, MPI_INT, into, 1, MPI_INT, graph) == MPI_SUCCESS);
  is_right();
  CHECK(MPI_Neighbor_alltoall(from, 1, MPI_INT, into, 1, MPI_INT, graph) == MPI_SUCCESS);
  is_right();
  MPI_Request request;
  CHECK(MPI_Ineighbor_alltoall(from, 1, MPI_INT, into, 1, MPI_INT, graph, &request) == MPI_SUCCESS);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  is_right();
  MPI_Comm_free(&graph);
}

}  // namespace

int main() {
  begin();
  nowhere = static_cast<char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (int root = 0; root < size; ++root) {
    rooted(MPI_COMM_WORLD, root, {true, rank == root, rank, size});
    rooted_in_place(root);
  }
  all_in_place();
  without_neighbours();
  if (size > 1) {
    between_groups();
    making_communicators();
  }
  return done();
}
