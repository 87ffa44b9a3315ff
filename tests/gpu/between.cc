// Collectives of neighbours, on a ring and on a drawn graph, and between two groups.
#include "drawn.h"

using namespace ranks;

namespace gpu {
namespace {

// Who sends to whom, in turn, and how many elements.
class Neighbours {
 public:
  Neighbours(MPI_Comm over, std::vector<int> sources, std::vector<int> targets, int n)
      : comm(over), from(std::move(sources)), to(std::move(targets)) {
    lay_out(n, from, recv_counts, recv_places, &received,
            [](int other) { return 3 * other + rank; });
    lay_out(n, to, send_counts, send_places, &sent, [](int other) { return 3 * rank + other; });
    equal = n;
  }
  int sources() const { return static_cast<int>(from.size()); }
  int targets() const { return static_cast<int>(to.size()); }
  static std::vector<MPI_Aint> bytes(const std::vector<int>& places, const Element& element) {
    std::vector<MPI_Aint> all;
    for (const int place : places)
      all.push_back(static_cast<MPI_Aint>(static_cast<std::size_t>(place) * element.extent));
    return all;
  }

  const MPI_Comm comm;
  const std::vector<int> from, to;
  std::vector<int> send_counts, send_places, recv_counts, recv_places;
  int sent = 0, received = 0, equal = 0;

 private:
  template <class Edge>
  static void lay_out(int n, const std::vector<int>& others, std::vector<int>& counts,
                      std::vector<int>& places, int* all, Edge edge) {
    for (const int other : others) {
      places.push_back(*all + 1);
      counts.push_back(n + edge(other) % 4);
      *all = places.back() + counts.back();
    }
  }
};

void gather(const Neighbours& of) {
  const int n = of.equal;
  compare("neighbor_allgather", any_sort(), {n, n * of.sources()}, [&](const Sides& s) {
    CALL(s.form, Neighbor_allgather, neighbor_allgather, s.send, n, s.from.type, s.recv, n,
         s.into.type, of.comm);
  });
  // What each sends is of one length to all: its own.
  std::vector<int> counts, places;
  int all = 0;
  for (const int source : of.from) {
    places.push_back(all + 1);
    counts.push_back(n + source % 3);
    all = places.back() + counts.back();
  }
  compare("neighbor_allgatherv", any_sort(), {n + rank % 3, all}, [&](const Sides& s) {
    CALL(s.form, Neighbor_allgatherv, neighbor_allgatherv, s.send, n + rank % 3, s.from.type,
         s.recv, counts.data(), places.data(), s.into.type, of.comm);
  });
}

void cross(const Neighbours& of) {
  const int n = of.equal;
  compare("neighbor_alltoall", any_sort(), {n * of.targets(), n * of.sources()},
          [&](const Sides& s) {
            CALL(s.form, Neighbor_alltoall, neighbor_alltoall, s.send, n, s.from.type, s.recv, n,
                 s.into.type, of.comm);
          });
  compare("neighbor_alltoallv", any_sort(), {of.sent, of.received}, [&](const Sides& s) {
    CALL(s.form, Neighbor_alltoallv, neighbor_alltoallv, s.send, of.send_counts.data(),
         of.send_places.data(), s.from.type, s.recv, of.recv_counts.data(), of.recv_places.data(),
         s.into.type, of.comm);
  });
  compare("neighbor_alltoallw", any_sort(), {of.sent, of.received}, [&](const Sides& s) {
    const std::vector<MPI_Datatype> from(of.to.size(), s.from.type),
        into(of.from.size(), s.into.type);
    const auto send_places = Neighbours::bytes(of.send_places, s.from),
               recv_places = Neighbours::bytes(of.recv_places, s.into);
    CALL(s.form, Neighbor_alltoallw, neighbor_alltoallw, s.send, of.send_counts.data(),
         send_places.data(), from.data(), s.recv, of.recv_counts.data(), recv_places.data(),
         into.data(), of.comm);
  });
}

MPI_Comm ring() {
  MPI_Comm made = MPI_COMM_NULL;
  const int periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &made);
  return made;
}

}  // namespace

void between_neighbours(int n) {
  MPI_Comm comm = ring();
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  const Neighbours beside(comm, {left, right}, {left, right}, n);
  gather(beside);
  cross(beside);
  MPI_Comm_free(&comm);

  std::vector<int> sources, targets;
  for (int from = 0; from < size; ++from)
    for (int to = 0; to < size; ++to)
      if (drawn_alike(2) == 0) {
        if (to == rank) sources.push_back(from);
        if (from == rank) targets.push_back(to);
      }
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(),
                                 MPI_UNWEIGHTED, static_cast<int>(targets.size()), targets.data(),
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
  const Neighbours drawn(comm, sources, targets, n);
  gather(drawn);
  cross(drawn);
  MPI_Comm_free(&comm);
}

namespace {

// Ranks of even number and those of odd: groups of other sizes where there are three.
struct Groups {
  Groups() {
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &comm);
    MPI_Comm_size(own, &here);
    MPI_Comm_remote_size(comm, &there);
  }
  ~Groups() {
    MPI_Comm_free(&comm);
    MPI_Comm_free(&own);
  }
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;
  // The root is the first of the even, or of the odd.
  int root(int side) const {
    if (rank % 2 != side) return 0;
    return rank == side ? MPI_ROOT : MPI_PROC_NULL;
  }
  MPI_Comm own = MPI_COMM_NULL, comm = MPI_COMM_NULL;
  int here = 0, there = 0;
};

// What each of the others gives or takes, with a hole before it.
struct Lengths {
  Lengths(const Groups& of, int n) {
    for (int other = 0; other < of.there; ++other) {
      places.push_back(all + 1);
      counts.push_back(n + other % 2);
      all = places.back() + counts.back();
    }
    MPI_Comm_rank(of.comm, &me);
  }
  std::vector<int> counts, places;
  int all = 0, me = 0;  // elements; this rank in its group
};

void with_root(const Groups& of, int n) {
  const int root = of.root(drawn_alike(2));
  const int all = n * of.there;
  compare("bcast between", any_sort(), {0, n}, [&](const Sides& s) {
    CALL(s.form, Bcast, bcast, s.recv, n, s.into.type, root, of.comm);
  });
  compare("gather between", any_sort(), {n, all}, [&](const Sides& s) {
    CALL(s.form, Gather, gather, s.send, n, s.from.type, s.recv, n, s.into.type, root, of.comm);
  });
  compare("scatter between", any_sort(), {all, n}, [&](const Sides& s) {
    CALL(s.form, Scatter, scatter, s.send, n, s.from.type, s.recv, n, s.into.type, root, of.comm);
  });
  const Lengths of_each(of, n);
  const int *const c = of_each.counts.data(), *const d = of_each.places.data();
  const int mine = n + of_each.me % 2;
  compare("gatherv between", any_sort(), {mine, of_each.all}, [&](const Sides& s) {
    CALL(s.form, Gatherv, gatherv, s.send, mine, s.from.type, s.recv, c, d, s.into.type, root,
         of.comm);
  });
  compare("scatterv between", any_sort(), {of_each.all, mine}, [&](const Sides& s) {
    CALL(s.form, Scatterv, scatterv, s.send, c, d, s.from.type, s.recv, mine, s.into.type, root,
         of.comm);
  });
  compare("reduce between", any_operands(), {n, n}, [&](const Sides& s) {
    CALL(s.form, Reduce, reduce, s.send, s.recv, n, s.into.type, s.op, root, of.comm);
  });
}

void crossed(const Groups& of, int n) {
  const int all = n * of.there;
  const Lengths of_each(of, n);
  const int mine = n + of_each.me % 2, sum = of_each.all;
  const std::vector<int>& places = of_each.places;
  compare("allgather between", any_sort(), {n, all}, [&](const Sides& s) {
    CALL(s.form, Allgather, allgather, s.send, n, s.from.type, s.recv, n, s.into.type, of.comm);
  });
  compare("allgatherv between", any_sort(), {mine, sum}, [&](const Sides& s) {
    CALL(s.form, Allgatherv, allgatherv, s.send, mine, s.from.type, s.recv, of_each.counts.data(),
         places.data(), s.into.type, of.comm);
  });
  compare("alltoall between", any_sort(), {all, all}, [&](const Sides& s) {
    CALL(s.form, Alltoall, alltoall, s.send, n, s.from.type, s.recv, n, s.into.type, of.comm);
  });
  const std::vector<int> equal(static_cast<std::size_t>(of.there), n);
  compare("alltoallv between", any_sort(), {sum, sum}, [&](const Sides& s) {
    CALL(s.form, Alltoallv, alltoallv, s.send, equal.data(), places.data(), s.from.type, s.recv,
         equal.data(), places.data(), s.into.type, of.comm);
  });
  compare("alltoallw between", any_sort(), {sum, sum}, [&](const Sides& s) {
    const std::vector<MPI_Datatype> from(equal.size(), s.from.type),
        into(equal.size(), s.into.type);
    const auto bytes_of = [&](const Element& element) {
      std::vector<int> bytes = places;
      for (int& place : bytes) place *= static_cast<int>(element.extent);
      return bytes;
    };
    const auto send_places = bytes_of(s.from), recv_places = bytes_of(s.into);
    CALL(s.form, Alltoallw, alltoallw, s.send, equal.data(), send_places.data(), from.data(),
         s.recv, equal.data(), recv_places.data(), into.data(), of.comm);
  });
}

void reduced(const Groups& of, int n) {
  compare("allreduce between", any_operands(), {n, n}, [&](const Sides& s) {
    CALL(s.form, Allreduce, allreduce, s.send, s.recv, n, s.into.type, s.op, of.comm);
  });
  // Both groups give equally much, whatever their sizes.
  const int all = n * of.here * of.there, part = n * of.there;
  const std::vector<int> parts(static_cast<std::size_t>(of.here), part);
  compare("reduce_scatter_block between", any_operands(), {all, part}, [&](const Sides& s) {
    CALL(s.form, Reduce_scatter_block, reduce_scatter_block, s.send, s.recv, part, s.into.type,
         s.op, of.comm);
  });
  compare("reduce_scatter between", any_operands(), {all, part}, [&](const Sides& s) {
    CALL(s.form, Reduce_scatter, reduce_scatter, s.send, s.recv, parts.data(), s.into.type, s.op,
         of.comm);
  });
}

}  // namespace

void between_groups(int n) {
  const Groups groups;
  with_root(groups, n);
  crossed(groups, n);
  CALL(static_cast<Form>(drawn_alike(3)), Barrier, barrier, groups.comm);
  reduced(groups, n);
}

}  // namespace gpu
