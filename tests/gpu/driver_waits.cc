// What other threads' calls of the driver wait for, while one thread is inside of it, waiting for a
// stream that stands still: a JSON object a line. It is the driver's own, nothing of ours is asked.
//
//   {"what": "driver_waits", "in": "cuMemFree", "ends": false, "bars": ["cuLaunchKernel", ...]}
//
// in: the call that the one thread is in; ends: it has ended although the stream stands still;
// bars: calls of another thread that wait for it.
#include <cuda.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "told.h"

namespace tutti::device::cuda {
extern const char kPtxTold[];
}

namespace {

using namespace std::chrono_literals;

void must(CUresult said, const char* what) {
  if (said == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s gives CUDA error %d\n", what, static_cast<int>(said));
  std::exit(3);
}
#define CU(...) must(__VA_ARGS__, #__VA_ARGS__)

CUdeviceptr pointer(const void* address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

// What the calls are given.
struct Things {
  CUcontext context = nullptr;
  CUstream held = nullptr, other = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CUevent event = nullptr, fresh = nullptr;
  std::uint32_t* words = nullptr;  // pinned: the held stream's, and the kernel's
  std::uint32_t number = 0;
  char *pinned = nullptr, *pageable = nullptr;
  CUdeviceptr device = 0, there = 0;
  // To be freed.
  CUdeviceptr small = 0, large = 0, pooled = 0;
  void *small_pinned = nullptr, *large_pinned = nullptr;
};
constexpr std::size_t kSmall = 400, kLarge = std::size_t{32} << 20;

CUresult launch(Things& things) {
  gpu::ToldParams params{reinterpret_cast<char*>(things.there),
                         reinterpret_cast<const char*>(things.device), 8, things.words + 32, 1};
  void* arguments[] = {&params};
  return cuLaunchKernel(things.kernel, 1, 1, 1, 256, 1, 1, 0, things.other, arguments, nullptr);
}

CUresult stand(Things& things) {
  CUstreamBatchMemOpParams wait = {};
  wait.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  wait.waitValue.address = pointer(things.words);
  wait.waitValue.value = ++things.number;
  wait.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  return cuStreamBatchMemOp(things.held, 1, &wait, 0);
}

CUresult write_word(Things& things) {
  CUstreamBatchMemOpParams write = {};
  write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  write.writeValue.address = pointer(things.words + 32);
  write.writeValue.value = 1;
  return cuStreamBatchMemOp(things.other, 1, &write, 0);
}

struct Call {
  const char* name;
  std::function<CUresult(Things&)> make;
};

// What may wait for the stream. Those that are not there any more are made anew (renew).
const std::vector<Call> kWaiting = {
    {"cuMemFree, 32 MiB", [](Things& t) { return cuMemFree(std::exchange(t.large, 0)); }},
    {"cuMemFree, 400 B", [](Things& t) { return cuMemFree(std::exchange(t.small, 0)); }},
    {"cuMemFree of a pool's", [](Things& t) { return cuMemFree(std::exchange(t.pooled, 0)); }},
    {"cuMemFreeHost, 32 MiB",
     [](Things& t) { return cuMemFreeHost(std::exchange(t.large_pinned, nullptr)); }},
    {"cuMemFreeHost, 400 B",
     [](Things& t) { return cuMemFreeHost(std::exchange(t.small_pinned, nullptr)); }},
    {"cuMemAlloc, 32 MiB",
     [](Things&) {
       CUdeviceptr made = 0;  // and left
       return cuMemAlloc(&made, kLarge);
     }},
    {"cuMemcpyAsync to pageable memory, behind it",
     [](Things& t) { return cuMemcpyAsync(pointer(t.pageable), t.device, 4000, t.held); }},
    {"cuMemcpyAsync from pageable memory, behind it",
     [](Things& t) { return cuMemcpyAsync(t.device, pointer(t.pageable), 4000, t.held); }},
    {"cuMemcpyDtoH", [](Things& t) { return cuMemcpyDtoH(t.pageable, t.device, 4000); }},
    {"cuStreamSynchronize, default stream", [](Things&) { return cuStreamSynchronize(nullptr); }},
    {"cuStreamSynchronize", [](Things& t) { return cuStreamSynchronize(t.held); }},
    {"cuCtxSynchronize", [](Things&) { return cuCtxSynchronize(); }},
    {"cuModuleLoadData",
     [](Things&) {
       CUmodule module = nullptr;
       const CUresult said = cuModuleLoadData(&module, tutti::device::cuda::kPtxTold);
       return said == CUDA_SUCCESS ? cuModuleUnload(module) : said;
     }},
};

const std::vector<Call> kOthers = {
    {"cuLaunchKernel", &launch},
    {"cuEventRecord", [](Things& t) { return cuEventRecord(t.event, t.other); }},
    {"cuEventRecord, default stream",
     [](Things& t) { return cuEventRecord(t.event, CU_STREAM_LEGACY); }},
    {"cuEventQuery", [](Things& t) { return cuEventQuery(t.event); }},
    {"cuStreamQuery", [](Things& t) { return cuStreamQuery(t.other); }},
    {"cuStreamWaitEvent", [](Things& t) { return cuStreamWaitEvent(t.other, t.event, 0); }},
    {"cuStreamBatchMemOp", &write_word},
    {"cuMemcpyAsync, pinned to device",
     [](Things& t) { return cuMemcpyAsync(t.device, pointer(t.pinned), 4000, t.other); }},
    {"cuMemcpyAsync, within",
     [](Things& t) { return cuMemcpyAsync(t.there, t.device, 4000, t.other); }},
    {"cuPointerGetAttribute",
     [](Things& t) {
       unsigned long long id = 0;
       return cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, t.device);
     }},
    {"cuCtxPushCurrent",
     [](Things& t) {
       cuCtxPushCurrent(t.context);
       return cuCtxPopCurrent(nullptr);
     }},
    {"cuThreadExchangeStreamCaptureMode",
     [](Things&) {
       CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
       cuThreadExchangeStreamCaptureMode(&mode);
       return cuThreadExchangeStreamCaptureMode(&mode);
     }},
    {"cuStreamIsCapturing",
     [](Things& t) {
       CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
       return cuStreamIsCapturing(t.other, &status);
     }},
    {"cuEventCreate",
     [](Things& t) {
       const CUresult said = cuEventCreate(&t.fresh, CU_EVENT_DISABLE_TIMING);
       return said == CUDA_SUCCESS ? cuEventDestroy(t.fresh) : said;
     }},
    {"cuMemAlloc",
     [](Things&) {
       CUdeviceptr made = 0;  // and left
       return cuMemAlloc(&made, kSmall);
     }},
    {"cuMemHostAlloc",
     [](Things&) {
       void* made = nullptr;  // and left
       return cuMemHostAlloc(&made, kSmall, 0);
     }},
    {"cuMemAllocAsync",
     [](Things& t) {
       CUdeviceptr made = 0;
       const CUresult said = cuMemAllocAsync(&made, kSmall, t.other);
       return said == CUDA_SUCCESS ? cuMemFreeAsync(made, t.other) : said;
     }},
};

// Another thread that makes a call.
class Other {
 public:
  Other(Things& things, const Call& call)
      : thread_([this, &things, &call] {
          CU(cuCtxSetCurrent(things.context));
          is_ready_ = true;
          while (!may_go_) std::this_thread::yield();
          said_ = call.make(things);
          has_ended_ = true;
        }) {
    while (!is_ready_) std::this_thread::yield();
  }
  void go() { may_go_ = true; }
  bool ends_within(std::chrono::milliseconds time) const {
    const auto end = std::chrono::steady_clock::now() + time;
    while (!has_ended_ && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(100us);
    return has_ended_;
  }
  CUresult join() {
    thread_.join();
    return said_;
  }

 private:
  std::atomic<bool> is_ready_{false}, may_go_{false}, has_ended_{false};
  CUresult said_ = CUDA_SUCCESS;
  std::thread thread_;
};

void renew(Things& things) {
  if (things.large == 0) CU(cuMemAlloc(&things.large, kLarge));
  if (things.small == 0) CU(cuMemAlloc(&things.small, kSmall));
  if (things.pooled == 0) CU(cuMemAllocAsync(&things.pooled, kSmall, things.other));
  if (things.large_pinned == nullptr) CU(cuMemHostAlloc(&things.large_pinned, kLarge, 0));
  if (things.small_pinned == nullptr) CU(cuMemHostAlloc(&things.small_pinned, kSmall, 0));
  CU(cuCtxSynchronize());
}

void release(Things& things) {
  std::atomic_ref(*things.words).store(things.number);
}

// Whether each of them waits; `ends`: the first does not wait at all. Each time anew, since one
// that waits may hold what the next needs.
std::vector<bool> look(Things& things, const Call& waiting, bool* ends) {
  std::vector<bool> waits;
  for (const Call& call : kOthers) {
    renew(things);
    Other one(things, waiting), other(things, call);
    CU(stand(things));
    one.go();
    *ends = one.ends_within(30ms);
    other.go();
    waits.push_back(!other.ends_within(60ms));
    release(things);
    for (Other* each : {&one, &other})
      if (const CUresult said = each->join(); said != CUDA_SUCCESS && said != CUDA_ERROR_NOT_READY)
        std::fprintf(stderr, "beside %s: %s gives CUDA error %d\n", waiting.name,
                     each == &one ? waiting.name : call.name, static_cast<int>(said));
  }
  return waits;
}

void say(const Call& waiting, const std::vector<bool>& waits, bool ends) {
  std::printf("{\"what\": \"driver_waits\", \"in\": \"%s\", \"ends\": %s, \"bars\": [",
              waiting.name, ends ? "true" : "false");
  const char* between = "";
  for (std::size_t i = 0; i < kOthers.size(); ++i)
    if (waits[i]) std::printf("%s\"%s\"", std::exchange(between, ", "), kOthers[i].name);
  std::printf("]}\n");
  std::fflush(stdout);
}

}  // namespace

int main() {
  Things things;
  CU(cuInit(0));
  CU(cuDevicePrimaryCtxRetain(&things.context, 0));
  CU(cuCtxSetCurrent(things.context));
  CU(cuStreamCreate(&things.held, CU_STREAM_DEFAULT));  // before the default stream
  CU(cuStreamCreate(&things.other, CU_STREAM_NON_BLOCKING));
  CU(cuModuleLoadData(&things.module, tutti::device::cuda::kPtxTold));
  CU(cuModuleGetFunction(&things.kernel, things.module, "tutti_told"));
  CU(cuEventCreate(&things.event, CU_EVENT_DISABLE_TIMING));
  CU(cuMemHostAlloc(reinterpret_cast<void**>(&things.words), 4096,
                    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
  *things.words = 0;
  CU(cuMemHostAlloc(reinterpret_cast<void**>(&things.pinned), 4096, 0));
  CU(cuMemAlloc(&things.device, 4096));
  CU(cuMemAlloc(&things.there, 4096));
  things.pageable = static_cast<char*>(std::calloc(1, 4096));
  CU(launch(things));  // all that a first launch loads
  CU(cuEventRecord(things.event, things.other));
  CU(cuCtxSynchronize());
  for (const Call& waiting : kWaiting) {
    bool ends = false;
    const auto waits = look(things, waiting, &ends);
    say(waiting, waits, ends);
  }
  return 0;
}
