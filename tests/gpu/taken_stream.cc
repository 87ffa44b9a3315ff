#include "taken.h"

CUstream stream_of_a_library() {
  CUstream made = nullptr;
  return cuStreamCreate(&made, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS ? made : nullptr;
}
