// Memory mapped by address: a handle is a file of its own, which a range of addresses shows whole.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "standin.h"

using namespace standin;

namespace {

struct Mapped {
  std::size_t bytes = 0;
  int device = 0;
  bool is_shareable = false;
  int file = -1;
  int users = 1;
};
Mapped* mapped(CUmemGenericAllocationHandle handle) {
  return reinterpret_cast<Mapped*>(handle);
}
CUmemGenericAllocationHandle make(const Mapped& of) {
  return reinterpret_cast<CUmemGenericAllocationHandle>(new Mapped(of));
}
void leave(CUmemGenericAllocationHandle handle) {
  if (--mapped(handle)->users > 0) return;
  ::close(mapped(handle)->file);
  delete mapped(handle);
}

// The range shows this file from then on, for the GPU and for everybody else.
bool show(const Allocation& range, int file, off_t offset) {
  const Gpu& gpu = *state().gpus[static_cast<std::size_t>(range.device)];
  std::byte* const open =
      gpu.open + (range.begin - reinterpret_cast<std::uintptr_t>(gpu.forbidden));
  const auto at = [&](void* address, int protection) {
    return ::mmap(address, range.bytes, protection, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file,
                  offset) != MAP_FAILED;
  };
  return at(reinterpret_cast<void*>(range.begin), PROT_NONE) && at(open, PROT_READ | PROT_WRITE);
}

Allocation* range_at(CUdeviceptr address) {
  const auto found = state().allocations.find(address);
  const bool is_range = found != state().allocations.end() && found->second.kind == Kind::vmm;
  return is_range ? &found->second : nullptr;
}

}  // namespace

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr,
                             unsigned long long) {
  ENTER("cuMemAddressReserve");
  const int device = current() == nullptr ? 0 : current()->device;
  const CUresult said = allocate(Kind::vmm, device, bytes, address);
  if (said == CUDA_SUCCESS) state().allocations[*address].is_live = false;
  return said;
}
CUresult cuMemAddressFree(CUdeviceptr address, size_t) {
  ENTER("cuMemAddressFree");
  Allocation* const range = range_at(address);
  if (range == nullptr || range->is_live) return CUDA_ERROR_INVALID_VALUE;
  state().gpus[static_cast<std::size_t>(range->device)]->used -= range->bytes;
  state().allocations.erase(address);
  return CUDA_SUCCESS;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp* of, unsigned long long) {
  ENTER("cuMemCreate");
  Mapped made;
  made.bytes = bytes;
  made.device = of == nullptr ? 0 : of->location.id;
  made.file = new_file(state().gpus[static_cast<std::size_t>(made.device)]->number, bytes);
  if (made.file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  made.is_shareable =
      of != nullptr && of->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  *handle = make(made);
  return CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t, CUmemGenericAllocationHandle handle,
                  unsigned long long) {
  ENTER("cuMemMap");
  Allocation* const range = range_at(address);
  if (range == nullptr || range->is_live || range->bytes != bytes ||
      mapped(handle)->bytes != bytes || !show(*range, mapped(handle)->file, 0))
    return CUDA_ERROR_INVALID_VALUE;
  range->is_live = true;
  range->mapped_by = handle;
  range->id = state().next_id++;
  ++mapped(handle)->users;
  return CUDA_SUCCESS;
}
CUresult cuMemSetAccess(CUdeviceptr address, size_t, const CUmemAccessDesc* access, size_t) {
  ENTER("cuMemSetAccess");
  const Allocation* const range = range_at(address);
  if (range == nullptr || !range->is_live) return CUDA_ERROR_INVALID_VALUE;
  return mapped(range->mapped_by)->device == access->location.id || state().has_peers
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuMemUnmap(CUdeviceptr address, size_t) {
  ENTER("cuMemUnmap");
  Allocation* const range = range_at(address);
  if (range == nullptr || !range->is_live) return CUDA_ERROR_INVALID_VALUE;
  must_be_untouched(address, "cuMemUnmap");  // it waits for no stream
  const Gpu& gpu = *state().gpus[static_cast<std::size_t>(range->device)];
  show(*range, gpu.file,
       static_cast<off_t>(address - reinterpret_cast<std::uintptr_t>(gpu.forbidden)));
  range->is_live = false;
  leave(range->mapped_by);
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  ENTER("cuMemRelease");
  leave(handle);
  return CUDA_SUCCESS;
}
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  ENTER("cuMemRetainAllocationHandle");
  const Allocation* const found = find(reinterpret_cast<std::uintptr_t>(address));
  if (found == nullptr || found->kind != Kind::vmm) return CUDA_ERROR_INVALID_VALUE;
  *handle = found->mapped_by;
  ++mapped(*handle)->users;
  return CUDA_SUCCESS;
}
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* of,
                                                CUmemGenericAllocationHandle handle) {
  ENTER("cuMemGetAllocationPropertiesFromHandle");
  *of = {};
  of->type = CU_MEM_ALLOCATION_TYPE_PINNED;
  of->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  of->location.id = mapped(handle)->device;
  if (mapped(handle)->is_shareable)
    of->requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return CUDA_SUCCESS;
}
CUresult cuMemExportToShareableHandle(void* fd, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType, unsigned long long) {
  ENTER("cuMemExportToShareableHandle");
  if (!mapped(handle)->is_shareable) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<int*>(fd) = ::fcntl(mapped(handle)->file, F_DUPFD_CLOEXEC, 0);
  return CUDA_SUCCESS;
}
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* fd,
                                        CUmemAllocationHandleType) {
  ENTER("cuMemImportFromShareableHandle");
  if (!state().has_ipc) return CUDA_ERROR_NOT_SUPPORTED;
  struct stat status {};
  Mapped made;
  made.file = ::fcntl(static_cast<int>(reinterpret_cast<std::intptr_t>(fd)), F_DUPFD_CLOEXEC, 0);
  if (made.file < 0 || ::fstat(made.file, &status) != 0) return CUDA_ERROR_INVALID_VALUE;
  made.bytes = static_cast<std::size_t>(status.st_size);
  made.device = device_of(made.file);
  *handle = make(made);
  return CUDA_SUCCESS;
}
