// mpi-ext.h's functions: which GPU memory calls take. They are no functions of MPI: no error
// handler hears of them, no tool counts them.
#include <mpi-ext.h>

#include "mpi/exported.h"
#include "mpi/memory_kinds.h"

using namespace tutti;       // NOLINT(google-build-using-namespace): C functions
using namespace tutti::mpi;  // NOLINT(google-build-using-namespace): C functions

TUTTI_EXPORTED int MPIX_Query_cuda_support(void) {
  return takes_memory(MemoryKind::cuda, true) ? 1 : 0;
}

TUTTI_EXPORTED int MPIX_Query_hip_support(void) {
  return 0;
}

TUTTI_EXPORTED int MPIX_Query_rocm_support(void) {
  return 0;
}

TUTTI_EXPORTED int MPIX_Query_ze_support(void) {
  return 0;
}

TUTTI_EXPORTED int MPIX_GPU_query_support(int gpu_type, int* is_supported) {
  if (is_supported == nullptr || gpu_type < MPIX_GPU_SUPPORT_CUDA ||
      gpu_type > MPIX_GPU_SUPPORT_HIP)
    return MPI_ERR_ARG;
  *is_supported = gpu_type == MPIX_GPU_SUPPORT_CUDA ? MPIX_Query_cuda_support() : 0;
  return MPI_SUCCESS;
}
