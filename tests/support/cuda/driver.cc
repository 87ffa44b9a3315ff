// The process's state, contexts, modules and launches.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

#include "standin.h"

namespace standin {
namespace {

unsigned long long variable(const char* name, unsigned long long fallback) {
  const char* const text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

void make_gpu(int number) {
  auto gpu = std::make_unique<Gpu>();
  gpu->number = number;
  const int file = new_file(number, kWindow + kIds);
  if (file < 0) std::abort();
  const auto map = [file](int protection) {
    void* const at = ::mmap(nullptr, kWindow, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (at == MAP_FAILED) std::abort();
    return static_cast<std::byte*>(at);
  };
  gpu->forbidden = map(PROT_NONE);
  gpu->open = map(PROT_READ | PROT_WRITE);
  gpu->file = file;
  gpu->primary.device = static_cast<int>(state().gpus.size());
  state().gpus.push_back(std::move(gpu));
}

// As CUDA_VISIBLE_DEVICES has it: the first that there is not ends the list.
std::vector<int> visible_of(int devices) {
  std::vector<int> numbers;
  const char* said = std::getenv("CUDA_VISIBLE_DEVICES");
  if (said == nullptr) {
    for (int i = 0; i < devices; ++i) numbers.push_back(i);
    return numbers;
  }
  for (char* end = nullptr;; said = end + 1) {
    const long number = std::strtol(said, &end, 10);
    if (end == said || number < 0 || number >= devices) return numbers;
    numbers.push_back(static_cast<int>(number));
    if (*end != ',') return numbers;
  }
}

// FUNCTION:NUMBER:ERROR[:once]
void read_failure() {
  const char* const text = std::getenv("STANDIN_CUDA_FAIL");
  if (text == nullptr) return;
  const std::string whole = text;
  const auto first = whole.find(':'), second = whole.find(':', first + 1);
  if (second == std::string::npos) std::abort();
  state().fails = whole.substr(0, first);
  state().fails_from = std::atoi(whole.c_str() + first + 1);
  state().fails_with = static_cast<CUresult>(std::atoi(whole.c_str() + second + 1));
  state().fails_once = whole.find(":once", second) != std::string::npos;
  const char* const in = std::getenv("STANDIN_CUDA_FAIL_IN");
  if (in != nullptr) state().fails_in = in;
}

// After these nothing works in the process any more.
bool breaks_context(CUresult error) {
  return error == CUDA_ERROR_ILLEGAL_ADDRESS || error == CUDA_ERROR_LAUNCH_FAILED ||
         error == CUDA_ERROR_ECC_UNCORRECTABLE;
}

// Of this thread; the last is current. Nothing to destroy: libraries call while a thread ends.
class OwnContexts {
 public:
  CUcontext last() const { return count_ == 0 ? nullptr : all_[count_ - 1]; }
  bool push(CUcontext context) {
    if (count_ == all_.size()) return false;
    all_[count_++] = context;
    return true;
  }
  bool pop() {
    if (count_ == 0) return false;
    --count_;
    return true;
  }

 private:
  std::array<CUcontext, 256> all_{};
  std::size_t count_ = 0;
};
constinit thread_local OwnContexts own_contexts;

}  // namespace

State& state() {
  static State& all = *new State;
  return all;
}

// Whether this call is one of those that are to fail.
static bool is_meant(const char* name, const void* caller) {
  const State& all = state();
  if (all.fails != name || all.fails_in.empty()) return all.fails == name;
  Dl_info place = {};
  return caller != nullptr && ::dladdr(caller, &place) != 0 &&
         std::strstr(place.dli_fname, all.fails_in.c_str()) != nullptr;
}

CUresult enter(const char* name, const void* caller) {
  State& all = state();
  ++all.counts.calls[name];
  if (!all.is_initialised) return CUDA_ERROR_NOT_INITIALIZED;
  if (all.lost != CUDA_SUCCESS) return all.lost;
  if (!is_meant(name, caller) || ++all.calls < all.fails_from) return CUDA_SUCCESS;
  if (all.fails_once && all.calls > all.fails_from) return CUDA_SUCCESS;
  if (breaks_context(all.fails_with)) all.lost = all.fails_with;
  return all.fails_with;
}

void come_in() {
  const unsigned most = state().call_us.load(std::memory_order_relaxed);
  if (most == 0) return;
  thread_local std::minstd_rand luck(static_cast<unsigned>(::gettid()));
  ::usleep(static_cast<unsigned>(luck()) % (most + 1));
}

CUcontext current() {
  return own_contexts.last();
}

}  // namespace standin

using namespace standin;

CUresult cuInit(unsigned) {
  const Lock lock(state().mutex);
  State& all = state();
  if (all.is_initialised) return CUDA_SUCCESS;
  const auto visible = visible_of(static_cast<int>(variable("STANDIN_CUDA_DEVICES", 2)));
  if (visible.empty()) return CUDA_ERROR_NO_DEVICE;
  for (const int number : visible) make_gpu(number);
  all.delay_us = static_cast<unsigned>(variable("STANDIN_CUDA_DELAY_US", 50));
  all.call_us = static_cast<unsigned>(variable("STANDIN_CUDA_CALL_US", 0));
  all.us_per_mib = variable("STANDIN_CUDA_US_PER_MIB", 0);
  all.within_us = variable("STANDIN_CUDA_WITHIN_US", 0);
  all.memory_limit = variable("STANDIN_CUDA_MEMORY", SIZE_MAX);
  all.pinned_limit = variable("STANDIN_CUDA_PINNED", SIZE_MAX);
  all.has_ipc = variable("STANDIN_CUDA_IPC", 1) != 0;
  const char* const peers = std::getenv("STANDIN_CUDA_PEERS");
  all.peers = peers == nullptr ? "" : peers;
  all.has_shared_queues = variable("STANDIN_CUDA_SHARED_QUEUES", 1) != 0;
  all.random = static_cast<std::uint64_t>(::getpid()) * 0x9e3779b97f4a7c15U;
  read_failure();
  all.is_initialised = true;
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_LAUNCH_FAILED                ? "CUDA_ERROR_LAUNCH_FAILED"
          : error == CUDA_ERROR_OUT_OF_MEMORY              ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == CUDA_ERROR_INVALID_VALUE              ? "CUDA_ERROR_INVALID_VALUE"
          : error == CUDA_ERROR_INVALID_CONTEXT            ? "CUDA_ERROR_INVALID_CONTEXT"
          : error == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ? "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"
          : error == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT    ? "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"
                                                           : "CUDA_ERROR_OTHER";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "as the stand-in was told";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = static_cast<int>(state().gpus.size());
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  ENTER("cuDeviceGet");
  if (ordinal < 0 || ordinal >= static_cast<int>(state().gpus.size()))
    return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  ENTER("cuDeviceGetName");
  std::snprintf(name, static_cast<std::size_t>(length), "stand-in %d", device);
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ENTER("cuDevicePrimaryCtxRetain");
  if (device < 0 || device >= static_cast<int>(state().gpus.size()))
    return CUDA_ERROR_INVALID_DEVICE;
  Gpu& gpu = *state().gpus[static_cast<std::size_t>(device)];
  ++gpu.retained;
  *context = &gpu.primary;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  ENTER("cuDevicePrimaryCtxRelease");
  --state().gpus[static_cast<std::size_t>(device)]->retained;
  return CUDA_SUCCESS;
}
static CUresult make_context(CUcontext* context, CUdevice device) {
  if (device < 0 || device >= static_cast<int>(state().gpus.size()))
    return CUDA_ERROR_INVALID_DEVICE;
  auto& all = state().own_contexts;
  auto made = std::make_unique<CUctx_st>();
  made->device = device;
  made->made = all.size() + 1;
  *context = made.get();
  all.push_back(std::move(made));
  return own_contexts.push(*context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
#if CUDA_VERSION >= 13000
CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice device) {
#else
CUresult cuCtxCreate(CUcontext* context, unsigned, CUdevice device) {
#endif
  ENTER("cuCtxCreate");
  return make_context(context, device);
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  ENTER("cuCtxGetCurrent");
  *context = current();
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  ENTER("cuCtxSetCurrent");
  own_contexts.pop();
  if (context != nullptr) own_contexts.push(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent(CUcontext context) {
  ENTER("cuCtxPushCurrent");
  return own_contexts.push(context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  ENTER("cuCtxPopCurrent");
  if (context != nullptr) *context = own_contexts.last();
  return own_contexts.pop() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  ENTER("cuCtxGetDevice");
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = current()->device;
  return CUDA_SUCCESS;
}
// Kernels are the host's twins of those that the PTX holds.
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  ENTER("cuModuleLoadData");
  const std::string ptx = static_cast<const char*>(image);
  if (ptx.find(".target sm_75") == std::string::npos) return CUDA_ERROR_INVALID_PTX;
  const Alone alone(lock);
  if (current() != nullptr) await_context(lock, *current());
  *module = new CUmod_st{ptx, current(), false, {}};
  if (current() != nullptr) current()->modules.push_back(*module);
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  ENTER("cuModuleUnload");
  must_live(module->is_stale, "module");
  if (module->context != nullptr) std::erase(module->context->modules, module);
  delete module;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  ENTER("cuModuleGetFunction");
  must_live(module->is_stale, "module");
  const std::string entry = std::string(".visible .entry ") + name + "(";
  const auto found = module->ptx.find(entry);
  if (found == std::string::npos) return CUDA_ERROR_NOT_FOUND;
  void* const twin = ::dlsym(RTLD_DEFAULT, (std::string("tutti_twin_") + name).c_str());
  if (twin == nullptr) return CUDA_ERROR_NOT_FOUND;
  // Its parameter is bytes: ".param .align 8 .b8 tutti_rows_param_0[1960]".
  const auto size = module->ptx.find('[', found);
  *function =
      module->functions
          .emplace_back(std::make_unique<CUfunc_st>(reinterpret_cast<void (*)(const void*)>(twin),
                                                    std::atoi(module->ptx.c_str() + size + 1)))
          .get();
  return CUDA_SUCCESS;
}
// A library that works in this context has loaded kernels of its own.
extern "C" void tutti_standin_loads(CUcontext context) {
  const Lock lock(state().mutex);
  context->has_grown = true;
}
CUresult cuLaunchKernel(CUfunction function, unsigned x, unsigned y, unsigned z, unsigned threads,
                        unsigned, unsigned, unsigned, CUstream on, void** params, void**) {
  ENTER_WORK("cuLaunchKernel");
  CUstream_st* const stream = stream_of(on);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (x == 0 || y == 0 || y > 65535 || z == 0 || z > 65535 || threads == 0 || threads > 1024)
    return CUDA_ERROR_INVALID_VALUE;
  ++state().counts.launches;
  const auto* const bytes = static_cast<const std::byte*>(params[0]);
  std::vector<std::byte> copy(bytes, bytes + function->kernel_bytes);
  enqueue(
      *stream, [twin = function->twin, copy = std::move(copy)] { twin(copy.data()); }, nullptr,
      touches("kernel", {}));
  if (std::exchange(stream->context->has_grown, false)) wait_for_all(*stream);
  return CUDA_SUCCESS;
}

// What passed through host memory so far, for tests.
extern "C" unsigned long long tutti_standin_count(const char* what) {
  const Lock lock(state().mutex);
  const Counts& counts = state().counts;
  const std::string name = what;
  Bus& bus = state().bus;
  // Threads inside of the driver that let nobody launch anything.
  if (name == "alone") return static_cast<unsigned long long>(state().alone);
  if (name == "both_ways") return bus.both_ways;
  if (name == "first_up_ns") return bus.first_up_ns.exchange(0);
  if (name == "last_down_ns") return bus.last_down_ns;
  if (name == "calls") {  // of any function
    unsigned long long all = 0;
    for (const auto& [function, calls] : counts.calls) all += calls;
    return all;
  }
  if (name.starts_with("cu")) {
    const auto found = counts.calls.find(name);
    return found == counts.calls.end() ? 0 : found->second;
  }
  return name == "to_host"     ? counts.to_host
         : name == "from_host" ? counts.from_host
         : name == "within"    ? counts.within
         : name == "launches"  ? counts.launches
         : name == "longest"   ? counts.longest
         : name == "opened"    ? counts.opened
         : name == "closed"    ? counts.closed
         : name == "allocated" ? counts.allocated
         : name == "pinned"    ? counts.pinned
                               : counts.copies;
}
