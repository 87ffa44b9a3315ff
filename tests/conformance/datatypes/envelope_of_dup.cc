// MPI 5.0, 5.1.10 and 5.1.13: a duplicate has the type map, bounds and committed state of the
// old type, but an envelope of its own: MPI_COMBINER_DUP over the old type. A decoded derived
// type is a handle that the user frees; a predefined one is the very constant.
#include "check.h"

using namespace ranks;

namespace {

void check_dup(MPI_Datatype old, bool predefined) {
  MPI_Datatype copy = MPI_DATATYPE_NULL, inner = MPI_DATATYPE_NULL;
  CHECK(MPI_Type_dup(old, &copy) == MPI_SUCCESS);
  int integers = -1, addresses = -1, types = -1, combiner = -1;
  MPI_Type_get_envelope(copy, &integers, &addresses, &types, &combiner);
  CHECK(integers == 0 && addresses == 0 && types == 1 && combiner == MPI_COMBINER_DUP);
  MPI_Type_get_contents(copy, 0, 0, 1, nullptr, nullptr, &inner);
  if (predefined) CHECK(inner == old);
  MPI_Aint lower[2], extent[2];
  MPI_Type_get_extent(old, &lower[0], &extent[0]);
  MPI_Type_get_extent(inner, &lower[1], &extent[1]);
  CHECK(lower[0] == lower[1] && extent[0] == extent[1]);
  if (!predefined) MPI_Type_free(&inner);
  MPI_Type_free(&copy);
  CHECK(copy == MPI_DATATYPE_NULL);
}

}  // namespace

int main() {
  begin();
  check_dup(MPI_DOUBLE_INT, true);
  MPI_Datatype vector;
  MPI_Type_vector(2, 1, 3, MPI_SHORT, &vector);
  check_dup(vector, false);
  MPI_Type_commit(&vector);
  MPI_Datatype copy;
  MPI_Type_dup(vector, &copy);
  MPI_Type_free(&vector);
  // The copy of a committed type is committed: it may carry a message at once.
  short out[4] = {1, 2, 3, 4}, in[4] = {};
  MPI_Sendrecv(out, 1, copy, rank, 0, in, 1, copy, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(in[0] == 1 && in[1] == 0 && in[2] == 0 && in[3] == 4);
  MPI_Type_free(&copy);
  return done();
}
