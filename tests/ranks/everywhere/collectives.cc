// Every collective in each of its three forms, and operations.
#include "everywhere.h"

namespace everywhere {
namespace {

// What rank `from` sends to rank `to`; of every thread and turn something else.
int said(const Mine& my, int from, int to) {
  return my.turn * 100000 + my.thread * 10000 + from * 100 + to;
}

struct Room {
  std::vector<int> out, in, counts, places, bytes;
  std::vector<MPI_Datatype> types;
  int root;

  explicit Room(const Mine& my)
      : out(as_size(size)),
        in(as_size(size), -1),
        counts(as_size(size), 1),
        places(as_size(size)),
        bytes(as_size(size)),
        types(as_size(size), MPI_INT),
        root(my.thread % size) {
    for (int to = 0; to < size; ++to) {
      out[as_size(to)] = said(my, rank, to);
      places[as_size(to)] = to;
      bytes[as_size(to)] = to * static_cast<int>(sizeof(int));
    }
  }
  // From every rank what it sends to `to`; forgotten again, for the next form.
  bool has_all(const Mine& my, int to) {
    bool good = true;
    for (int from = 0; from < size; ++from) good &= in[as_size(from)] == said(my, from, to);
    in.assign(as_size(size), -1);
    return good;
  }
  bool has_one(int wanted) {
    const bool good = in[0] == wanted;
    in.assign(as_size(size), -1);
    return good;
  }
};

void gathering(const Mine& my) {
  Room room(my);
  const bool is_root = rank == room.root;
  IN_THREE_FORMS(Barrier, barrier, true, my.comm);
  IN_THREE_FORMS(Allgather, allgather, room.has_all(my, 0), room.out.data(), 1, MPI_INT,
                 room.in.data(), 1, MPI_INT, my.comm);
  IN_THREE_FORMS(Allgatherv, allgatherv, room.has_all(my, 0), room.out.data(), 1, MPI_INT,
                 room.in.data(), room.counts.data(), room.places.data(), MPI_INT, my.comm);
  IN_THREE_FORMS(Gather, gather, !is_root || room.has_all(my, 0), room.out.data(), 1, MPI_INT,
                 room.in.data(), 1, MPI_INT, room.root, my.comm);
  IN_THREE_FORMS(Gatherv, gatherv, !is_root || room.has_all(my, 0), room.out.data(), 1, MPI_INT,
                 room.in.data(), room.counts.data(), room.places.data(), MPI_INT, room.root,
                 my.comm);
}

void scattering(const Mine& my) {
  Room room(my);
  const int wanted = said(my, room.root, rank);
  IN_THREE_FORMS(Scatter, scatter, room.has_one(wanted), room.out.data(), 1, MPI_INT,
                 room.in.data(), 1, MPI_INT, room.root, my.comm);
  IN_THREE_FORMS(Scatterv, scatterv, room.has_one(wanted), room.out.data(), room.counts.data(),
                 room.places.data(), MPI_INT, room.in.data(), 1, MPI_INT, room.root, my.comm);
  std::vector<int> words(5000, rank == room.root ? wanted : -1);
  IN_THREE_FORMS(Bcast, bcast, words.back() == said(my, room.root, room.root), words.data(), 5000,
                 MPI_INT, room.root, my.comm);
}

void all_to_all(const Mine& my) {
  Room room(my);
  IN_THREE_FORMS(Alltoall, alltoall, room.has_all(my, rank), room.out.data(), 1, MPI_INT,
                 room.in.data(), 1, MPI_INT, my.comm);
  IN_THREE_FORMS(Alltoallv, alltoallv, room.has_all(my, rank), room.out.data(), room.counts.data(),
                 room.places.data(), MPI_INT, room.in.data(), room.counts.data(),
                 room.places.data(), MPI_INT, my.comm);
  IN_THREE_FORMS(Alltoallw, alltoallw, room.has_all(my, rank), room.out.data(), room.counts.data(),
                 room.bytes.data(), room.types.data(), room.in.data(), room.counts.data(),
                 room.bytes.data(), room.types.data(), my.comm);
}

void add(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

void reducing(const Mine& my) {
  Room room(my);
  MPI_Op own;
  MPI_Op_create(add, my.thread % 2, &own);
  int commutes = -1;
  MPI_Op_commutative(own, &commutes);
  CHECK(commutes == my.thread % 2);
  room.out.assign(as_size(size), rank + 1);
  const int all = size * (size + 1) / 2;
  for (const MPI_Op op : {MPI_SUM, own}) {
    IN_THREE_FORMS(Allreduce, allreduce, room.has_one(all), room.out.data(), room.in.data(), 1,
                   MPI_INT, op, my.comm);
    IN_THREE_FORMS(Reduce, reduce, rank != room.root || room.has_one(all), room.out.data(),
                   room.in.data(), 1, MPI_INT, op, room.root, my.comm);
    IN_THREE_FORMS(Reduce_scatter, reduce_scatter, room.has_one(all), room.out.data(),
                   room.in.data(), room.counts.data(), MPI_INT, op, my.comm);
    IN_THREE_FORMS(Reduce_scatter_block, reduce_scatter_block, room.has_one(all), room.out.data(),
                   room.in.data(), 1, MPI_INT, op, my.comm);
    IN_THREE_FORMS(Scan, scan, room.has_one((rank + 1) * (rank + 2) / 2), room.out.data(),
                   room.in.data(), 1, MPI_INT, op, my.comm);
    IN_THREE_FORMS(Exscan, exscan, rank == 0 || room.has_one(rank * (rank + 1) / 2),
                   room.out.data(), room.in.data(), 1, MPI_INT, op, my.comm);
    int sum = 1;
    MPI_Reduce_local(&rank, &sum, 1, MPI_INT, op);
    CHECK(sum == rank + 1);
  }
  MPI_Op_free(&own);
}

// More than one under way at a time, in the order of all ranks.
void together(const Mine& my) {
  int word = rank + my.thread, sum = -1;
  std::vector<int> everyone(as_size(size), -1);
  std::array<MPI_Request, 2> requests;
  MPI_Iallgather(&word, 1, MPI_INT, everyone.data(), 1, MPI_INT, my.comm, &requests[0]);
  MPI_Iallreduce(&word, &sum, 1, MPI_INT, MPI_MIN, my.comm, &requests[1]);
  MPI_Barrier(my.comm);
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  CHECK(sum == my.thread);
  for (int r = 0; r < size; ++r) CHECK(everyone[as_size(r)] == r + my.thread);
}

constexpr std::array<Family, 5> kFamilies{gathering, scattering, all_to_all, reducing, together};

}  // namespace

std::span<const Family> collectives() {
  return kFamilies;
}

}  // namespace everywhere
