// MPI 5.0, 7.4.2: MPI_Comm_idup, several at once and beside blocking duplication; hints are not
// handed on unless they are given (7.4.4), attributes are copied at the call (7.7.2).
#include "check.h"

using namespace ranks;

namespace {

int copied = 0;

int copy(MPI_Comm, int, void*, void* in, void* out, int* flag) {
  ++copied;
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}

std::string hint(MPI_Comm comm, const char* key) {
  MPI_Info info;
  MPI_Comm_get_info(comm, &info);
  char value[64] = "";
  int room = sizeof value, flag = 0;
  MPI_Info_get_string(info, key, &room, value, &flag);
  MPI_Info_free(&info);
  return flag ? value : "";
}

int sum_over(MPI_Comm comm) {
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

}  // namespace

int main() {
  begin();
  int key = MPI_KEYVAL_INVALID, mark = 7;
  MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
  MPI_Comm parent;
  MPI_Comm_dup(MPI_COMM_WORLD, &parent);
  MPI_Comm_set_attr(parent, key, &mark);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Info_set(info, "a word nobody knows", "true");
  CHECK(hint(parent, "mpi_assert_no_any_tag") == "false");
  MPI_Comm_set_info(parent, info);
  CHECK(hint(parent, "mpi_assert_no_any_tag") == "true");
  CHECK(hint(parent, "a word nobody knows").empty());

  constexpr int kMany = 20;
  std::vector<MPI_Comm> comms(kMany);
  std::vector<MPI_Request> requests(kMany);
  for (std::size_t i = 0; i < kMany; ++i) {
    if (i % 2 == 0)
      MPI_Comm_idup(parent, &comms[i], &requests[i]);
    else
      MPI_Comm_idup_with_info(i % 4 == 1 ? parent : MPI_COMM_SELF, info, &comms[i], &requests[i]);
  }
  CHECK(copied == kMany / 2 + kMany / 4);
  MPI_Comm between;
  MPI_Comm_dup(parent, &between);  // while the others are under way
  CHECK(sum_over(between) == size);
  MPI_Waitall(kMany, requests.data(), MPI_STATUSES_IGNORE);
  for (std::size_t i = 0; i < kMany; ++i) {
    const bool alone = i % 4 == 3;
    CHECK(sum_over(comms[i]) == (alone ? 1 : size));
    CHECK(hint(comms[i], "mpi_assert_no_any_tag") == (i % 2 == 1 ? "true" : "false"));
    int flag = 0, *value = nullptr;
    MPI_Comm_get_attr(comms[i], key, &value, &flag);
    CHECK(flag == (alone ? 0 : 1) && (alone || value == &mark));
    MPI_Comm_free(&comms[i]);
  }
  MPI_Comm_free(&between);
  MPI_Comm_free(&parent);
  MPI_Info_free(&info);
  MPI_Comm_free_keyval(&key);
  return done();
}
