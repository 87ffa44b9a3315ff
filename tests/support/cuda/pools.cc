// Stream-ordered memory: pools of this process, and of others by descriptor. What is taken is there
// at once here, and freed after what its stream holds.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "standin.h"

using namespace standin;

namespace {

CUmemoryPool default_pool(int device) {
  static std::map<int, CUmemPoolHandle_st> all;
  all[device].device = device;
  let_in(all[device].open_to, device);
  return &all[device];
}

CUresult take(CUmemoryPool pool, std::size_t bytes, CUdeviceptr* address) {
  const CUresult said = allocate(Kind::pool, pool->device, bytes, address);
  if (said == CUDA_SUCCESS) state().allocations[*address].pool = pool;
  return said;
}

}  // namespace

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream) {
  ENTER("cuMemAllocAsync");
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return take(default_pool(current()->device), bytes, address);
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream) {
  ENTER("cuMemAllocFromPoolAsync");
  return take(pool, bytes, address);
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream on) {
  ENTER("cuMemFreeAsync");
  CUstream_st* const stream = stream_of(on);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  await(lock, enqueue(*stream, [] {}));
  must_be_untouched(address, "cuMemFreeAsync");  // it waits for no other stream
  const Allocation* const found = find(address);
  if (found == nullptr || found->open == nullptr) return release(address, Kind::pool, Kind::pool);
  const Allocation gone = *found;  // another process's: that waits for nothing else
  note_opened(gone.pool->file, gone, false);
  state().allocations.erase(gone.begin);
  unmap(gone);
  return CUDA_SUCCESS;
}
CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* of) {
  ENTER("cuMemPoolCreate");
  *pool = new CUmemPoolHandle_st{
      of->location.id, of->handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, -1, 0};
  let_in((*pool)->open_to, of->location.id);
  return CUDA_SUCCESS;
}
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  ENTER("cuMemPoolDestroy");
  if (pool->file >= 0) ::close(pool->file);
  pool->file = -1;
  static auto& gone = *new std::vector<CUmemoryPool>;
  gone.push_back(pool);  // allocations may still point to it
  return CUDA_SUCCESS;
}
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* access, size_t) {
  ENTER("cuMemPoolSetAccess");
  const int number = pool->file >= 0 ? number_of(pool->file)
                                     : state().gpus[static_cast<std::size_t>(pool->device)]->number;
  if (!may_open(access->location.id, number)) return CUDA_ERROR_INVALID_DEVICE;
  let_in(pool->open_to, access->location.id, access->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE);
  return CUDA_SUCCESS;
}

// The descriptor is of the GPU's file.
CUresult cuMemPoolExportToShareableHandle(void* fd, CUmemoryPool pool, CUmemAllocationHandleType,
                                          unsigned long long) {
  ENTER("cuMemPoolExportToShareableHandle");
  if (!pool->is_shareable) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<int*>(fd) =
      ::fcntl(state().gpus[static_cast<std::size_t>(pool->device)]->file, F_DUPFD_CLOEXEC, 0);
  return CUDA_SUCCESS;
}
CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* data, CUdeviceptr address) {
  ENTER("cuMemPoolExportPointer");
  const Allocation* const found = find(address);
  if (found == nullptr || found->kind != Kind::pool || !found->pool->is_shareable)
    return CUDA_ERROR_INVALID_VALUE;
  Place place;
  const CUresult said = export_place(*found, &place);
  std::memset(data, 0, sizeof *data);
  std::memcpy(data, &place, sizeof place);
  return said;
}
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* fd, CUmemAllocationHandleType,
                                            unsigned long long) {
  ENTER("cuMemPoolImportFromShareableHandle");
  if (!state().has_ipc) return CUDA_ERROR_NOT_SUPPORTED;
  const int file =
      ::fcntl(static_cast<int>(reinterpret_cast<std::intptr_t>(fd)), F_DUPFD_CLOEXEC, 0);
  if (file < 0) return CUDA_ERROR_INVALID_VALUE;
  *pool = new CUmemPoolHandle_st{device_of(file), true, file, 0};
  let_in((*pool)->open_to, device_of(file));
  return CUDA_SUCCESS;
}
CUresult cuMemPoolImportPointer(CUdeviceptr* address, CUmemoryPool pool,
                                CUmemPoolPtrExportData* data) {
  ENTER("cuMemPoolImportPointer");
  Place place;
  std::memcpy(static_cast<void*>(&place), data, sizeof place);
  if (place.magic != Place{}.magic || pool->file < 0) return CUDA_ERROR_INVALID_VALUE;
  if (place.process == ::getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  Allocation made;
  made.kind = Kind::pool;
  made.pool = pool;
  const CUresult said = import_place(pool->file, place, &made);
  if (said != CUDA_SUCCESS) return said;
  note_opened(pool->file, made, true);
  state().allocations[made.begin] = made;
  *address = made.begin;
  return CUDA_SUCCESS;
}
