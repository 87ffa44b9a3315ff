// taken: memory is taken away below a copy, in the way that the argument names; the stand-in ends
// all but "ordered".
#include "taken.h"

#include <cuda.h>

#include <cstdlib>
#include <string>

namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20;

void must(CUresult said) {
  if (said != CUDA_SUCCESS) std::exit(3);
}

CUdeviceptr map() {
  CUdeviceptr made = 0;
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp of{};
  of.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  must(cuMemCreate(&handle, kBytes, &of, 0));
  must(cuMemAddressReserve(&made, kBytes, 0, 0, 0));
  must(cuMemMap(made, kBytes, 0, handle, 0));
  const CUmemAccessDesc access{of.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  must(cuMemSetAccess(made, kBytes, &access, 1));
  return made;
}

// A copy to the host that takes 20 ms (STANDIN_CUDA_US_PER_MIB).
void copy(CUdeviceptr from, CUstream stream) {
  void* to = nullptr;
  must(cuMemHostAlloc(&to, kBytes, 0));
  must(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to), from, kBytes, stream));
}

void take_in_order(CUstream one, CUstream other) {
  CUdeviceptr pooled = 0, plain = 0;
  CUevent event = nullptr;
  must(cuMemAllocAsync(&pooled, kBytes, one));
  copy(pooled, one);
  must(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  must(cuEventRecord(event, one));
  must(cuStreamWaitEvent(other, event, 0));
  must(cuMemFreeAsync(pooled, other));
  const CUdeviceptr mapped = map();
  copy(mapped, one);
  must(cuStreamSynchronize(one));
  must(cuMemUnmap(mapped, kBytes));
  must(cuMemAlloc(&plain, kBytes));
  copy(plain, one);
  must(cuMemFree(plain));  // waits for all streams
}

}  // namespace

int main(int, char** arguments) {
  const std::string way = arguments[1];
  CUcontext context = nullptr;
  CUstream one = nullptr, other = nullptr;
  CUdeviceptr memory = 0;
  must(cuInit(0));
  must(cuDevicePrimaryCtxRetain(&context, 0));
  must(cuCtxSetCurrent(context));
  must(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
  must(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  if (way == "ordered") {
    take_in_order(one, other);
  } else if (way == "unmapped") {
    memory = map();
    copy(memory, one);
    must(cuMemUnmap(memory, kBytes));
  } else if (way == "freed_in_a_stream") {
    must(cuMemAllocAsync(&memory, kBytes, one));
    copy(memory, one);
    must(cuMemFreeAsync(memory, other));
  } else {
    must(cuMemAlloc(&memory, kBytes));
    copy(memory, stream_of_a_library());
    must(cuMemFree(memory));
  }
  return 0;
}
