// A neighbour's allocation, opened by each of the ways.
#include <cstring>
#include <utility>

#include "device/cuda/current.h"
#include "device/cuda/ipc.h"

namespace tutti::device::cuda {
namespace {

void* os_handle(const UniqueFd& fd) {
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(fd.get()));
}

}  // namespace

Result<void> Gpu::free_imported(CUdeviceptr address) const {
  const Current current(driver_, context_);
  TUTTI_DO(check(driver_.cuMemFreeAsync(address, idle_), "cuMemFreeAsync of a neighbour's memory"));
  return check(driver_.cuStreamSynchronize(idle_), "cuMemFreeAsync of a neighbour's memory");
}

CUmemAccessDesc OpenedMemory::access() const {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = gpu_.number();
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;  // no driver maps for reading alone
  return access;
}

Result<void> OpenedMemory::open(types::Courier& courier) {
  const Current current(driver_, gpu_.context());
  switch (key_.way) {
    case Way::handle:
      TUTTI_DO(open_handle());
      break;
    case Way::mapped:
      TUTTI_DO(open_mapped(courier));
      break;
    case Way::pooled:
      TUTTI_DO(open_pooled(courier));
      break;
    default:
      return fail(Code::intern, "a key of a kind that nobody here can open");
  }
  return check_range();
}

Result<void> OpenedMemory::open_handle() {
  CUipcMemHandle handle;
  if (key_.room_bytes != sizeof handle) return fail(Code::intern, "a handle that is not whole");
  std::memcpy(&handle, key_.room.data(), sizeof handle);
  const CUresult said =
      driver_.cuIpcOpenMemHandle(&address_, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (said == CUDA_SUCCESS) return {};
  address_ = 0;
  return refused(driver_, "cuIpcOpenMemHandle", said);
}

Result<void> OpenedMemory::open_mapped(types::Courier& courier) {
  TUTTI_TRY(fd, courier.take(room()));
  CUmemGenericAllocationHandle handle = 0;
  CUresult said = driver_.cuMemImportFromShareableHandle(&handle, os_handle(fd),
                                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (said != CUDA_SUCCESS) return refused(driver_, "cuMemImportFromShareableHandle", said);
  said = driver_.cuMemAddressReserve(&reserved_, key_.allocated, 0, 0, 0);
  if (said == CUDA_SUCCESS) said = driver_.cuMemMap(reserved_, key_.allocated, 0, handle, 0);
  if (said == CUDA_SUCCESS) address_ = reserved_;
  driver_.cuMemRelease(handle);  // the mapping holds it
  if (said != CUDA_SUCCESS) return refused(driver_, "cuMemMap", said);
  const CUmemAccessDesc ours = access();
  said = driver_.cuMemSetAccess(address_, key_.allocated, &ours, 1);
  if (said == CUDA_SUCCESS) return {};
  return refused(driver_, "cuMemSetAccess (no peer access)", said);
}

Result<void> OpenedMemory::open_pooled(types::Courier& courier) {
  CUmemPoolPtrExportData pointer;
  if (key_.room_bytes < sizeof pointer) return fail(Code::intern, "a pointer that is not whole");
  std::memcpy(&pointer, key_.room.data(), sizeof pointer);
  TUTTI_TRY(fd, courier.take(room().subspan(sizeof pointer)));
  CUresult said = driver_.cuMemPoolImportFromShareableHandle(
      &pool_, os_handle(fd), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (said != CUDA_SUCCESS) return refused(driver_, "cuMemPoolImportFromShareableHandle", said);
  ++pools_[pool_];
  if (uuid_of(driver_, gpu_.number()) != key_.gpu) {
    const CUmemAccessDesc ours = access();
    said = driver_.cuMemPoolSetAccess(pool_, &ours, 1);
    if (said != CUDA_SUCCESS) return refused(driver_, "cuMemPoolSetAccess (no peer access)", said);
  }
  said = driver_.cuMemPoolImportPointer(&address_, pool_, &pointer);
  if (said == CUDA_SUCCESS) return {};
  address_ = 0;
  return refused(driver_, "cuMemPoolImportPointer", said);
}

// All that the key says is there: kernels read it unasked.
Result<void> OpenedMemory::check_range() {
  CUdeviceptr begin = 0;
  std::size_t bytes = 0;
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                 CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* values[] = {&begin, &bytes};
  const CUresult said = driver_.cuPointerGetAttributes(std::size(which), which, values, address_);
  if (said != CUDA_SUCCESS) return refused(driver_, "cuPointerGetAttributes", said);
  if (address_ - begin <= bytes && key_.allocated <= bytes - (address_ - begin)) return {};
  return fail(Code::intern, "a key that says more than is there");
}

// CUDA wants that to have ended before the owner frees it (cuMemPoolImportPointer).
Result<void> OpenedMemory::close_pooled() {
  const CUdeviceptr address = std::exchange(address_, 0);
  return address == 0 ? Result<void>() : gpu_.free_imported(address);
}

OpenedMemory::~OpenedMemory() {
  if (gpu_.is_gone()) return;
  const Current current(driver_, gpu_.context());
  if (!current) return;
  if (key_.way == Way::handle && address_ != 0) driver_.cuIpcCloseMemHandle(address_);
  if (key_.way == Way::mapped && address_ != 0) driver_.cuMemUnmap(address_, key_.allocated);
  if (reserved_ != 0) driver_.cuMemAddressFree(reserved_, key_.allocated);
  if (key_.way == Way::pooled) close_pooled();
  if (pool_ == nullptr || --pools_[pool_] > 0) return;
  pools_.erase(pool_);
  driver_.cuMemPoolDestroy(pool_);
}

}  // namespace tutti::device::cuda
