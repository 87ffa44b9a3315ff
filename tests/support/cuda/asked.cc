// What UCX's CUDA transports ask of a driver, beside what Tutti does.
#include <dlfcn.h>

#include <cstring>
#include <string>

#include "standin.h"

using namespace standin;

namespace {

bool is_device(CUdevice device) {
  return device >= 0 && device < static_cast<int>(state().gpus.size());
}

}  // namespace

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  ENTER("cuDeviceGetAttribute");
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *value = which == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID
               ? 0x10 + state().gpus[static_cast<std::size_t>(device)]->number
           : which == CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING       ? 1
           : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 7
           : which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 5
                                                                   : 0;
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  ENTER("cuDeviceTotalMem");
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = kWindow < state().memory_limit ? kWindow : state().memory_limit;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  ENTER("cuDevicePrimaryCtxGetState");
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *flags = 0;
  *active = state().gpus[static_cast<std::size_t>(device)]->retained > 0 ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  ENTER("cuCtxGetId");
  if (context == nullptr) context = current();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (context->made > 0) {
    *id = ~context->made;
    return CUDA_SUCCESS;
  }
  // One that was reset is there again when somebody retains it.
  if (context->resets > 0 && state().gpus[static_cast<std::size_t>(context->device)]->retained == 0)
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *id =
      context->resets * state().gpus.size() + static_cast<unsigned long long>(context->device) + 1;
  return CUDA_SUCCESS;
}
// Copies to and from the host here are as synchronous as the calls that ask for them.
CUresult cuCtxSetFlags(unsigned flags) {
  ENTER("cuCtxSetFlags");
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return (flags & ~unsigned{CU_CTX_FLAGS_MASK}) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
// The newest form of a function that there is here.
CUresult cuGetProcAddress(const char* name, void** function, int, cuuint64_t,
                          CUdriverProcAddressQueryResult* found) {
  *function = nullptr;
  for (const char* form : {"_v3", "_v2", ""})
    if (*function == nullptr) *function = ::dlsym(RTLD_DEFAULT, (std::string(name) + form).c_str());
  if (found != nullptr)
    *found =
        *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuMemGetAddressRange(CUdeviceptr* begin, size_t* bytes, CUdeviceptr address) {
  ENTER("cuMemGetAddressRange");
  const Allocation* const found = find(address);
  if (found == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (begin != nullptr) *begin = found->begin;
  if (bytes != nullptr) *bytes = found->bytes;
  return CUDA_SUCCESS;
}
CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  ENTER("cuMemGetAllocationGranularity");
  *bytes = 4096;
  return CUDA_SUCCESS;
}
CUresult cuMemHostRegister(void* address, size_t bytes, unsigned) {
  ENTER_UNSAFE("cuMemHostRegister");
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (bytes == 0 || is_window(begin)) return CUDA_ERROR_INVALID_VALUE;
  if (find(begin) != nullptr || find(begin + bytes - 1) != nullptr)
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  Allocation made;
  made.begin = begin;
  made.bytes = bytes;
  made.kind = Kind::registered;
  made.context = current();
  made.device = current() == nullptr ? 0 : current()->device;
  made.id = state().next_id++;
  state().allocations[begin] = made;
  return CUDA_SUCCESS;
}
CUresult cuMemHostUnregister(void* address) {
  ENTER_UNSAFE("cuMemHostUnregister");
  must_be_untouched_by_others(reinterpret_cast<std::uintptr_t>(address), "cuMemHostUnregister",
                              __builtin_return_address(0));
  await_all(lock);
  const auto found = state().allocations.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == state().allocations.end() || found->second.kind != Kind::registered)
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  state().allocations.erase(found);
  return CUDA_SUCCESS;
}
// These GPUs do not tell where managed memory lies.
CUresult cuMemRangeGetAttribute(void*, size_t, CUmem_range_attribute, CUdeviceptr, size_t) {
  ENTER("cuMemRangeGetAttribute");
  return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuPointerSetAttribute(const void*, CUpointer_attribute which, CUdeviceptr address) {
  ENTER("cuPointerSetAttribute");
  if (find(address) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return which == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}
CUresult cuStreamAddCallback(CUstream on, CUstreamCallback function, void* data, unsigned flags) {
  ENTER("cuStreamAddCallback");
  CUstream_st* const stream = stream_of(on);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  enqueue(*stream, [=] { function(on, CUDA_SUCCESS, data); });
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return cuMemcpyAsync(to, from, bytes, stream);
}
