// standin: a CUDA driver for machines without a GPU, as far as Tutti and its tests call it.
//
// Device memory is address space that the processor may not touch, with a second mapping for what
// the "GPU" does, so that a stray load or store ends the test. Each stream is a thread that runs
// behind by random delays, so that a missing wait shows as wrong data. Who takes memory away that
// something in a stream still touches is told of both and ended; so is a kernel that touches memory
// to which its GPU was given no access (access.cc). Everything is counted.
//
//   STANDIN_CUDA_DEVICES=2         how many GPUs
//   CUDA_VISIBLE_DEVICES=1,0       which of them this process sees, and how it counts them
//   STANDIN_CUDA_DELAY_US=50       each piece of work starts up to so much late
//   STANDIN_CUDA_CALL_US=300       who copies, launches or records gets in up to so much later
//   STANDIN_CUDA_US_PER_MIB=1000   a copy to or from the host takes so long beside that
//   STANDIN_CUDA_WITHIN_US=1000    a copy within GPUs takes so long beside that, as where processes
//                                  take turns on one
//   STANDIN_CUDA_MEMORY=1073741824 bytes of each GPU; STANDIN_CUDA_PINNED: of pinned memory
//   STANDIN_CUDA_IPC=0             handles of other processes cannot be opened, as in containers
//   STANDIN_CUDA_PEERS=0           no GPU reaches another one's memory; =0-1,2-3: only these do,
//                                  as the machine counts them
//   STANDIN_CUDA_FAIL=cuMemcpyAsync:5:719   the fifth call of it and all later ones give this
//                                  error (:719:once: no other); of those that break a context (such
//                                  as 719) CUDA says that the process is lost: every call gives
//                                  them from then on, on all of its GPUs
//   STANDIN_CUDA_FAIL_IN=libmpi    only calls from a library whose name has this count
#pragma once

#include <cuda.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace standin {

// The last three lie in host memory; what is registered is the caller's.
enum class Kind : std::uint8_t { device, pool, vmm, pinned, registered, managed };

struct Allocation {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  Kind kind = Kind::device;
  int device = 0;
  CUcontext context = nullptr;
  unsigned long long id = 0;
  bool is_live = true;
  // The GPUs that may touch it, a bit each; what is of a pool goes by the pool's.
  std::uint64_t open_to = 0;
  // Of another process's memory: where this process's GPU finds it, its mapping, how often opened.
  std::byte* open = nullptr;
  std::size_t mapped = 0;
  int opened = 0;
  std::uint64_t far = 0;  // where it lies there, and its id there
  unsigned long long far_id = 0;
  std::string handle;
  CUmemoryPool pool = nullptr;
  // A mapping, or a part of a range of addresses that shows nothing: the whole range.
  CUmemGenericAllocationHandle mapped_by = 0;
  std::uintptr_t range_begin = 0;
  std::size_t range_bytes = 0;
};

// The end of a piece of work.
struct End {
  bool has_come = false;
};
using EndRef = std::shared_ptr<End>;

// What a piece of work reads and writes, and who put it into its stream.
struct Touches {
  struct Range {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
  };
  const char* what = nullptr;
  std::vector<Range> ranges;
  const void* stream_by = nullptr;  // the library that made its stream
  bool is_under_way = false;
  int depth = 0;
  void* stack[16] = {};
};
using TouchesRef = std::shared_ptr<Touches>;

struct Work {
  std::function<void()> run;
  std::vector<EndRef> after;
  EndRef end;
  TouchesRef touches;
};

}  // namespace standin

// What the driver's handles point to.
// Those of a context that was reset are kept: who uses one then is told and ended.
struct CUstream_st {
  CUcontext context = nullptr;
  bool is_stale = false;
  bool is_blocking = true;  // ordered with the legacy stream
  // Of a capture that is under way.
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  const void* captured_by = nullptr;  // its thread
  bool is_spoilt = false;
  bool is_over = false;
  const void* made_by = nullptr;  // the library; null: the stream is the context's own
  std::deque<standin::Work> queue;
  standin::EndRef last;
  std::condition_variable wakes;
};
struct CUevent_st {
  standin::EndRef end;  // null: never recorded
  CUcontext context = nullptr;
  bool is_stale = false;
};
struct CUctx_st {
  int device = 0;
  unsigned long long made = 0;  // of those that programs have made, from 1; 0: a primary one
  unsigned long long resets = 0;
  std::unique_ptr<CUstream_st> legacy, per_thread;
  standin::EndRef up, down;  // the latest copies from the host and to it
  std::vector<CUstream_st*> streams;
  std::vector<CUevent_st*> events;
  std::vector<CUmodule> modules;
  bool has_grown = false;  // a library has loaded kernels: the next one waits for all streams
};
struct CUmemPoolHandle_st {
  int device = 0;
  bool is_shareable = false;
  int file = -1;              // of another process; -1: of this one
  std::uint64_t open_to = 0;  // as of an allocation
};
struct CUfunc_st {
  void (*twin)(const void* params) = nullptr;
  int kernel_bytes = 0;
};
struct CUmod_st {
  std::string ptx;
  CUcontext context = nullptr;
  bool is_stale = false;
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};

namespace standin {

constexpr std::size_t kWindow = std::size_t{16} << 30;  // addresses of a GPU
constexpr std::size_t kApart = 512;                     // of allocations
constexpr std::size_t kIds = kWindow / kApart * sizeof(unsigned long long);

struct Gpu {
  int number = 0;                  // as the machine counts it; processes by what they see
  std::byte* forbidden = nullptr;  // what callers see
  std::byte* open = nullptr;       // the same bytes, for the GPU itself
  int file = -1;                   // they lie in; behind them the ids of what is exported (ipc.cc)
  std::size_t taken = 0;           // addresses are not given twice
  std::size_t used = 0;
  CUctx_st primary;
  int retained = 0;
};

struct Counts {
  std::map<std::string, unsigned long long, std::less<>> calls;  // by function
  unsigned long long to_host = 0, from_host = 0, within = 0, launches = 0, copies = 0;
  unsigned long long longest = 0;             // pieces that a stream has held
  unsigned long long opened = 0, closed = 0;  // handles of other processes
  unsigned long long allocated = 0;           // calls that took memory of a GPU
  unsigned long long pinned = 0;              // bytes of pinned memory that kernels have touched
};

// Copies between GPUs and the host, as streams work them; down is to the host.
struct Bus {
  std::atomic<int> up = 0, down = 0;              // under way
  std::atomic<unsigned long long> both_ways = 0;  // that began beside one the other way
  // By the machine's clock: when the first began since that was asked, when the last ended.
  std::atomic<unsigned long long> first_up_ns = 0, last_down_ns = 0;
};

// All there is, never destroyed: threads run to the end of the process.
struct State {
  std::mutex mutex;
  Bus bus;
  std::condition_variable ends;
  bool is_initialised = false;
  std::vector<std::unique_ptr<Gpu>> gpus;
  std::vector<std::unique_ptr<CUctx_st>> own_contexts;  // that programs have made
  std::map<std::uintptr_t, Allocation> allocations;
  std::vector<CUstream> captured;
  std::vector<const void*> stale;  // what contexts that were reset had
  unsigned long long next_id = 1;
  std::size_t pinned_limit = SIZE_MAX, pinned = 0, memory_limit = SIZE_MAX;
  unsigned delay_us = 0;
  std::atomic<unsigned> call_us{0};
  unsigned long long us_per_mib = 0, within_us = 0;
  bool has_ipc = true;
  std::string peers;              // STANDIN_CUDA_PEERS
  bool has_shared_queues = true;  // of a process: not where threads stand for processes
  std::uint64_t random = 1;
  std::string fails, fails_in;  // function, and the library that calls it
  int fails_from = 0, calls = 0;
  bool fails_once = false;
  CUresult fails_with = CUDA_SUCCESS, lost = CUDA_SUCCESS;
  std::vector<TouchesRef> touches;  // of all that has not ended, in any stream
  int waiting_copies = 0;           // that threads wait for inside of the driver
  int alone = 0;                    // threads that wait there with what most other calls need
  Counts counts;
};
State& state();

// Of a call that gives a stream work, before the state is locked: waits for its turn.
void come_in();
// Of each call: whether it may go on. `name` as in cuda.h.
CUresult enter(const char* name, const void* caller = nullptr);
using Lock = std::unique_lock<std::mutex>;

// memory.cc; the state is locked.
Allocation* find(std::uintptr_t address);
// Null: not all of it is allocated, or that GPU may not touch all of it.
void* reach(std::uintptr_t address, std::size_t bytes, int device);
CUresult allocate(Kind kind, int device, std::size_t bytes, CUdeviceptr* address);
bool is_window(std::uintptr_t address);
CUresult release(std::uintptr_t address, Kind kind, Kind other);
// access.cc; the state is locked. GPUs by this process's count, where no number is said.
constexpr int kAnyGpu = -1;             // a copy's, which the driver does by whichever may
bool are_peers(int number, int other);  // both as the machine counts them
bool may_open(int device, int number);  // memory of the GPU that the machine counts so
void let_in(std::uint64_t& gpus, int device, bool is_in = true);
bool may_touch(const Allocation& memory, int device);
void work_on(int device);  // this thread, from now on
int working_gpu();
// ipc.cc: where memory of a process lies, for others.
struct Place {
  std::uint32_t magic = 0x74757474;
  pid_t process = 0;
  int file = -1, device = 0;
  std::uint64_t offset = 0, bytes = 0;
  unsigned long long id = 0;
};
static_assert(sizeof(Place) <= sizeof(CUipcMemHandle));
// Which GPU a file of ours is of, as its name says, by this process's count (below 0: it does not
// see that one) and by the machine's.
int device_of(int file);
int number_of(int file);
// A file of that GPU's, by the machine's number, of a size that is final; below 0: there is no
// room.
int new_file(int number, std::size_t bytes);
CUresult export_place(const Allocation& of, Place* place);
CUresult import_place(int file, const Place& place, Allocation* made);
void unmap(const Allocation& gone);
// Of a pool: its owner may not free it meanwhile.
void note_opened(int file, const Allocation& of, bool is_open);
void end_export(const Allocation& gone);

// captures.cc; the state is locked. What a call that a capture forbids gives, and the graph is
// lost: one that questions, waits or allocates, and one that puts something into the default
// stream.
CUresult spoil_by(const char* name);
CUresult spoil_by_default(CUstream stream);
bool is_captured(CUstream stream);

// touches.cc; the state is locked. Memory that goes while work in a stream touches it ends the
// test.
TouchesRef touches(const char* what, std::vector<Touches::Range> ranges);
void begin_touching(const TouchesRef& work);  // in the stream's thread
void touch(std::uintptr_t begin, std::size_t bytes);
void end_touching(const TouchesRef& work);
void say_who_runs();  // who put this thread's work into its stream
const void* library_of(const void* caller);
void must_be_untouched(std::uintptr_t address, const char* taken_by);
// By calls that wait for all streams: what a program has in its own may be left to that.
void must_be_untouched_by_others(std::uintptr_t address, const char* taken_by, const void* caller);

// contexts.cc: a handle of a context that was reset ends the test.
void must_live(bool is_stale, const char* what);

// driver.cc: this thread's context.
CUcontext current();
// streams.cc; the state is locked, and is not while they wait.
CUstream_st* stream_of(CUstream stream);
EndRef enqueue(CUstream_st& stream, std::function<void()> run, const EndRef& after = nullptr,
               const TouchesRef& touches = nullptr);
// The work that this stream got last waits for all that the streams of its context hold by now.
void wait_for_all(CUstream_st& stream);
void await(Lock& lock, const EndRef& end);
void await_context(Lock& lock, CUctx_st& context);
void await_all(Lock& lock);
// Seen with driver 580 (tests/gpu/driver_waits.cc): what makes something waits for copies that
// others wait for; and who frees memory, loads a module or copies to the host at once waits for
// streams, and meanwhile nobody makes anything or gives a stream work, but for words.
void await_waiting_copies(Lock& lock);
void await_alone(Lock& lock);
class Alone {
 public:
  explicit Alone(Lock& held);
  ~Alone();
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  const int counts_;
};

}  // namespace standin

// Begins each function of the driver's.
#define ENTER(name)                                                                              \
  standin::Lock lock(standin::state().mutex);                                                    \
  if (const CUresult no = standin::enter(name, __builtin_return_address(0)); no != CUDA_SUCCESS) \
  return no
// The same of those that give a stream work.
#define ENTER_WORK(name) \
  standin::come_in();    \
  ENTER(name);           \
  standin::await_alone(lock)
// The same of those that are unsafe while a stream is captured.
#define ENTER_UNSAFE(name) \
  ENTER(name);             \
  if (const CUresult no = standin::spoil_by(name); no != CUDA_SUCCESS) return no
