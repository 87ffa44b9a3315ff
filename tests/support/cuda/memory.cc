// Allocations of all kinds, what is known of an address, and copies.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "standin.h"

namespace standin {

Allocation* find(std::uintptr_t address) {
  auto& all = state().allocations;
  const auto after = all.upper_bound(address);
  if (after == all.begin()) return nullptr;
  Allocation& found = std::prev(after)->second;
  return found.is_live && address < found.begin + found.bytes ? &found : nullptr;
}

bool is_window(std::uintptr_t address) {
  const auto& gpus = state().gpus;
  return std::any_of(gpus.begin(), gpus.end(), [&](const auto& gpu) {
    const auto begin = reinterpret_cast<std::uintptr_t>(gpu->forbidden);
    return address >= begin && address < begin + kWindow;
  });
}

void* reach(std::uintptr_t address, std::size_t bytes, int device) {
  const Allocation* const found = find(address);
  if (found == nullptr || !may_touch(*found, device)) return nullptr;
  // Mappings beside each other are memory in one piece.
  for (const Allocation* last = found; address + bytes > last->begin + last->bytes;) {
    last = last->kind == Kind::vmm ? find(last->begin + last->bytes) : nullptr;
    if (last == nullptr || last->kind != Kind::vmm || !may_touch(*last, device)) return nullptr;
  }
  if (found->kind >= Kind::pinned) return reinterpret_cast<void*>(address);
  if (found->open != nullptr) return found->open + (address - found->begin);
  const Gpu& gpu = *state().gpus[static_cast<std::size_t>(found->device)];
  return gpu.open + (address - reinterpret_cast<std::uintptr_t>(gpu.forbidden));
}

CUresult allocate(Kind kind, int device, std::size_t bytes, CUdeviceptr* address) {
  State& all = state();
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Allocation made;
  made.bytes = bytes;
  made.kind = kind;
  made.device = device;
  made.context = kind == Kind::pool || kind == Kind::vmm ? nullptr : current();
  made.id = all.next_id++;
  if (kind == Kind::device) let_in(made.open_to, device);
  if (kind == Kind::pinned || kind == Kind::managed) {
    if (kind == Kind::pinned && bytes > all.pinned_limit - all.pinned)
      return CUDA_ERROR_OUT_OF_MEMORY;
    if (kind == Kind::pinned) all.pinned += bytes;
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    made.begin = reinterpret_cast<std::uintptr_t>(memory);
  } else {
    Gpu& gpu = *all.gpus[static_cast<std::size_t>(device)];
    const std::size_t apart = kind == Kind::vmm ? std::size_t{4096} : kApart;
    gpu.taken = (gpu.taken + apart - 1) / apart * apart;
    const std::size_t room = (bytes + 2 * apart - 1) / apart * apart;
    if (room > kWindow - gpu.taken || bytes > all.memory_limit - gpu.used)
      return CUDA_ERROR_OUT_OF_MEMORY;
    made.begin = reinterpret_cast<std::uintptr_t>(gpu.forbidden + gpu.taken);
    gpu.taken += room;
    gpu.used += bytes;
    ++all.counts.allocated;
  }
  *address = made.begin;
  all.allocations[made.begin] = made;
  return CUDA_SUCCESS;
}

CUresult release(std::uintptr_t address, Kind kind, Kind other) {
  State& all = state();
  const auto found = all.allocations.find(address);
  if (found == all.allocations.end() || !found->second.is_live) return CUDA_ERROR_INVALID_VALUE;
  const Allocation gone = found->second;
  if (gone.open != nullptr && gone.kind == Kind::pool && gone.opened == 0) {  // another process's
    all.allocations.erase(found);
    unmap(gone);
    return CUDA_SUCCESS;
  }
  if (gone.open != nullptr || (gone.kind != kind && gone.kind != other))
    return CUDA_ERROR_INVALID_VALUE;
  all.allocations.erase(found);
  if (kind == Kind::pinned || gone.kind == Kind::managed) {
    if (gone.kind == Kind::pinned) all.pinned -= gone.bytes;
    // Small pieces of pinned memory share pages with others: they can be read when they are freed.
    constexpr std::size_t kShared = std::size_t{2} << 20;
    auto* const memory = reinterpret_cast<void*>(gone.begin);
    if (gone.kind == Kind::pinned && gone.bytes < kShared)
      ::madvise(memory, gone.bytes, MADV_DONTNEED);
    else
      ::munmap(memory, gone.bytes);
    return CUDA_SUCCESS;
  }
  Gpu& gpu = *all.gpus[static_cast<std::size_t>(gone.device)];
  gpu.used -= gone.bytes;
  end_export(gone);
  // What is read there by mistake is not what was.
  std::memset(gpu.open + (gone.begin - reinterpret_cast<std::uintptr_t>(gpu.forbidden)), 0xdd,
              gone.bytes);
  return CUDA_SUCCESS;
}

namespace {

// A side of a copy.
struct Side {
  void* memory = nullptr;
  bool is_device = false, is_pageable = false, is_managed = false;
};
bool resolve(CUdeviceptr address, std::size_t bytes, Side* side) {
  const Allocation* const found = find(address);
  if (found == nullptr) {
    if (is_window(address)) return false;
    *side = {reinterpret_cast<void*>(address), false, true, false};
    return true;
  }
  *side = {reach(address, bytes, kAnyGpu), found->kind < Kind::pinned, false,
           found->kind == Kind::managed};
  return side->memory != nullptr;
}

unsigned long long now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<unsigned long long>(std::chrono::nanoseconds(now).count());
}

void work_copy(const Side& into, const Side& out_of, std::size_t bytes, unsigned long long us) {
  Bus& bus = state().bus;
  const bool is_by_bus = into.is_device != out_of.is_device, is_up = into.is_device;
  if (is_by_bus) {
    ++(is_up ? bus.up : bus.down);
    if ((is_up ? bus.down : bus.up) > 0) ++bus.both_ways;
    unsigned long long none = 0;
    if (is_up) bus.first_up_ns.compare_exchange_strong(none, now_ns());
  }
  if (us > 0) ::usleep(static_cast<useconds_t>(us));
  std::memmove(into.memory, out_of.memory, bytes);
  if (is_by_bus && !is_up) bus.last_down_ns = now_ns();
  if (is_by_bus) --(is_up ? bus.up : bus.down);
}

}  // namespace

static CUresult copy(Lock& lock, CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream on,
                     bool is_awaited) {
  Side into, out_of;
  if (bytes == 0) return CUDA_SUCCESS;
  if (!resolve(to, bytes, &into) || !resolve(from, bytes, &out_of)) return CUDA_ERROR_INVALID_VALUE;
  Counts& counts = state().counts;
  ++counts.copies;
  if (into.is_device && out_of.is_device) counts.within += bytes;
  if (into.is_device && !out_of.is_device) counts.from_host += bytes;
  if (!into.is_device && out_of.is_device) counts.to_host += bytes;
  CUstream_st* const stream = stream_of(on);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const bool by_bus = into.is_device != out_of.is_device;
  const auto us = by_bus ? bytes * state().us_per_mib >> 20 : state().within_us;
  // All copies that way are in one queue, whatever the stream and its priority: those that wait for
  // what their stream holds hold up the others.
  EndRef none;
  EndRef& before = !by_bus || !state().has_shared_queues ? none
                   : into.is_device                      ? stream->context->up
                                                         : stream->context->down;
  const EndRef end = enqueue(
      *stream, [into, out_of, bytes, us] { work_copy(into, out_of, bytes, us); }, before,
      touches("copy", {{to, bytes}, {from, bytes}}));
  before = end;
  // As the driver does with memory that is not pinned, and between host memories. Where the host is
  // written it lets nobody make anything meanwhile.
  const auto is_host = [](const Side& side) { return !side.is_device && !side.is_managed; };
  const bool is_of_host = is_host(into) && is_host(out_of);
  if (!is_awaited && !into.is_pageable && !out_of.is_pageable && !is_of_host) return CUDA_SUCCESS;
  const bool bars = state().has_shared_queues && (into.is_pageable || is_of_host);
  state().waiting_copies += bars ? 1 : 0;
  await(lock, end);
  state().waiting_copies -= bars ? 1 : 0;
  if (bars) state().ends.notify_all();
  return state().lost;
}

}  // namespace standin

using namespace standin;

static int current_device() {
  const CUcontext context = current();
  return context == nullptr ? -1 : context->device;
}

CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  ENTER_UNSAFE("cuMemAlloc");
  await_waiting_copies(lock);
  if (current_device() < 0) return CUDA_ERROR_INVALID_CONTEXT;
  return allocate(Kind::device, current_device(), bytes, address);
}
CUresult cuMemFree(CUdeviceptr address) {
  ENTER_UNSAFE("cuMemFree");
  if (const Allocation* const found = find(address);
      found != nullptr && found->kind == Kind::pool) {  // it waits for nothing
    must_be_untouched(address, "cuMemFree");
    return release(address, Kind::pool, Kind::pool);
  }
  must_be_untouched_by_others(address, "cuMemFree", __builtin_return_address(0));
  const Alone alone(lock);
  await_all(lock);
  return release(address, Kind::device, Kind::managed);
}
CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned) {
  ENTER("cuMemAllocManaged");
  if (current_device() < 0) return CUDA_ERROR_INVALID_CONTEXT;
  return allocate(Kind::managed, current_device(), bytes, address);
}
CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned) {
  ENTER_UNSAFE("cuMemHostAlloc");
  await_waiting_copies(lock);
  if (current_device() < 0) return CUDA_ERROR_INVALID_CONTEXT;
  CUdeviceptr made = 0;
  const CUresult said = allocate(Kind::pinned, current_device(), bytes, &made);
  *address = reinterpret_cast<void*>(made);
  return said;
}
CUresult cuMemFreeHost(void* address) {
  ENTER_UNSAFE("cuMemFreeHost");
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  must_be_untouched_by_others(at, "cuMemFreeHost", __builtin_return_address(0));
  const Alone alone(lock);
  await_all(lock);
  return release(at, Kind::pinned, Kind::pinned);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  ENTER_WORK("cuMemcpyAsync");
  if (const CUresult no = spoil_by_default(stream); no != CUDA_SUCCESS) return no;
  return copy(lock, to, from, bytes, stream, false);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  ENTER_WORK("cuMemcpyHtoDAsync");
  if (const CUresult no = spoil_by_default(stream); no != CUDA_SUCCESS) return no;
  return copy(lock, to, reinterpret_cast<CUdeviceptr>(from), bytes, stream, false);
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  ENTER_WORK("cuMemcpyHtoD");
  return copy(lock, to, reinterpret_cast<CUdeviceptr>(from), bytes, nullptr, true);
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  ENTER_WORK("cuMemcpyDtoH");
  const Alone alone(lock);
  return copy(lock, reinterpret_cast<CUdeviceptr>(to), from, bytes, nullptr, true);
}

static CUresult attribute(void* value, CUpointer_attribute which, const Allocation* found) {
  const bool is_host =
      found != nullptr && (found->kind == Kind::pinned || found->kind == Kind::registered);
  switch (which) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) = found == nullptr ? 0U
                                       : is_host        ? unsigned{CU_MEMORYTYPE_HOST}
                                                        : unsigned{CU_MEMORYTYPE_DEVICE};
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<unsigned*>(value) = found != nullptr && found->kind == Kind::managed ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = found == nullptr ? -2 : found->device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(value) = found == nullptr ? nullptr : found->context;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<unsigned long long*>(value) = found == nullptr ? 0 : found->id;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:  // of addresses, whatever they show
      *static_cast<CUdeviceptr*>(value) = found == nullptr           ? 0
                                          : found->kind == Kind::vmm ? found->range_begin
                                                                     : found->begin;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<size_t*>(value) = found == nullptr           ? 0
                                     : found->kind == Kind::vmm ? found->range_bytes
                                                                : found->bytes;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      *static_cast<void**>(value) =
          found != nullptr && found->kind == Kind::pool ? found->pool : nullptr;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      *static_cast<CUdeviceptr*>(value) = found == nullptr ? 0 : found->begin;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      *static_cast<size_t*>(value) = found == nullptr ? 0 : found->bytes;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute which, CUdeviceptr address) {
  ENTER("cuPointerGetAttribute");
  const Allocation* const found = find(address);
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : attribute(value, which, found);
}
CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* which, void** values,
                                CUdeviceptr address) {
  ENTER("cuPointerGetAttributes");
  for (unsigned i = 0; i < count; ++i)
    if (const CUresult said = attribute(values[i], which[i], find(address)); said != CUDA_SUCCESS)
      return said;
  return CUDA_SUCCESS;
}

// For kernels' twins: a GPU that touches what it may not ends the test.
extern "C" void* tutti_standin_reach(const void* address, std::size_t bytes) {
  const Lock lock(state().mutex);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  void* const memory = reach(at, bytes, working_gpu());
  if (memory != nullptr && find(at)->kind == Kind::pinned) state().counts.pinned += bytes;
  touch(at, bytes);
  if (memory != nullptr) return memory;
  const Allocation* const found = find(at);
  std::fprintf(stderr, "stand-in GPU: a kernel on GPU %d touches %zu bytes at %p, %s\n",
               working_gpu(), bytes, address,
               found == nullptr                    ? "which are not allocated"
               : !may_touch(*found, working_gpu()) ? "to which that GPU has no access"
                                                   : "of which it may not touch the end");
  say_who_runs();
  std::abort();
}
