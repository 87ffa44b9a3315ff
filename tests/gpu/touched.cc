// touched: what a GPU's kernels touch that is another GPU's, or a mapping that nobody made
// accessible: the stand-in ends that, and lets what was opened be touched. The argument names the
// way; "pairs" where GPUs 0 and 1, 2 and 3 reach each other only.
#include <cuda.h>

#include <cstdlib>
#include <string>

extern "C" void* tutti_standin_reach(const void* address, std::size_t bytes);

namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20;

void must(bool is_so) {
  if (!is_so) std::exit(3);
}
void must(CUresult said) {
  must(said == CUDA_SUCCESS);
}

void enter(int device) {
  CUcontext context = nullptr;
  must(cuDevicePrimaryCtxRetain(&context, device));
  must(cuCtxSetCurrent(context));
}

// As a kernel of that GPU's does.
void touch_on(int device, CUdeviceptr memory) {
  enter(device);
  must(cuLaunchHostFunc(
      nullptr, [](void* at) { tutti_standin_reach(at, kBytes); }, reinterpret_cast<void*>(memory)));
  must(cuCtxSynchronize());
}

CUdeviceptr allocated(int device) {
  CUdeviceptr made = 0;
  enter(device);
  must(cuMemAlloc(&made, kBytes));
  return made;
}

CUdeviceptr mapped(int device) {
  CUdeviceptr made = 0;
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp of{};
  of.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  enter(device);
  must(cuMemCreate(&handle, kBytes, &of, 0));
  must(cuMemAddressReserve(&made, kBytes, 0, 0, 0));
  must(cuMemMap(made, kBytes, 0, handle, 0));
  return made;
}

CUresult open_for(int device, CUdeviceptr memory) {
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  return cuMemSetAccess(memory, kBytes, &access, 1);
}

CUresult copy(CUdeviceptr to, CUdeviceptr from) {
  const CUresult said = cuMemcpyAsync(to, from, kBytes, nullptr);
  must(cuCtxSynchronize());
  return said;
}

void touch_what_is_open() {
  const CUdeviceptr here = allocated(0), there = allocated(1), shown = mapped(1);
  touch_on(1, there);
  must(copy(here, there));  // the driver's, which needs no access of a GPU's to another's
  must(copy(here, shown) == CUDA_ERROR_INVALID_VALUE);
  must(open_for(1, shown));
  must(copy(here, shown));
  must(open_for(0, shown));
  touch_on(0, shown);
  CUmemPoolProps of{};
  of.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  CUmemoryPool pool = nullptr;
  CUdeviceptr pooled = 0;
  must(cuMemPoolCreate(&pool, &of));
  must(cuMemAllocFromPoolAsync(&pooled, kBytes, pool, nullptr));
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  must(cuMemPoolSetAccess(pool, &access, 1));
  touch_on(0, pooled);
}

void ask_pairs() {
  for (int one = 0; one < 4; ++one)
    for (int other = 0; other < 4; ++other) {
      int can = -1;
      must(cuDeviceCanAccessPeer(&can, one, other));
      must(can == (one != other && one / 2 == other / 2 ? 1 : 0));
      must(open_for(other, mapped(one)) ==
           (one / 2 == other / 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE));
    }
}

}  // namespace

int main(int, char** arguments) {
  const std::string way = arguments[1];
  must(cuInit(0));
  if (way == "another_gpus") touch_on(0, allocated(1));
  if (way == "not_accessible") touch_on(0, mapped(0));
  if (way == "open") touch_what_is_open();
  if (way == "pairs") ask_pairs();
  return 0;
}
