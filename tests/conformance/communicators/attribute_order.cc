// MPI 5.0, 7.7.1 and 11.2.4: delete functions run newest first, before anything else of
// MPI_Finalize on MPI_COMM_SELF; a copy function may say no; a failing delete keeps the object.
#include "check.h"

using namespace ranks;

namespace {

std::vector<long> deleted;
bool refuse = false;
int initialized_then = -1;

int remove(MPI_Comm, int, void* value, void*) {
  if (refuse) return MPI_ERR_OTHER;
  deleted.push_back(*static_cast<long*>(value));
  return MPI_SUCCESS;
}
int copy_odd(MPI_Comm, int, void*, void* in, void* out, int* flag) {
  *flag = static_cast<int>(*static_cast<long*>(in) % 2);
  *static_cast<void**>(out) = in;
  return MPI_SUCCESS;
}
int at_end(MPI_Comm, int, void*, void*) {
  int one = 1, sum = 0;  // MPI still works here
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  initialized_then = sum;
  return MPI_SUCCESS;
}

}  // namespace

int main() {
  begin();
  long numbers[4] = {0, 1, 2, 3};
  int keys[4];
  for (int& key : keys) MPI_Comm_create_keyval(copy_odd, remove, &key, nullptr);
  MPI_Comm comm, copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (const int i : {2, 0, 3, 1}) MPI_Comm_set_attr(comm, keys[i], &numbers[i]);
  MPI_Comm_dup(comm, &copy);
  for (int i = 0; i < 4; ++i) {
    long* value = nullptr;
    int flag = -1;
    MPI_Comm_get_attr(copy, keys[i], &value, &flag);
    CHECK(flag == i % 2);
  }
  MPI_Comm_free(&copy);
  deleted.clear();
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  refuse = true;
  CHECK(MPI_Comm_free(&comm) != MPI_SUCCESS);
  refuse = false;
  MPI_Comm_free(&comm);
  CHECK((deleted == std::vector<long>{1, 3, 0, 2}));
  for (int& key : keys) MPI_Comm_free_keyval(&key);
  int last = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &last, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, last, nullptr);
  int same = last;
  MPI_Comm_free_keyval(&last);
  CHECK(MPI_Comm_free_keyval(&same) == MPI_SUCCESS);  // a key that is still in use
  CHECK(last == MPI_KEYVAL_INVALID && same == MPI_KEYVAL_INVALID);
  const int n = size;
  const int status = done();
  CHECK(initialized_then == n);
  return status != 0 || failures != 0;
}
