// A program that loads libcuda (argv[1]) after MPI_Init and computes on the host before, as
// interpreters do. With one word more libcuda has no GPU.
#include <cuda.h>
#include <dlfcn.h>
#include <mpi-ext.h>

#include <cstdlib>

#include "../ranks/check.h"

using namespace ranks;

namespace {

void* library = nullptr;

template <class Function>
Function* of(Function*, const char* name) {
  auto* const found = reinterpret_cast<Function*>(::dlsym(library, name));
  if (found == nullptr) std::exit(3);
  return found;
}
#define NAME_OF_(name) #name
#define NAME_OF(name) NAME_OF_(name)
#define LATE(name) of(static_cast<decltype(&name)>(nullptr), NAME_OF(name))

// Of memory that is no heap, of which the library cannot tell so easily that it is the host's.
void by_stack() {
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == size);
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  const std::vector<int> ones(1000, 1);
  std::vector<int> sums(1000);
  MPI_Allreduce(ones.data(), sums.data(), 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sums == std::vector<int>(1000, size));
  by_stack();
  CHECK(MPIX_Query_cuda_support() == 1);  // it may come
  library = ::dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return 3;
  // Loaded, and not initialised: still nobody's but the host's.
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sums == std::vector<int>(1000, size * size));
  by_stack();
  const bool has_gpu = argc == 2;
  CHECK(MPIX_Query_cuda_support() == (has_gpu ? 1 : 0));
  CHECK((LATE(cuInit)(0) == CUDA_SUCCESS) == has_gpu);
  CHECK(MPIX_Query_cuda_support() == (has_gpu ? 1 : 0));
  by_stack();
  if (!has_gpu) return done();
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  CHECK(LATE(cuDevicePrimaryCtxRetain)(&context, 0) == CUDA_SUCCESS);
  CHECK(LATE(cuCtxSetCurrent)(context) == CUDA_SUCCESS);
  CHECK(LATE(cuMemAlloc)(&memory, 4000) == CUDA_SUCCESS);
  CHECK(LATE(cuMemcpyHtoD)(memory, ones.data(), 4000) == CUDA_SUCCESS);
  MPI_Allreduce(MPI_IN_PLACE, reinterpret_cast<void*>(memory), 1000, MPI_INT, MPI_SUM,
                MPI_COMM_WORLD);
  CHECK(LATE(cuMemcpyDtoH)(sums.data(), memory, 4000) == CUDA_SUCCESS);
  CHECK(sums == std::vector<int>(1000, size));
  return done();
}
