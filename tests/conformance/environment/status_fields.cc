// MPI 5.0, 3.2.5 and 13.3: the fields of a status are read and set by functions as by name;
// basic elements are set in any type, and read back as such and as whole ones. A call on many
// requests sets the error field of each, as programs expect, also where none has failed.
#include <algorithm>

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
  CHECK(class_of(MPI_Status_set_elements(&status, pair, -1)) == MPI_ERR_COUNT);
  CHECK(class_of(MPI_Status_set_elements_x(&status, pair, -1)) == MPI_ERR_COUNT);
  MPI_Get_elements_x(&status, MPI_SHORT, &elements);
  CHECK(elements == many);
  MPI_Status_set_cancelled(&status, 1);
  MPI_Test_cancelled(&status, &cancelled);
  CHECK(cancelled != 0);
  MPI_Type_free(&pair);
}

constexpr int kBefore = 4711;

// Two messages to oneself, the second of so many words, and two receives of one word each.
void under_way(int words, MPI_Request requests[4], MPI_Status statuses[4]) {
  static const int out[2] = {1, 2};
  static int in[2];
  for (int i = 0; i < 4; ++i) statuses[i].MPI_ERROR = kBefore;
  for (int i = 0; i < 2; ++i) {
    MPI_Isend(out, i == 0 ? 1 : words, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
    MPI_Irecv(in + i, 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[2 + i]);
  }
}

bool are_good(const MPI_Status statuses[4]) {
  return std::all_of(statuses, statuses + 4,
                     [](const MPI_Status& status) { return status.MPI_ERROR == MPI_SUCCESS; });
}
bool says_last_failed(const MPI_Status statuses[4]) {
  return std::all_of(statuses, statuses + 3,
                     [](const MPI_Status& status) { return status.MPI_ERROR == MPI_SUCCESS; }) &&
         class_of(statuses[3].MPI_ERROR) == MPI_ERR_TRUNCATE;
}

void wait_until_done(MPI_Request requests[4]) {
  for (int i = 0, is_done = 0; i < 4; i += is_done)
    MPI_Request_get_status(requests[i], &is_done, MPI_STATUS_IGNORE);
}

void error_field_of_many() {
  MPI_Request requests[4];
  MPI_Status statuses[4];
  int flag = 0, count = 0, indices[4];
  under_way(1, requests, statuses);
  CHECK(MPI_Waitall(4, requests, statuses) == MPI_SUCCESS && are_good(statuses));
  under_way(1, requests, statuses);
  wait_until_done(requests);
  CHECK(MPI_Testall(4, requests, &flag, statuses) == MPI_SUCCESS && flag && are_good(statuses));
  under_way(1, requests, statuses);
  wait_until_done(requests);
  CHECK(MPI_Waitsome(4, requests, &count, indices, statuses) == MPI_SUCCESS && count == 4);
  CHECK(are_good(statuses));
  under_way(2, requests, statuses);
  wait_until_done(requests);
  CHECK(class_of(MPI_Waitall(4, requests, statuses)) == MPI_ERR_IN_STATUS);
  CHECK(says_last_failed(statuses));
  under_way(2, requests, statuses);
  wait_until_done(requests);
  CHECK(class_of(MPI_Testsome(4, requests, &count, indices, statuses)) == MPI_ERR_IN_STATUS);
  CHECK(count == 4 && says_last_failed(statuses));
}

// An empty status is whole, its error field too.
void error_field_of_none() {
  MPI_Request none = MPI_REQUEST_NULL;
  MPI_Status status;
  status.MPI_ERROR = kBefore;
  CHECK(MPI_Waitall(1, &none, &status) == MPI_SUCCESS && status.MPI_ERROR == MPI_SUCCESS);
}

}  // namespace

int main() {
  begin();
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  by_name_and_by_call();
  of_a_message();
  elements();
  error_field_of_many();
  error_field_of_none();
  return done();
}
