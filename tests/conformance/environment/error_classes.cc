// MPI 5.0, 9.4: the class of each error that a program can make, besides the bad arguments that
// are tried one by one for every call: shapes, infos, memory, statuses of many, arrays too short.
#include <climits>

#include "check.h"

using namespace ranks;

namespace {

void shapes() {
  int dims[2] = {0, 3}, coords[2] = {0, 0};
  CHECK(class_of(MPI_Cart_coords(MPI_COMM_WORLD, 0, 2, coords)) == MPI_ERR_TOPOLOGY);
  CHECK(class_of(MPI_Cartdim_get(MPI_COMM_WORLD, dims)) == MPI_ERR_TOPOLOGY);
  CHECK(class_of(MPI_Graph_neighbors_count(MPI_COMM_WORLD, 0, dims)) == MPI_ERR_TOPOLOGY);
  dims[0] = 0;
  dims[1] = 3;
  CHECK(class_of(MPI_Dims_create(7, 2, dims)) == MPI_ERR_DIMS);
}

void infos() {
  MPI_Info info;
  MPI_Info_create(&info);
  const std::string long_key(MPI_MAX_INFO_KEY + 1, 'k'), long_value(MPI_MAX_INFO_VAL + 1, 'v');
  CHECK(class_of(MPI_Info_set(info, long_key.c_str(), "value")) == MPI_ERR_INFO_KEY);
  CHECK(class_of(MPI_Info_set(info, "", "value")) == MPI_ERR_INFO_KEY);
  CHECK(class_of(MPI_Info_set(info, "key", long_value.c_str())) == MPI_ERR_INFO_VALUE);
  CHECK(class_of(MPI_Info_delete(info, "nobody set it")) == MPI_ERR_INFO_NOKEY);
  char key[MPI_MAX_INFO_KEY];
  CHECK(class_of(MPI_Info_get_nthkey(info, 0, key)) == MPI_ERR_ARG);
  MPI_Info_free(&info);
}

void memory() {
  void* memory = nullptr;
  CHECK(class_of(MPI_Alloc_mem(PTRDIFF_MAX - 4096, MPI_INFO_NULL, &memory)) == MPI_ERR_NO_MEM);
}

// One receive too short, one fine.
void of_many() {
  const int words[2] = {1, 2};
  int in[2] = {-1, -1};
  MPI_Request requests[2];
  MPI_Irecv(&in[0], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
  MPI_Irecv(&in[1], 1, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[1]);
  MPI_Send(words, 2, MPI_INT, 0, 1, MPI_COMM_SELF);
  MPI_Send(words, 1, MPI_INT, 0, 2, MPI_COMM_SELF);
  MPI_Status statuses[2];
  CHECK(class_of(MPI_Waitall(2, requests, statuses)) == MPI_ERR_IN_STATUS);
  CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
  CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS || statuses[1].MPI_ERROR == MPI_ERR_PENDING);
  CHECK(MPI_Waitall(2, requests, statuses) == MPI_SUCCESS && in[1] == 1);
}

void numbers() {
  int error_class = 0, keyval = MPI_KEYVAL_INVALID;
  CHECK(class_of(MPI_Error_class(INT_MAX, &error_class)) == MPI_ERR_ARG);
  CHECK(class_of(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr)) == MPI_ERR_KEYVAL);
}

}  // namespace

int main() {
  begin();
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  shapes();
  infos();
  memory();
  of_many();
  numbers();
  return done();
}
