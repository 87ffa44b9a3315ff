// Memory mapped by address: a handle is a file of its own, which addresses show whole. A range of
// addresses may show several.
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
  int device = 0, number = 0;  // as this process counts its GPU, and as the machine does
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

// What begins there, a mapping or not.
Allocation* part_at(CUdeviceptr address) {
  const auto found = state().allocations.find(address);
  const bool is_part = found != state().allocations.end() && found->second.kind == Kind::vmm;
  return is_part ? &found->second : nullptr;
}

// So many bytes that show nothing yet, as a part of their own.
Allocation* cut(CUdeviceptr address, std::size_t bytes) {
  auto& all = state().allocations;
  const auto after = all.upper_bound(address);
  if (after == all.begin()) return nullptr;
  Allocation& whole = std::prev(after)->second;
  if (whole.kind != Kind::vmm || whole.is_live || bytes == 0 ||
      address + bytes > whole.begin + whole.bytes)
    return nullptr;
  const Allocation was = whole;
  const auto put = [&](std::uintptr_t begin, std::uintptr_t end) {
    if (begin == end) return;
    Allocation& part = all[begin] = was;
    part.begin = begin;
    part.bytes = end - begin;
  };
  put(was.begin, address);
  put(address, address + bytes);
  put(address + bytes, was.begin + was.bytes);
  return part_at(address);
}

}  // namespace

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr,
                             unsigned long long) {
  ENTER("cuMemAddressReserve");
  const int device = current() == nullptr ? 0 : current()->device;
  const CUresult said = allocate(Kind::vmm, device, bytes, address);
  if (said != CUDA_SUCCESS) return said;
  Allocation& range = state().allocations[*address];
  range.is_live = false;
  range.range_begin = *address;
  range.range_bytes = bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  ENTER("cuMemAddressFree");
  auto& all = state().allocations;
  const Allocation* const range = part_at(address);
  if (range == nullptr || range->range_begin != address || range->range_bytes != bytes)
    return CUDA_ERROR_INVALID_VALUE;
  const auto begin = all.find(address), end = all.lower_bound(address + bytes);
  if (std::any_of(begin, end, [](const auto& part) { return part.second.is_live; }))
    return CUDA_ERROR_INVALID_VALUE;
  state().gpus[static_cast<std::size_t>(range->device)]->used -= bytes;
  all.erase(begin, end);
  return CUDA_SUCCESS;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp* of, unsigned long long) {
  ENTER("cuMemCreate");
  Mapped made;
  made.bytes = bytes;
  made.device = of == nullptr ? 0 : of->location.id;
  made.number = state().gpus[static_cast<std::size_t>(made.device)]->number;
  made.file = new_file(made.number, bytes);
  if (made.file < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  made.is_shareable =
      of != nullptr && of->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  *handle = make(made);
  return CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t, CUmemGenericAllocationHandle handle,
                  unsigned long long) {
  ENTER("cuMemMap");
  Allocation* const part = mapped(handle)->bytes == bytes ? cut(address, bytes) : nullptr;
  if (part == nullptr || !show(*part, mapped(handle)->file, 0)) return CUDA_ERROR_INVALID_VALUE;
  part->is_live = true;
  part->mapped_by = handle;
  part->open_to = 0;  // cuMemSetAccess is to come
  part->id = state().next_id++;
  ++mapped(handle)->users;
  return CUDA_SUCCESS;
}
// Of one mapping or several.
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t) {
  ENTER("cuMemSetAccess");
  for (CUdeviceptr at = address; at < address + bytes;) {
    Allocation* const part = part_at(at);
    if (part == nullptr || !part->is_live) return CUDA_ERROR_INVALID_VALUE;
    if (!may_open(access->location.id, mapped(part->mapped_by)->number))
      return CUDA_ERROR_INVALID_DEVICE;
    let_in(part->open_to, access->location.id, access->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE);
    at += part->bytes;
  }
  return CUDA_SUCCESS;
}
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  ENTER("cuMemUnmap");
  for (CUdeviceptr at = address; at < address + bytes;) {
    Allocation* const part = part_at(at);
    if (part == nullptr || !part->is_live || at + part->bytes > address + bytes)
      return CUDA_ERROR_INVALID_VALUE;
    must_be_untouched(at, "cuMemUnmap");  // it waits for no stream
    const Gpu& gpu = *state().gpus[static_cast<std::size_t>(part->device)];
    show(*part, gpu.file, static_cast<off_t>(at - reinterpret_cast<std::uintptr_t>(gpu.forbidden)));
    part->is_live = false;
    leave(part->mapped_by);
    at += part->bytes;
  }
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
  made.number = number_of(made.file);
  *handle = make(made);
  return CUDA_SUCCESS;
}
