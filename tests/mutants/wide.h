// What the generated library of wide calls needs: arrays of ints as arrays of large counts, and
// the shape of a communicator that says how long they are.
//
// The names of Shape are those that the generator of entry points uses, so one rule for lengths
// and absent arguments serves both.
#pragma once

#include <mpi.h>

#include <limits>
#include <vector>

namespace wide {

struct Peers {
  int count;
  int size() const { return count; }
};

class Shape {
 public:
  explicit Shape(MPI_Comm comm) : comm_(comm) {
    if (comm == MPI_COMM_NULL) return;
    PMPI_Comm_rank(comm, &rank_);
    PMPI_Comm_size(comm, &size_);
    PMPI_Comm_test_inter(comm, &is_inter_);
    peers_ = {size_};
    if (is_inter_ != 0) PMPI_Comm_remote_size(comm, &peers_.count);
    neighbours();
  }
  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_inter() const { return is_inter_ != 0; }
  Peers peers() const { return peers_; }
  int in() const { return in_; }
  int out() const { return out_; }

 private:
  void neighbours() {
    int kind = MPI_UNDEFINED, weighted = 0;
    if (is_inter_ == 0) PMPI_Topo_test(comm_, &kind);
    if (kind == MPI_DIST_GRAPH) PMPI_Dist_graph_neighbors_count(comm_, &in_, &out_, &weighted);
    if (kind == MPI_GRAPH) PMPI_Graph_neighbors_count(comm_, rank_, &in_);
    if (kind == MPI_CART) PMPI_Cartdim_get(comm_, &in_);
    if (kind == MPI_CART) in_ *= 2;
    if (kind != MPI_DIST_GRAPH) out_ = in_;
  }

  MPI_Comm comm_;
  int rank_ = 0, size_ = 0, is_inter_ = 0, in_ = 0, out_ = 0;
  Peers peers_{0};
};

inline int indegree_of(const Shape& shape) {
  return shape.in();
}
inline int outdegree_of(const Shape& shape) {
  return shape.out();
}
inline bool is_in_place(const void* buffer) {
  return buffer == MPI_IN_PLACE;
}
inline bool is_root(const Shape* shape, int root) {
  return shape->is_inter() ? root == MPI_ROOT : root == shape->rank();
}
inline bool is_idle(const Shape* shape, int root) {
  return shape->is_inter() && root == MPI_PROC_NULL;
}
inline bool is_idle_or_root(const Shape* shape, int root) {
  return shape->is_inter() && (root == MPI_PROC_NULL || root == MPI_ROOT);
}

template <typename Wide>
class Array {
 public:
  Array(const int* numbers, int size) {
    if (numbers != nullptr) numbers_.assign(numbers, numbers + size);
    if (numbers != nullptr && size == 0) numbers_.resize(1);
  }
  const Wide* data() const { return numbers_.empty() ? nullptr : numbers_.data(); }

 private:
  std::vector<Wide> numbers_;
};

template <typename Wide, typename Narrow>
void narrow(Wide from, Narrow* to) {
  if (to == nullptr) return;
  const bool fits =
      from <= std::numeric_limits<Narrow>::max() && from >= std::numeric_limits<Narrow>::min();
  *to = fits ? static_cast<Narrow>(from) : Narrow{MPI_UNDEFINED};
}

}  // namespace wide
