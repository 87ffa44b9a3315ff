// From addresses to GPUs.
#include "device/cuda/vendor.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/log.h"
#include "device/cuda/current.h"

namespace tutti::device::cuda {
namespace {

// How many libraries were ever loaded into this process.
unsigned long long count_loads() {
  unsigned long long loads = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* count) {
        *static_cast<unsigned long long*>(count) = info->dlpi_adds;
        return 1;  // the first says it
      },
      &loads);
  return loads;
}

std::string text_of(const void* address) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

}  // namespace

bool Cuda::find_driver() {
  const unsigned long long loads = count_loads();
  if (loads == loads_) return false;
  loads_ = loads;
  return is_found_ = driver_.find();
}

types::Device* Cuda::owner_of(const void* address, bool begins_call) {
  if (heap_.has(address) || (!is_found_ && !find_driver())) return nullptr;
  const Pointer& pointer = pointers_.find(address);
  if (pointer.is_host()) return nullptr;
  if (pointer.kind == PointerKind::freed)
    return refuse(address, pointer.ordinal,
                  "is GPU memory that has been freed; the call that was given it fails");
  if (pointer.kind == PointerKind::nobody)
    return refuse(address, -1,
                  "is no memory of this process: CUDA does not know it and the processor cannot "
                  "read it, so it was freed, or never there; the call that was given it fails");
  if (pointer.kind == PointerKind::unknown)
    return refuse(address, -1, "cannot be told by CUDA: " + driver_.text_of(pointer.failure));
  std::string why;
  Gpu* const gpu = gpu_of(pointer, &why);
  if (gpu == nullptr)
    return refuse(
        address, pointer.ordinal,
        std::string("is ") + name_of(pointer.kind) + ", which cannot be worked on: " + why);
  return begins_call ? gpu->begin_call() : gpu;
}

int Cuda::chosen_device() {
  if (!is_found_ && !find_driver()) return -1;
  CUdevice device = -1;
  return current_context(&device) != nullptr ? device : -1;
}

// A library that we cannot use counts as none that has devices.
bool Cuda::ask_for_devices(bool may_start) {
  if (!is_found_ && !find_driver()) return !has_library();
  int count = 0;
  CUresult said = driver_.cuDeviceGetCount(&count);
  if (said == CUDA_ERROR_NOT_INITIALIZED) {
    if (has_none_ || !may_start) return !has_none_;
    has_none_ = driver_.cuInit(0) != CUDA_SUCCESS;
    said = driver_.cuDeviceGetCount(&count);
  }
  return said == CUDA_SUCCESS && count > 0;
}

// Memory of no context (of a pool, mapped by address) and managed memory are reached from every
// context. But what the caller gave the GPU stands in the default stream of the context that works
// on the memory, and a library looks at its own context's. Of what is not there others say so.
bool Cuda::is_for_libraries(const void* address, bool begins_call) {
  if (!is_found_) return true;
  const Pointer& pointer = pointers_.find(address);
  if (!pointer.is_there()) return true;
  const bool is_reached = pointer.context == nullptr || pointer.kind == PointerKind::managed;
  if (is_reached && !begins_call) return true;
  std::string why;
  const Gpu* const gpu = gpu_of(pointer, &why);
  return gpu != nullptr && gpu->is_of_primary();
}

Result<Gpu*> Cuda::gpu_of(CUstream stream) {
  bury();
  Pointer place;
  CUresult said = driver_.cuStreamGetCtx(stream, &place.context);
  if (said == CUDA_SUCCESS && place.context == nullptr) said = CUDA_ERROR_INVALID_CONTEXT;
  if (said != CUDA_SUCCESS)
    return fail(Code::arg, "CUDA does not know the stream: " + driver_.text_of(said));
  {
    const Current current(driver_, place.context);
    said = driver_.cuCtxGetDevice(&place.ordinal);
  }
  std::string why = driver_.text_of(said);
  Gpu* const gpu = said == CUDA_SUCCESS ? gpu_of(place, &why) : nullptr;
  if (gpu == nullptr) return fail(Code::other, "the stream's GPU cannot be worked on: " + why);
  return gpu;
}

Result<std::unique_ptr<types::DeviceQueue>> Cuda::open_queue(std::uintptr_t handle) {
  if (!is_found_ && !find_driver())
    return fail(Code::arg, "this process has not loaded libcuda.so.1, so that it has no stream");
  if (!driver_.cuStreamBatchMemOp.is_there())
    return fail(
        Code::unsupported,
        "this libcuda.so.1 has no cuStreamBatchMemOp_v2, by which a stream waits for a call; "
        "a driver of CUDA 11.7 or later (515) has it");
  auto* const stream = reinterpret_cast<CUstream>(handle);
  if (stream == CU_STREAM_PER_THREAD)
    return fail(Code::arg,
                "cudaStreamPerThread is another stream in each thread; give one of its own, by "
                "cudaStreamCreateWithFlags");
  TUTTI_TRY(gpu, gpu_of(stream));
  TUTTI_DO(gpu->prepare());
  prepare_active();
  TUTTI_TRY(queue, Queue::open(driver_, *gpu, stream));
  warn_of_queues(*gpu);
  return queue;
}

// Streams share queues of the hardware. One that stands still until a call of ours has ended holds
// up all that is behind it in its queue: if that is our own work, for ever.
void Cuda::warn_of_queues(Gpu& gpu) {
  constexpr std::size_t kUsual = 8;
  const char* const said = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  const std::size_t queues = said == nullptr ? kUsual : std::strtoul(said, nullptr, 10);
  const std::size_t streams = gpu.queues().taken() + Gpu::kStreams;
  if (streams <= queues || std::exchange(warned_of_queues_, true)) return;
  log::warn("GPU " + std::to_string(gpu.number()) + ": calls are enqueued in " +
            std::to_string(gpu.queues().taken()) + " streams, which with " +
            std::to_string(Gpu::kStreams) + " of ours are more than its " + std::to_string(queues) +
            " queues: a call in one may wait for a call in another without end. Set "
            "CUDA_DEVICE_MAX_CONNECTIONS=32 before the program starts (prun -x), or use fewer");
}

// Calls in a stream may be given memory of other GPUs, too: of those that the process uses by now.
void Cuda::prepare_active() {
  int count = 0;
  if (driver_.cuDeviceGetCount(&count) != CUDA_SUCCESS) return;
  for (int i = 0; i < count; ++i) {
    Pointer place;
    place.ordinal = i;
    unsigned flags = 0;
    int is_active = 0;
    std::string why;  // a call that is given its memory will say so
    if (driver_.cuDevicePrimaryCtxGetState(i, &flags, &is_active) == CUDA_SUCCESS && is_active != 0)
      gpu_of(place, &why);
  }
  for (const auto& gpu : gpus_)
    if (const auto ready = gpu->prepare(); !ready && log::explains())
      log::explain("GPU " + std::to_string(gpu->number()) +
                   " is not ready for calls in streams: " + ready.error().text);
}

// For what a thread of ours asks outside of Current, too: it spoils no graph that another captures.
void Cuda::begin_thread() const {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  if (is_found_) driver_.cuThreadExchangeStreamCaptureMode(&mode);
}

types::Device* Cuda::refuse(const void* address, int ordinal, const std::string& why) {
  const std::string gpu = ordinal < 0 ? "GPU memory" : "GPU " + std::to_string(ordinal);
  log::warn(gpu + log::in_call() + ": the buffer at " + text_of(address) + " " + why);
  unusable_.ordinal = ordinal;
  return &unusable_;
}

// The caller's, and of which GPU; null: it has none.
CUcontext Cuda::current_context(CUdevice* ordinal) const {
  CUcontext context = nullptr;
  const bool is_there = driver_.cuCtxGetCurrent(&context) == CUDA_SUCCESS && context != nullptr &&
                        driver_.cuCtxGetDevice(ordinal) == CUDA_SUCCESS;
  return is_there ? context : nullptr;
}

// Memory of a pool and memory mapped by address belong to a GPU: the caller's context there, if it
// has one, else the one that all libraries share.
CUcontext Cuda::context_of(const Pointer& pointer, bool* is_primary, std::string* why) const {
  if (pointer.context != nullptr) return pointer.context;
  CUdevice current = -1;
  CUcontext context = current_context(&current);
  if (context != nullptr && current == pointer.ordinal) return context;
  const CUresult said = driver_.cuDevicePrimaryCtxRetain(&context, pointer.ordinal);
  *is_primary = said == CUDA_SUCCESS;
  if (*is_primary) return context;
  *why = driver_.text_of(said);
  return nullptr;
}

// Memory of a context that came back is new to us.
void Cuda::bury() {
  for (std::size_t i = 0; i < gpus_.size();)
    if (gpus_[i]->is_gone()) {
      gone_.push_back(std::move(gpus_[i]));
      gpus_.erase(gpus_.begin() + static_cast<std::ptrdiff_t>(i));
      gone_.back()->abandon();
    } else {
      ++i;
    }
}

Gpu* Cuda::gpu_of(const Pointer& pointer, std::string* why) {
  if (std::exchange(asked_, pointers_.asked()) != pointers_.asked()) bury();
  bool is_primary = false;
  const CUcontext context = context_of(pointer, &is_primary, why);
  if (context == nullptr) return nullptr;
  for (const auto& gpu : gpus_)
    if (gpu->context() == context) {
      if (is_primary) driver_.cuDevicePrimaryCtxRelease(pointer.ordinal);  // it has its own
      return gpu.get();
    }
  auto opened = Gpu::open(driver_, context, pointer.ordinal, is_primary);
  if (!opened) {
    *why = opened.error().text;
    return nullptr;
  }
  gpus_.push_back(std::move(*opened));
  // relaxed, and no read-modify-write: this rank alone writes them; the daemon reads a sample.
  if (used_ != nullptr && pointer.ordinal >= 0)
    used_->store(used_->load(std::memory_order_relaxed) | std::uint64_t{1} << pointer.ordinal % 64,
                 std::memory_order_relaxed);
  return gpus_.back().get();
}

Result<types::Exported> Cuda::share(const Memory& memory, types::Courier& courier) {
  if (!is_found_) return fail(Code::unsupported, "this process has no CUDA");
  const Pointer& pointer = pointers_.find(memory.data);
  if (pointer.is_host() || !pointer.is_there())
    return fail(Code::unsupported, std::string("it is ") + name_of(pointer.kind));
  std::string why;
  const Gpu* const gpu = gpu_of(pointer, &why);
  if (gpu == nullptr) return fail(Code::unsupported, why);
  return exports_.share(memory, pointer, courier, *gpu);
}

// What a `done` asks for may open a GPU, or bury one: counted anew each time.
int Cuda::progress() {
  int ended = 0;
  imports_.close_retired();
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    Gpu& gpu = *gpus_[i];  // lives on, buried or not
    ended += gpu.progress();
  }
  return ended;
}

bool Cuda::one_stands_behind_caller() {
  for (std::size_t i = 0; i < gpus_.size(); ++i)
    if (gpus_[i]->stands_behind_caller()) return true;
  return false;
}

// Linux's, or that of Windows' subsystem for it.
bool has_driver() {
  return ::access("/dev/nvidiactl", F_OK) == 0 || ::access("/dev/dxg", F_OK) == 0;
}

bool has_library() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) ::dlclose(library);
  return library != nullptr;
}

}  // namespace tutti::device::cuda
