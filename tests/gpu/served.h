// served: how many calls the stand-in NCCL has served in this process, and how many failed as it
// was told. A real one does not count: what rests on that is not asked then.
#pragma once

#include <dlfcn.h>

#include "area.h"

namespace gpu {

using Count = unsigned long long (*)();

// Null: no NCCL was opened; or it does not count.
inline Count counter_of(const char* function, bool* is_open) {
  void* const library = ::dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
  *is_open = library != nullptr;
  if (library == nullptr) return nullptr;
  const auto count = reinterpret_cast<Count>(::dlsym(library, function));
  ::dlclose(library);
  return count;
}
inline unsigned long long counted_by_standin(const char* function) {
  bool is_open = false;
  const Count count = counter_of(function, &is_open);
  return count == nullptr ? 0 : count();
}
// Where none was opened that is counted: it served nothing.
inline bool is_counted() {
  bool is_open = false;
  return counter_of("tutti_standin_nccl_served", &is_open) != nullptr || !is_open;
}
inline unsigned long long served() {
  return counted_by_standin("tutti_standin_nccl_served");
}
// So many since then, as far as that is counted.
inline bool has_served(unsigned long long before, unsigned long long calls) {
  return served() == before + calls || !is_counted();
}
inline unsigned long long failed() {
  return counted_by_standin("tutti_standin_nccl_failed");
}

// Bytes of the host to memory of whichever kind.
inline void put(void* to, const void* content, std::size_t bytes) {
  if (bytes == 0) return;
  unsigned kind = 0;
  const CUresult said = cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                              reinterpret_cast<CUdeviceptr>(to));
  if (said != CUDA_SUCCESS || kind == CU_MEMORYTYPE_HOST) {
    std::memcpy(to, content, bytes);
    return;
  }
  CUcontext context = nullptr;
  CU(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT,
                           reinterpret_cast<CUdeviceptr>(to)));
  if (context != nullptr) CU(cuCtxPushCurrent(context));
  void* mirror = nullptr;
  CU(cuMemHostAlloc(&mirror, bytes, 0));
  std::memcpy(mirror, content, bytes);
  CU(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(mirror), bytes,
                   nullptr));
  CU(cuStreamSynchronize(nullptr));
  CU(cuMemFreeHost(mirror));
  if (context != nullptr) CU(cuCtxPopCurrent(&context));
}

}  // namespace gpu
