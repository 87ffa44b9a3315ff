// driver: the functions of libcuda that we call, from the copy that the process has loaded.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "types/types.h"

namespace tutti::device::cuda {

// Whether it is known to have no answer only because a thread waits inside of the driver for a
// stream that stands still (records 0062, 0070). What waits for the stream by itself is none.
constexpr bool is_barred(std::string_view function) {
  constexpr std::string_view kBarred[] = {"cuLaunchKernel",
                                          "cuMemcpyAsync",
                                          "cuEventRecord",
                                          "cuEventCreate",
                                          "cuStreamCreateWithPriority",
                                          "cuMemAlloc",
                                          "cuMemHostAlloc"};
  return std::ranges::find(kBarred, function) != std::end(kBarred);
}

// A function of the driver's. Where calls are in streams of the user's, who works on them is told
// of each question: some have no answer before a stream has gone on.
template <class Address>
class DriverFunction;
template <class Said, class... Given>
class DriverFunction<Said (*)(Given...)> {
 public:
  DriverFunction(types::Enqueued* const& enqueued, const char* name)
      : enqueued_(enqueued), name_(name), is_barred_(is_barred(name)) {}
  DriverFunction(const DriverFunction&) = delete;
  DriverFunction& operator=(const DriverFunction&) = delete;

  bool find(void* library, const char* symbol) {
    at_ = reinterpret_cast<Said (*)(Given...)>(::dlsym(library, symbol));
    return is_there();
  }
  void operator=(Said (*at)(Given...)) { at_ = at; }
  bool is_there() const { return at_ != nullptr; }
  Said operator()(Given... given) const {
    types::Enqueued* const told = enqueued_;
    if (told == nullptr) return at_(given...);
    told->ask(name_, is_barred_);
    const Said said = at_(given...);
    told->ask(nullptr, false);
    return said;
  }

 private:
  types::Enqueued* const& enqueued_;  // the driver's
  const char* const name_;
  const bool is_barred_;
  Said (*at_)(Given...) = nullptr;
};

// cuda.h makes macros of many names (cuMemAlloc stands for cuMemAlloc_v2). The members here, and
// what is looked up in the library, have the names that the macros stand for.
#define TUTTI_CUDA_FUNCTIONS(X)         \
  X(cuGetErrorName)                     \
  X(cuGetErrorString)                   \
  X(cuCtxGetCurrent)                    \
  X(cuCtxPushCurrent)                   \
  X(cuCtxPopCurrent)                    \
  X(cuCtxGetDevice)                     \
  X(cuInit)                             \
  X(cuDeviceGetUuid)                    \
  X(cuDeviceGetCount)                   \
  X(cuDevicePrimaryCtxGetState)         \
  X(cuDevicePrimaryCtxRetain)           \
  X(cuDevicePrimaryCtxRelease)          \
  X(cuPointerGetAttribute)              \
  X(cuPointerGetAttributes)             \
  X(cuMemRetainAllocationHandle)        \
  X(cuMemRelease)                       \
  X(cuStreamCreateWithPriority)         \
  X(cuCtxGetStreamPriorityRange)        \
  X(cuStreamDestroy)                    \
  X(cuStreamWaitEvent)                  \
  X(cuStreamSynchronize)                \
  X(cuStreamQuery)                      \
  X(cuStreamGetCtx)                     \
  X(cuStreamIsCapturing)                \
  X(cuThreadExchangeStreamCaptureMode)  \
  X(cuEventCreate)                      \
  X(cuEventDestroy)                     \
  X(cuEventRecord)                      \
  X(cuEventQuery)                       \
  X(cuMemcpyAsync)                      \
  X(cuMemHostAlloc)                     \
  X(cuMemFreeHost)                      \
  X(cuMemAlloc)                         \
  X(cuMemFree)                          \
  X(cuIpcGetMemHandle)                  \
  X(cuIpcOpenMemHandle)                 \
  X(cuIpcCloseMemHandle)                \
  X(cuMemExportToShareableHandle)       \
  X(cuMemImportFromShareableHandle)     \
  X(cuMemAddressReserve)                \
  X(cuMemAddressFree)                   \
  X(cuMemMap)                           \
  X(cuMemUnmap)                         \
  X(cuMemSetAccess)                     \
  X(cuMemPoolExportToShareableHandle)   \
  X(cuMemPoolExportPointer)             \
  X(cuMemPoolImportFromShareableHandle) \
  X(cuMemPoolImportPointer)             \
  X(cuMemPoolSetAccess)                 \
  X(cuMemPoolDestroy)                   \
  X(cuMemFreeAsync)                     \
  X(cuModuleLoadData)                   \
  X(cuModuleUnload)                     \
  X(cuModuleGetFunction)                \
  X(cuLaunchKernel)

struct Driver {
  types::Enqueued* enqueued = nullptr;  // null: there are no streams of the user's

#define TUTTI_CUDA_MEMBER(name) DriverFunction<decltype(&::name)> name{enqueued, #name};
  TUTTI_CUDA_FUNCTIONS(TUTTI_CUDA_MEMBER)
  TUTTI_CUDA_MEMBER(cuStreamBatchMemOp)  // not there: the driver is older than CUDA 11.7
  TUTTI_CUDA_MEMBER(cuCtxGetId)          // the same: than 12.0
#undef TUTTI_CUDA_MEMBER

  // False: the process has not loaded libcuda. Throws nothing, loads nothing. A copy that lacks a
  // function is told once and counts as none.
  bool find();
  // Records `event` behind all that the context's default stream holds, and all that this waits
  // for; or asks whether that is through. Nothing may be put into it, nor asked of it, while a
  // stream that waits for it is captured. That is asked first: to try spoils the graph.
  CUresult record_default(CUevent event) const;
  CUresult query_default() const;
  CUresult may_touch_default() const;
  // "CUDA_ERROR_X (what that is)", and what to try.
  std::string text_of(CUresult result) const;
};

}  // namespace tutti::device::cuda
