// Streams of a world that has no MPI above it, as a backend of torch would use them.
#include <cuda.h>
#include <dlfcn.h>

#include <atomic>
#include <thread>

#include "enqueue/enqueue.h"
#include "ranks.h"

namespace {

using namespace tutti;
using enqueue::QueuedCall;
using test::Rank;

constexpr Handle kInt = 0x209, kSum = 0x21, kMax = 0x23;

struct Gpu {
  explicit Gpu(int number = 0) : device(number) {
    cuInit(0);
    CUcontext context = nullptr;
    cuDevicePrimaryCtxRetain(&context, device);
    cuCtxSetCurrent(context);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cuMemAlloc(&memory, sizeof(int));
    cuMemHostAlloc(reinterpret_cast<void**>(&pinned), 2 * sizeof(int), 0);
  }
  ~Gpu() {
    cuStreamDestroy(stream);
    cuMemFree(memory);
    cuMemFreeHost(pinned);
    cuDevicePrimaryCtxRelease(device);
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  const int device;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  int* pinned = nullptr;
};

comm::CollCall fold_of(const Gpu& gpu, Handle op) {
  comm::CollCall call;
  call.collective = coll::Collective::allreduce;
  call.recv = reinterpret_cast<void*>(gpu.memory);
  call.recv_count = 1;
  call.recv_type = types::predefined_type(kInt);
  call.op = types::predefined_op(op);
  call.in_place = true;
  return call;
}

// The ranks are threads of one process: the first stream of one loads kernels, and at its end it
// frees memory, for which the driver waits for the streams of all.
void meet(const Rank& me, comm::Communicator& comm) {
  comm::CollCall call;
  call.collective = coll::Collective::barrier;
  me.world.enter();
  me.expect(comm::run(comm, call) == Code::ok, "a barrier");
  me.world.leave();
}

void sum_in_a_stream(const Rank& me) {
  const Gpu gpu;
  const bool was_gated = me.world.is_gated();
  enqueue::CallStreams streams(me.world, nullptr);
  me.expect(me.world.is_gated() == was_gated, "no stream, no gate");
  me.world.enter();
  auto opened = streams.open("cudaStream_t", reinterpret_cast<std::uintptr_t>(gpu.stream));
  me.expect(opened.has_value() && me.world.is_gated(), "a stream, a gate");
  me.expect(!streams.open("hipStream_t", 1), "streams of another vendor");
  me.world.leave();
  if (!opened) return;
  meet(me, me.comm);
  gpu.pinned[0] = me.rank + 1;
  cuMemcpyHtoDAsync(gpu.memory, gpu.pinned, sizeof(int), gpu.stream);
  for (int round = 0; round < 5; ++round) {
    me.world.enter();
    QueuedCall sum = *QueuedCall::of_collective(me.comm, fold_of(gpu, kSum));
    me.world.leave();
    me.expect((*opened)->put(sum).has_value(), "put");
  }
  cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(gpu.pinned + 1), gpu.memory, sizeof(int), gpu.stream);
  cuStreamSynchronize(gpu.stream);
  int expected = me.size * (me.size + 1) / 2;
  for (int round = 1; round < 5; ++round) expected *= me.size;
  me.expect(gpu.pinned[1] == expected, "the sum");
  me.world.enter();
  (*opened)->close();
  me.expect(!streams.is_under_way(), "nothing is left");
  opened->reset();
  me.world.leave();
  meet(me, me.comm);
}

#ifdef STANDIN_NCCL
// A GPU a rank. The vendor's library works in the stream itself, as its maker has promised.
struct Promised {
  explicit Promised(const Rank& rank) : me(rank), gpu(rank.rank), streams(rank.world, nullptr) {
    me.world.enter();
    auto made = streams.open("cudaStream_t", reinterpret_cast<std::uintptr_t>(gpu.stream), true);
    auto dup = comm::dup(me.comm);
    me.expect(made && dup && enqueue::UserStream::attach(**dup, made->get()) == Code::ok,
              "a stream, and a communicator for it");
    stream = std::move(*made);
    own = std::move(*dup);
    me.world.leave();
  }
  ~Promised() {
    meet(me, *own);
    me.world.enter();
    own.reset();
    stream.reset();
    me.world.leave();
  }
  Promised(const Promised&) = delete;
  Promised& operator=(const Promised&) = delete;
  QueuedCall call(Handle op) {
    me.world.enter();
    QueuedCall made = *QueuedCall::of_collective(*own, fold_of(gpu, op));
    me.world.leave();
    me.expect(made.what == QueuedCall::What::streamed, "it is the library's");
    return made;
  }
  // What has failed until all has ended.
  std::optional<enqueue::Failure> close() {
    me.world.enter();
    stream->close();
    me.expect(!streams.is_under_way(), "nothing is left");
    auto failure = stream->take_failure();
    me.world.leave();
    return failure;
  }

  const Rank& me;
  const Gpu gpu;
  enqueue::CallStreams streams;
  Ref<enqueue::UserStream> stream;
  comm::CommRef own;
};

void sum_by_the_library(const Rank& me) {
  Promised promised(me);
  const Gpu& gpu = promised.gpu;
  gpu.pinned[0] = me.rank + 1;
  cuMemcpyHtoDAsync(gpu.memory, gpu.pinned, sizeof(int), gpu.stream);
  for (int round = 0; round < 300; ++round) {  // more than there is room for
    QueuedCall call = promised.call(round == 0 ? kSum : kMax);
    me.expect(promised.stream->put(call).has_value(), "put");
    if (round > 0) continue;
    cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(gpu.pinned + 1), gpu.memory, sizeof(int),
                  gpu.stream);
  }
  cuStreamSynchronize(gpu.stream);
  me.expect(gpu.pinned[1] == 3, "the sum");
  me.expect(!promised.close(), "all was well");
}

// The reason of a waited call before it, which nobody has taken, is not its own.
void fail_by_the_library(const Rank& me) {
  Promised promised(me);
  std::atomic<bool> goes_on = false;
  const auto hold = [](void* flag) {
    while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
  };
  cuLaunchHostFunc(promised.gpu.stream, hold, &goes_on);
  QueuedCall call = promised.call(kSum);
  const comm::StreamedCall& streamed = *call.streamed;
  me.expect(promised.stream->put(call).has_value(), "put");
  int words[2] = {};
  comm::CollCall differs = fold_of(promised.gpu, kMax);
  differs.recv = words;
  differs.recv_count = me.rank + 1;
  me.world.enter();
  me.expect(comm::run(me.comm, differs) == Code::other, "counts differ");
  streamed.fail(Code::other);
  me.world.leave();
  goes_on.store(true);
  const auto failure = promised.close();
  me.expect(failure && failure->code == Code::other, "it is told");
  if (failure) me.expect(!failure->why.is_mismatch, failure->why.text);
}
#endif

}  // namespace

#ifdef STANDIN_NCCL
TEST_CASE("sums by a vendor's library in a stream without MPI", "[enqueue]") {
  REQUIRE(::dlopen(STANDIN_NCCL, RTLD_NOW) != nullptr);  // found by its name then
  test::run_ranks({0, 0}, sum_by_the_library, test::knobs_with({{"TUTTI_GPU_SUPPORT", "yes"}}));
}
TEST_CASE("a call of a vendor's library that fails says no other call's reason", "[enqueue]") {
  REQUIRE(::dlopen(STANDIN_NCCL, RTLD_NOW) != nullptr);
  test::run_ranks({0, 0}, fail_by_the_library, test::knobs_with({{"TUTTI_GPU_SUPPORT", "yes"}}));
}
#endif
TEST_CASE("sums in a stream without MPI", "[enqueue]") {
  test::run_ranks({0, 0}, sum_in_a_stream);
}
TEST_CASE("the same where threads call", "[enqueue]") {
  test::run_ranks({0, 0, 1}, sum_in_a_stream, Knobs::defaults(), world::ThreadLevel::multiple);
}
