// NCCL that fails, somehow, with one member or all (STANDIN_NCCL_FAIL says how): each call of GPU
// memory then goes by ours, or ends with an error on every member, and none waits for ever; later
// calls are good. The first word says what is to be: falls (every call is good), missed (likewise,
// but on one communicator only, since each takes a minute), breaks (one call ends with an error on
// all members), differs (members say different sizes: an error on all).
#include "area.h"
#include "served.h"

using namespace ranks;
using gpu::Kind;
using gpu::Vector;

namespace {

const std::size_t kCount = 50000;

int sum(MPI_Comm comm, int wanted) {
  Vector<int> send(std::vector<int>(kCount, 1), Kind::device),
      recv(std::vector<int>(kCount), Kind::device);
  const int code =
      MPI_Allreduce(send.data(), recv.data(), static_cast<int>(kCount), MPI_INT, MPI_SUM, comm);
  if (code == MPI_SUCCESS) CHECK(recv.get() == std::vector<int>(kCount, wanted));
  return code;
}

// Rank 1 says that it gives rank 0 more than that takes: NCCL would wait for ever.
void differ_in_sizes() {
  const auto p = static_cast<std::size_t>(size);
  const int count = static_cast<int>(kCount), stride = count + 1;
  std::vector<int> gives(p, count), displs(p);
  const std::vector<int> takes(p, count);
  if (rank == 1) gives[0] = count + 1;
  for (int member = 0; member < size; ++member)
    displs[static_cast<std::size_t>(member)] = member * stride;
  const std::vector<int> ones((kCount + 1) * p, 1);
  Vector<int> send(ones, Kind::device), recv(ones, Kind::device);
  const int code = MPI_Alltoallv(send.data(), gives.data(), displs.data(), MPI_INT, recv.data(),
                                 takes.data(), displs.data(), MPI_INT, MPI_COMM_WORLD);
  int error_class = 0;
  MPI_Error_class(code, &error_class);
  CHECK(error_class == MPI_ERR_TRUNCATE);
  CHECK(sum(MPI_COMM_WORLD, size) == MPI_SUCCESS);
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  gpu::begin();
  const std::string what = argc > 1 ? argv[1] : "falls";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (what == "differs") {
    differ_in_sizes();
    if (rank == 0) std::printf("all are through\n");
    return done();
  }
  int failed = 0;
  for (int call = 0; call < 12; ++call) failed += sum(MPI_COMM_WORLD, size) == MPI_SUCCESS ? 0 : 1;
  CHECK(failed == (what == "breaks" ? 1 : 0));
  if (what == "missed") {
    if (rank == 0) std::printf("all are through\n");
    return done();
  }
  // A communicator of its own, on the same GPU: nothing of that is left there.
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
  failed = 0;
  for (int call = 0; call < 6; ++call) failed += sum(other, size) == MPI_SUCCESS ? 0 : 1;
  CHECK(failed <= (what == "breaks" ? 1 : 0));
  MPI_Comm_free(&other);
  if (rank == 0) std::printf("all are through\n");
  return done();
}
