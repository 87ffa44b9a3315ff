// comms: making a communicator and freeing it again.
//
//   comms KIND [options]      dup, split (two halves), create (the same ranks by a group)
#include <mpi.h>

#include <cstdio>
#include <cstring>

#include "../harness/harness.h"

namespace {

class Comms final : public bench::Case {
 public:
  explicit Comms(std::string kind) : kind_(std::move(kind)) {}
  std::string name() const override { return "comms " + kind_; }
  bool has_sizes() const override { return false; }
  double bus_bytes(std::size_t) const override { return 0; }

  void prepare(std::size_t) override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_group(MPI_COMM_WORLD, &group_);
  }

  void run(long) override {
    MPI_Comm comm = make();
    MPI_Comm_free(&comm);
  }

  // Each member adds one.
  bool verify() override {
    MPI_Comm comm = make();
    int one = 1, sum = 0, expected = 0, size = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expected = kind_ == "split" ? (size + 1 - rank_ % 2) / 2 : size;
    MPI_Comm_free(&comm);
    return sum == expected;
  }

 private:
  MPI_Comm make() const {
    MPI_Comm comm = MPI_COMM_NULL;
    if (kind_ == "dup")
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else if (kind_ == "split")
      MPI_Comm_split(MPI_COMM_WORLD, rank_ % 2, rank_, &comm);
    else
      MPI_Comm_create(MPI_COMM_WORLD, group_, &comm);
    return comm;
  }

  std::string kind_;
  int rank_ = 0;
  MPI_Group group_ = MPI_GROUP_NULL;
};

}  // namespace

int main(int argc, char** argv) {
  const char* const kind = argc > 1 ? argv[1] : "";
  bool is_known = false;
  for (const char* known : {"dup", "split", "create"})
    is_known = is_known || std::strcmp(kind, known) == 0;
  if (!is_known) {
    std::fprintf(stderr, "comms: the first word is dup, split or create\n");
    return 2;
  }
  Comms what(kind);
  return bench::measure(argc - 1, argv + 1, what);
}
