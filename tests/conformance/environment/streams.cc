// mpi-ext.h: streams where there is no GPU. Those of the host can be made, attached and asked for;
// those of a GPU, and calls in streams, are refused with an error that says why.
#include <mpi-ext.h>

#include "../../ranks/check.h"

using namespace ranks;

namespace {

void of_a_gpu() {
  void* const handle = nullptr;
  MPIX_Stream stream = MPIX_STREAM_NULL;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "type", "cudaStream_t");
  CHECK(class_of(MPIX_Stream_create(info, &stream)) == MPI_ERR_INFO_VALUE);
  CHECK(MPIX_Info_set_hex(info, "value", &handle, sizeof handle) == MPI_SUCCESS);
  const int refused = class_of(MPIX_Stream_create(info, &stream));
  // With a GPU's driver: this program has not loaded CUDA.
  CHECK(refused == MPI_ERR_UNSUPPORTED_OPERATION ||
        (MPIX_Query_cuda_support() == 1 && refused == MPI_ERR_ARG));
  CHECK(stream == MPIX_STREAM_NULL);
  MPI_Info_set(info, "type", "a type of nobody's");
  CHECK(class_of(MPIX_Stream_create(info, &stream)) == MPI_ERR_UNSUPPORTED_OPERATION);
  MPI_Info_free(&info);
}

void of_the_host() {
  MPIX_Stream stream = MPIX_STREAM_NULL, found = MPIX_STREAM_NULL;
  CHECK(MPIX_Stream_create(MPI_INFO_NULL, &stream) == MPI_SUCCESS && stream != MPIX_STREAM_NULL);
  MPI_Comm comm, none, copy;
  CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm) == MPI_SUCCESS);
  CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, MPIX_STREAM_NULL, &none) == MPI_SUCCESS);
  CHECK(MPIX_Comm_get_stream(comm, 0, &found) == MPI_SUCCESS && found == stream);
  MPI_Comm_dup(comm, &copy);
  CHECK(MPIX_Comm_get_stream(copy, 0, &found) == MPI_SUCCESS && found == stream);
  CHECK(MPIX_Comm_get_stream(none, 0, &found) == MPI_SUCCESS && found == MPIX_STREAM_NULL);
  int word = rank, sum = 0;
  MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, comm);  // ordinary calls work there
  CHECK(sum == size * (size - 1) / 2);
  for (MPI_Comm on : {comm, none, MPI_COMM_WORLD}) {
    CHECK(class_of(MPIX_Barrier_enqueue(on)) == MPI_ERR_COMM);
    CHECK(class_of(MPIX_Allreduce_enqueue(&word, &sum, 1, MPI_INT, MPI_SUM, on)) == MPI_ERR_COMM);
    CHECK(class_of(MPIX_Send_enqueue(&word, 1, MPI_INT, 0, 0, on)) == MPI_ERR_COMM);
  }
  for (MPI_Comm* each : {&copy, &none, &comm}) MPI_Comm_free(each);
  CHECK(MPIX_Stream_free(&stream) == MPI_SUCCESS && stream == MPIX_STREAM_NULL);
  CHECK(class_of(MPIX_Stream_free(&stream)) == MPI_ERR_ARG);
}

}  // namespace

int main() {
  begin();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  of_a_gpu();
  of_the_host();
  return done();
}
