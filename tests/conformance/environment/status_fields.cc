// MPI 5.0, 3.2.5 and 13.3: the fields of a status are read and set by functions as by name;
// basic elements are set in any type, and read back as such and as whole ones.
#include "check.h"

using namespace ranks;

namespace {

void by_name_and_by_call() {
  MPI_Status status;
  int source = -1, tag = -1, error = -1;
  CHECK(MPI_Status_set_source(&status, 17) == MPI_SUCCESS && status.MPI_SOURCE == 17);
  CHECK(MPI_Status_set_tag(&status, 18) == MPI_SUCCESS && status.MPI_TAG == 18);
  CHECK(MPI_Status_set_error(&status, MPI_ERR_TAG) == MPI_SUCCESS);
  CHECK(status.MPI_ERROR == MPI_ERR_TAG);
  status.MPI_SOURCE = 27;
  status.MPI_TAG = 28;
  status.MPI_ERROR = MPI_ERR_RANK;
  CHECK(MPI_Status_get_source(&status, &source) == MPI_SUCCESS && source == 27);
  CHECK(MPI_Status_get_tag(&status, &tag) == MPI_SUCCESS && tag == 28);
  CHECK(MPI_Status_get_error(&status, &error) == MPI_SUCCESS && error == MPI_ERR_RANK);
}

void of_a_message() {
  const int word = rank;
  int got = -1, source = -1, tag = -1;
  MPI_Status status;
  MPI_Request request;
  MPI_Isend(&word, 1, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD, &request);
  MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Status_get_source(&status, &source);
  MPI_Status_get_tag(&status, &tag);
  CHECK(source == (rank + size - 1) % size && tag == 5 && got == source);
}

void elements() {
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_SHORT, &pair);
  MPI_Type_commit(&pair);
  MPI_Status status = {};
  int count = -1, cancelled = -1;
  MPI_Count elements = -1;
  CHECK(MPI_Status_set_elements(&status, pair, 6) == MPI_SUCCESS);
  MPI_Get_count(&status, pair, &count);
  MPI_Get_elements_x(&status, pair, &elements);
  CHECK(count == 3 && elements == 6);
  const MPI_Count many = (MPI_Count{1} << 32) + 5;
  CHECK(MPI_Status_set_elements_x(&status, MPI_SHORT, many) == MPI_SUCCESS);
  MPI_Get_elements_x(&status, MPI_SHORT, &elements);
  MPI_Get_count(&status, MPI_SHORT, &count);
  CHECK(elements == many && count == MPI_UNDEFINED);
  MPI_Get_count(&status, pair, &count);
  CHECK(count == MPI_UNDEFINED);  // an odd number of shorts
  MPI_Status_set_cancelled(&status, 1);
  MPI_Test_cancelled(&status, &cancelled);
  CHECK(cancelled != 0);
  MPI_Type_free(&pair);
}

}  // namespace

int main() {
  begin();
  by_name_and_by_call();
  of_a_message();
  elements();
  return done();
}
