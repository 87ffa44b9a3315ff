// What other threads' calls of the driver wait for, while one thread is inside of it, waiting for a
// stream that stands still: a JSON object a line. It is the driver's own, nothing of ours is asked.
//
//   {"what": "driver_waits", "in": "cuMemFree", "ends": false, "bars": ["cuLaunchKernel", ...]}
//
// in: the call that the one thread is in; ends: it has ended although the stream stands still;
// bars: calls of another thread that wait for it. What driver 580 said on an H200 is expected here,
// and the stand-in does the same (record 0062): else a line says what, and the status is 1. What no
// driver was asked yet is told, and not expected (record 0070).
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
  CUdeviceptr device = 0, there = 0, managed = 0, reserved = 0;
  CUmemGenericAllocationHandle mapped = 0;
  CUmemAccessDesc access = {};
  // To be freed.
  CUdeviceptr small = 0, large = 0, pooled = 0;
  void *small_pinned = nullptr, *large_pinned = nullptr;
};
constexpr std::size_t kSmall = 400, kLarge = std::size_t{32} << 20, kGrain = std::size_t{2} << 20;

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

CUresult map(Things& things) {
  CUresult said = cuMemMap(things.reserved, kGrain, 0, things.mapped, 0);
  if (said == CUDA_SUCCESS) said = cuMemSetAccess(things.reserved, kGrain, &things.access, 1);
  const CUresult unmapped = cuMemUnmap(things.reserved, kGrain);
  return said == CUDA_SUCCESS ? unmapped : said;
}

CUresult write_word(Things& things) {
  CUstreamBatchMemOpParams write = {};
  write.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  write.writeValue.address = pointer(things.words + 32);
  write.writeValue.value = 1;
  return cuStreamBatchMemOp(things.other, 1, &write, 0);
}

// Calls that others wait for: whatever makes something (also an event in the default stream); and
// what gives a stream work, but for words.
enum class Sort { never, makes, works, unknown };

struct Call {
  const char* name;
  Sort sort;  // one that waits bars these, and those before it
  std::function<CUresult(Things&)> make;
  bool ends = false;  // it does not wait
};
bool is_known(const Call& waiting, const Call& other) {
  return waiting.sort != Sort::unknown && other.sort != Sort::unknown;
}
bool bars(const Call& waiting, const Call& other) {
  return is_known(waiting, other) && other.sort != Sort::never && other.sort <= waiting.sort;
}

// What may wait for the stream. Those that are not there any more are made anew (renew).
const std::vector<Call> kWaiting = {
    {"cuMemFree, 32 MiB", Sort::works,
     [](Things& t) { return cuMemFree(std::exchange(t.large, 0)); }},
    {"cuMemFree, 400 B", Sort::works,
     [](Things& t) { return cuMemFree(std::exchange(t.small, 0)); }},
    {"cuMemFree of a pool's", Sort::never,
     [](Things& t) { return cuMemFree(std::exchange(t.pooled, 0)); }, true},
    {"cuMemFreeHost, 32 MiB", Sort::works,
     [](Things& t) { return cuMemFreeHost(std::exchange(t.large_pinned, nullptr)); }},
    {"cuMemFreeHost, 400 B", Sort::works,
     [](Things& t) { return cuMemFreeHost(std::exchange(t.small_pinned, nullptr)); }},
    {"cuMemAlloc, 32 MiB", Sort::never,
     [](Things&) {
       CUdeviceptr made = 0;  // and left
       return cuMemAlloc(&made, kLarge);
     },
     true},
    {"cuMemcpyAsync to pageable memory, behind it", Sort::makes,
     [](Things& t) { return cuMemcpyAsync(pointer(t.pageable), t.device, 4000, t.held); }},
    {"cuMemcpyDtoH", Sort::works,
     [](Things& t) { return cuMemcpyDtoH(t.pageable, t.device, 4000); }},
    {"cuMemcpyAsync to managed memory, default stream", Sort::unknown,
     [](Things& t) { return cuMemcpyAsync(t.managed, pointer(t.pinned), 4000, nullptr); }},
    {"cuStreamSynchronize, default stream", Sort::never,
     [](Things&) { return cuStreamSynchronize(nullptr); }},
    {"cuStreamSynchronize", Sort::never, [](Things& t) { return cuStreamSynchronize(t.held); }},
    {"cuCtxSynchronize", Sort::never, [](Things&) { return cuCtxSynchronize(); }},
    {"cuModuleLoadData", Sort::works,
     [](Things&) {
       CUmodule module = nullptr;
       const CUresult said = cuModuleLoadData(&module, tutti::device::cuda::kPtxTold);
       return said == CUDA_SUCCESS ? cuModuleUnload(module) : said;
     }},
};

const std::vector<Call> kOthers = {
    {"cuLaunchKernel", Sort::works, &launch},
    {"cuEventRecord", Sort::works, [](Things& t) { return cuEventRecord(t.event, t.other); }},
    {"cuEventRecord, default stream", Sort::makes,
     [](Things& t) { return cuEventRecord(t.event, CU_STREAM_LEGACY); }},
    {"cuEventQuery", Sort::never, [](Things& t) { return cuEventQuery(t.event); }},
    {"cuStreamQuery", Sort::never, [](Things& t) { return cuStreamQuery(t.other); }},
    {"cuStreamWaitEvent", Sort::never,
     [](Things& t) { return cuStreamWaitEvent(t.other, t.event, 0); }},
    {"cuStreamBatchMemOp", Sort::never, &write_word},
    {"cuMemcpyAsync, pinned to device", Sort::works,
     [](Things& t) { return cuMemcpyAsync(t.device, pointer(t.pinned), 4000, t.other); }},
    {"cuMemcpyAsync, within", Sort::works,
     [](Things& t) { return cuMemcpyAsync(t.there, t.device, 4000, t.other); }},
    {"cuPointerGetAttribute", Sort::never,
     [](Things& t) {
       unsigned long long id = 0;
       return cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, t.device);
     }},
    {"cuCtxPushCurrent", Sort::never,
     [](Things& t) {
       cuCtxPushCurrent(t.context);
       return cuCtxPopCurrent(nullptr);
     }},
    {"cuThreadExchangeStreamCaptureMode", Sort::never,
     [](Things&) {
       CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
       cuThreadExchangeStreamCaptureMode(&mode);
       return cuThreadExchangeStreamCaptureMode(&mode);
     }},
    {"cuStreamIsCapturing", Sort::never,
     [](Things& t) {
       CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
       return cuStreamIsCapturing(t.other, &status);
     }},
    {"cuEventCreate", Sort::makes,
     [](Things& t) {
       const CUresult said = cuEventCreate(&t.fresh, CU_EVENT_DISABLE_TIMING);
       return said == CUDA_SUCCESS ? cuEventDestroy(t.fresh) : said;
     }},
    {"cuMemAlloc", Sort::makes,
     [](Things&) {
       CUdeviceptr made = 0;  // and left
       return cuMemAlloc(&made, kSmall);
     }},
    {"cuMemHostAlloc", Sort::makes,
     [](Things&) {
       void* made = nullptr;  // and left
       return cuMemHostAlloc(&made, kSmall, 0);
     }},
    {"cuIpcGetMemHandle", Sort::unknown,
     [](Things& t) {
       CUipcMemHandle handle;
       return cuIpcGetMemHandle(&handle, t.device);
     }},
    {"cuMemMap, cuMemSetAccess, cuMemUnmap", Sort::unknown, &map},
    {"cuMemAllocAsync", Sort::never,
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

CUresult end_of(Other& other) {
  const CUresult said = other.join();
  return said == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : said;
}

// Whether the one ends, and the other; each time anew, since one that waits may hold what the next
// needs. Who is expected to end has time to.
struct Seen {
  bool one_ends, other_ends;
};
Seen look(Things& things, const Call& waiting, const Call& call) {
  constexpr auto kLong = 10000ms, kShort = 30ms;
  renew(things);
  Other one(things, waiting), other(things, call);
  CU(stand(things));
  one.go();
  const bool one_ends = one.ends_within(waiting.ends ? kLong : kShort);
  other.go();
  const bool is_expected = is_known(waiting, call) && !bars(waiting, call);
  const bool other_ends = other.ends_within(is_expected ? kLong : 2 * kShort);
  release(things);
  must(end_of(one), waiting.name);
  must(end_of(other), call.name);
  return {one_ends, other_ends};
}

// Whether all is as it is known. Who is late into the call that others wait for is given another
// time.
bool say(Things& things, const Call& waiting) {
  constexpr int kTimes = 5;
  bool ends = false, is_as_known = true;
  std::string barred;
  for (const Call& call : kOthers) {
    Seen seen = look(things, waiting, call);
    for (int i = 1; i < kTimes && bars(waiting, call) && seen.other_ends; ++i)
      seen = look(things, waiting, call);
    ends = seen.one_ends;
    if (!seen.other_ends)
      barred += (barred.empty() ? "\"" : ", \"") + std::string(call.name) + "\"";
    if (!is_known(waiting, call)) continue;
    if (ends == waiting.ends && seen.other_ends != bars(waiting, call)) continue;
    is_as_known = false;
    std::fprintf(stderr, "beside %s: %s %s; that is not what was known\n", waiting.name, call.name,
                 seen.other_ends ? "does not wait" : "waits");
  }
  std::printf("{\"what\": \"driver_waits\", \"in\": \"%s\", \"ends\": %s, \"bars\": [%s]}\n",
              waiting.name, ends ? "true" : "false", barred.c_str());
  std::fflush(stdout);
  return is_as_known;
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
  CU(cuMemAllocManaged(&things.managed, 4096, CU_MEM_ATTACH_GLOBAL));
  CUmemAllocationProp of = {};
  of.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  of.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  things.access.location = of.location;
  things.access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CU(cuMemCreate(&things.mapped, kGrain, &of, 0));
  CU(cuMemAddressReserve(&things.reserved, kGrain, 0, 0, 0));
  things.pageable = static_cast<char*>(std::calloc(1, 4096));
  CU(launch(things));  // all that a first launch loads
  CU(cuEventRecord(things.event, things.other));
  CU(cuCtxSynchronize());
  bool is_as_known = true;
  for (const Call& waiting : kWaiting) is_as_known = say(things, waiting) && is_as_known;
  return is_as_known ? 0 : 1;
}
