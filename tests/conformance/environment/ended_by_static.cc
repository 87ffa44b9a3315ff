// MPI 5.0, 11.2.2: MPI_Initialized, MPI_Finalized and MPI_Finalize may be called for as long as
// the process runs; C++ programs do so in the destructor of a static object, which may be older
// than anything that the library made when MPI was initialised.
#include <unistd.h>

#include "check.h"

namespace {

bool deleted = false;
int on_delete(MPI_Comm /*comm*/, int /*keyval*/, void* value, void* /*state*/) {
  deleted = *static_cast<int*>(value) == 7;
  return MPI_SUCCESS;
}

struct Environment {
  int value = 7;
  ~Environment() {
    int is_initialized = 0, is_finalized = 1, sum = 0;
    MPI_Initialized(&is_initialized);
    MPI_Finalized(&is_finalized);
    const int one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();  // runs on_delete
    MPI_Finalized(&is_finalized);
    const bool good = is_initialized != 0 && is_finalized != 0 && sum == ranks::size && deleted;
    if (!good) std::fprintf(stderr, "rank %d: MPI does not work in a destructor\n", ranks::rank);
    if (!good || ranks::failures > 0) _exit(1);
  }
};

Environment& environment() {
  static Environment the_only;
  return the_only;
}

}  // namespace

int main() {
  Environment& mine = environment();  // before MPI is initialised: destroyed after what is newer
  ranks::begin();
  int keyval = MPI_KEYVAL_INVALID;
  CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, nullptr) == MPI_SUCCESS);
  CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &mine.value) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  return 0;
}
