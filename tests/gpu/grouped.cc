// grouped: two communicators, or two streams, in one group of the stand-in NCCL: a real one serves
// them, the stand-in says that it does not.
#include <cuda.h>
#include <nccl.h>

#include <cstdlib>

namespace {

void must(bool is_so) {
  if (!is_so) std::exit(3);
}

ncclComm_t alone() {
  ncclUniqueId id;
  ncclComm_t made = nullptr;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  must(ncclGetUniqueId(&id) == ncclSuccess);
  must(ncclCommInitRankConfig(&made, 1, id, 0, &config) == ncclInProgress);
  for (ncclResult_t state = ncclInProgress; state == ncclInProgress;)
    must(ncclCommGetAsyncError(made, &state) == ncclSuccess);
  return made;
}

struct Buffers {
  CUdeviceptr from = 0, into = 0;
};

ncclResult_t sum(const Buffers& of, ncclComm_t comm, CUstream stream) {
  return ncclAllReduce(reinterpret_cast<const void*>(of.from), reinterpret_cast<void*>(of.into), 1,
                       ncclInt32, ncclSum, comm, reinterpret_cast<cudaStream_t>(stream));
}
ncclResult_t send(const Buffers& of, ncclComm_t comm, CUstream stream) {
  return ncclSend(reinterpret_cast<const void*>(of.from), 1, ncclInt32, 0, comm,
                  reinterpret_cast<cudaStream_t>(stream));
}

}  // namespace

int main() {
  CUcontext context = nullptr;
  CUstream one = nullptr, other = nullptr;
  Buffers of;
  must(cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
  must(cuCtxSetCurrent(context) == CUDA_SUCCESS);
  must(cuStreamCreate(&one, 0) == CUDA_SUCCESS && cuStreamCreate(&other, 0) == CUDA_SUCCESS);
  must(cuMemAlloc(&of.from, 4) == CUDA_SUCCESS && cuMemAlloc(&of.into, 4) == CUDA_SUCCESS);
  const ncclComm_t first = alone(), second = alone();
  must(ncclGroupStart() == ncclSuccess && sum(of, first, one) == ncclSuccess);
  must(sum(of, second, one) == ncclInvalidUsage && sum(of, first, other) == ncclInvalidUsage);
  must(send(of, second, one) == ncclInvalidUsage && send(of, first, other) == ncclInvalidUsage);
  must(sum(of, first, one) == ncclSuccess);
  return 0;
}
