// Chapters 3 and 13: what a status says, and setting one.
#include "bodies.h"
#include "mpi/convert.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {

Code get_count(const MPI_Status* status, types::Datatype& datatype, Count* count) {
  const Count bytes = bytes_in(*status);
  const Count size = datatype.size();
  const bool is_whole = size == 0 ? bytes == 0 : bytes % size == 0;
  if (is_whole)
    *count = size == 0 ? 0 : bytes / size;
  else
    *count = MPI_UNDEFINED;
  return Code::ok;
}

Code test_cancelled(const MPI_Status* status, int* flag) {
  *flag = is_cancelled(*status);
  return Code::ok;
}

Code status_set_cancelled(MPI_Status* status, int flag) {
  set_cancelled(*status, flag != 0);
  return Code::ok;
}

Code status_get_error(const MPI_Status* status, int* error) {
  *error = status->MPI_ERROR;
  return Code::ok;
}
Code status_get_source(const MPI_Status* status, int* source) {
  *source = status->MPI_SOURCE;
  return Code::ok;
}
Code status_get_tag(const MPI_Status* status, int* tag) {
  *tag = status->MPI_TAG;
  return Code::ok;
}
Code status_set_error(MPI_Status* status, int error) {
  status->MPI_ERROR = error;
  return Code::ok;
}
Code status_set_source(MPI_Status* status, int source) {
  status->MPI_SOURCE = source;
  return Code::ok;
}
Code status_set_tag(MPI_Status* status, int tag) {
  status->MPI_TAG = tag;
  return Code::ok;
}

}  // namespace tutti::mpi::body
