// Asks the driver, and keeps what it said.
#include "device/cuda/pointers.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

namespace tutti::device::cuda {
namespace {

constexpr Pointer kHost;

}  // namespace

// A call that reads 8 bytes and then refuses what it is asked for: unlike process_vm_readv it
// reads what is mapped of devices, too, and no container forbids it. There is no such `how`.
bool ReadablePages::look(std::uintptr_t address) {
  constexpr std::size_t kSet = 8;  // as the kernel has it
  constexpr int kNoHow = -1;
  const int before = errno;
  const auto* const whole = reinterpret_cast<const void*>(address & ~(kSet - 1));
  const long said = ::syscall(SYS_rt_sigprocmask, kNoHow, whole, nullptr, kSet);
  const bool is_readable = said == 0 || errno != EFAULT;
  errno = before;
  if (is_readable) kept_[place_of(address)] = last_of(address);
  return is_readable;
}

const char* name_of(PointerKind kind) {
  constexpr const char* kNames[] = {"host memory",
                                    "registered host memory",
                                    "managed memory",
                                    "GPU memory",
                                    "GPU memory of a pool",
                                    "GPU memory mapped by address",
                                    "GPU memory that was freed",
                                    "no memory of this process",
                                    "memory that CUDA cannot name"};
  return kNames[static_cast<std::size_t>(kind)];
}

// Two things are asked at once: the question about one refuses host memory with an error, which
// takes the driver six times as long (record 0069).
const Pointer& Pointers::find(const void* address) {
  const auto at = reinterpret_cast<CUdeviceptr>(address);
  if (at == 0) return kHost;
  unsigned long long id = 0;
  unsigned type = 0;
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
  void* values[] = {&id, &type};
  const CUresult said = driver_.cuPointerGetAttributes(std::size(which), which, values, at);
  switch (said) {
    case CUDA_SUCCESS:  // not all memory has a number, but all has a type
      return type != 0 ? look_up(at, id) : without_id(at);
    case CUDA_ERROR_NOT_INITIALIZED:  // nobody can have memory of a GPU yet
      return kHost;
    // Nor can they where there is none, or the driver does not work; the toolkit's library for
    // linking without a driver answers everything so.
    case CUDA_ERROR_STUB_LIBRARY:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_SYSTEM_NOT_READY:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
      return kHost;
    case CUDA_ERROR_INVALID_VALUE:  // it knows nothing of it
    case CUDA_ERROR_DEINITIALIZED:  // nobody can have memory of a GPU any more
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
      return without_id(at);
    default:  // a GPU is lost, mostly
      if (known_at(at) == nullptr && without_id(at).is_host()) return kHost;
      return other_ = {PointerKind::unknown, -1, nullptr, said};
  }
}

const Pointer& Pointers::look_up(CUdeviceptr address, unsigned long long id) {
  Pointer& known = known_[id % kKept];
  if (id != 0 && known.id == id) return known;
  ++asked_;
  readable_.forget();
  Pointer fresh = ask(address);
  fresh.id = id;
  if (id == 0 || fresh.kind == PointerKind::unknown) return other_ = fresh;
  known = fresh;
  if (!fresh.is_host()) {
    lowest_ = std::min<std::uintptr_t>(lowest_, fresh.begin);
    highest_ = std::max<std::uintptr_t>(highest_, fresh.end);
  }
  return known;
}

// Everything about an allocation.
Pointer Pointers::ask(CUdeviceptr address) const {
  unsigned type = 0, is_managed = 0;
  int ordinal = -1;
  std::size_t bytes = 0;
  Pointer pointer;
  CUmemoryPool pool = nullptr;
  CUpointer_attribute which[] = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_IS_MANAGED,
      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_CONTEXT,
      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
      CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
  void* values[] = {&type, &is_managed, &ordinal, &pointer.context, &pointer.begin, &bytes, &pool};
  const CUresult said = driver_.cuPointerGetAttributes(std::size(which), which, values, address);
  if (said != CUDA_SUCCESS) return {PointerKind::unknown, -1, nullptr, said};
  pointer.end = pointer.begin + bytes;
  pointer.ordinal = ordinal;
  if (is_managed != 0) {
    pointer.kind = PointerKind::managed;
  } else if (type == CU_MEMORYTYPE_HOST) {
    pointer.kind = PointerKind::registered;
  } else if (pool != nullptr) {
    pointer.kind = PointerKind::pool;
  } else {
    pointer.kind = PointerKind::device;
    CUmemGenericAllocationHandle handle = 0;
    if (driver_.cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(address)) ==
        CUDA_SUCCESS) {
      driver_.cuMemRelease(handle);
      pointer.kind = PointerKind::vmm;
    }
  }
  return pointer;
}

// Host memory, if it can be read.
const Pointer& Pointers::without_id(std::uintptr_t address) {
  if (readable_.has(address)) [[likely]]
    return kHost;
  ++looked_;
  if (readable_.look(address)) return kHost;
  const Pointer* const known = known_at(address);
  if (known == nullptr) return other_ = {PointerKind::nobody};
  other_ = *known;
  other_.kind = PointerKind::freed;
  return other_;
}

const Pointer* Pointers::known_at(std::uintptr_t address) const {
  if (address < lowest_ || address >= highest_) return nullptr;
  const auto found = std::ranges::find_if(known_, [address](const Pointer& known) {
    return known.id != 0 && !known.is_host() && address >= known.begin && address < known.end;
  });
  return found == known_.end() ? nullptr : &*found;
}

}  // namespace tutti::device::cuda
