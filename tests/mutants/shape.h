// shape: what a communicator says of the lengths of arrays, for generated libraries that are
// preloaded.
//
// The names are those that the generator of entry points uses, so one rule for lengths and absent
// arguments serves all. Of what is no communicator everything is 0.
#pragma once

#include <mpi.h>

namespace shape {

struct Peers {
  int count;
  int size() const { return count; }
};

class Shape {
 public:
  explicit Shape(MPI_Comm comm) : comm_(comm) {
    if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &is_inter_) != MPI_SUCCESS) return;
    PMPI_Comm_rank(comm, &rank_);
    PMPI_Comm_size(comm, &size_);
    peers_ = {size_};
    if (is_inter_ != 0) PMPI_Comm_remote_size(comm, &peers_.count);
    neighbours();
  }
  MPI_Comm comm() const { return comm_; }
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

}  // namespace shape
