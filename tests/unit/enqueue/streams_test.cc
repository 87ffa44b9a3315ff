// Streams of a world that has no MPI above it, as a backend of torch would use them.
#include <cuda.h>

#include "enqueue/enqueue.h"
#include "ranks.h"

namespace {

using namespace tutti;
using enqueue::QueuedCall;
using support::Rank;

constexpr Handle kInt = 0x209, kSum = 0x21;

struct Gpu {
  Gpu() {
    cuInit(0);
    CUcontext context = nullptr;
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    cuMemAlloc(&memory, sizeof(int));
    cuMemHostAlloc(reinterpret_cast<void**>(&pinned), 2 * sizeof(int), 0);
  }
  ~Gpu() {
    cuStreamDestroy(stream);
    cuMemFree(memory);
    cuMemFreeHost(pinned);
    cuDevicePrimaryCtxRelease(0);
  }
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  int* pinned = nullptr;
};

void sum_in_a_stream(const Rank& me) {
  Gpu gpu;
  const bool was_gated = me.world.is_gated();
  enqueue::CallStreams streams(me.world, nullptr);
  me.expect(me.world.is_gated() == was_gated, "no stream, no gate");
  me.world.enter();
  auto opened = streams.open("cudaStream_t", reinterpret_cast<std::uintptr_t>(gpu.stream));
  me.expect(opened.has_value() && me.world.is_gated(), "a stream, a gate");
  me.expect(!streams.open("hipStream_t", 1), "streams of another vendor");
  me.world.leave();
  if (!opened) return;
  comm::CollCall call;
  call.collective = coll::Collective::allreduce;
  call.recv = reinterpret_cast<void*>(gpu.memory);
  call.recv_count = 1;
  call.recv_type = types::predefined_type(kInt);
  call.op = types::predefined_op(kSum);
  call.in_place = true;
  gpu.pinned[0] = me.rank + 1;
  cuMemcpyHtoDAsync(gpu.memory, gpu.pinned, sizeof(int), gpu.stream);
  for (int round = 0; round < 5; ++round) {
    me.world.enter();
    QueuedCall sum = *QueuedCall::of_collective(me.comm, call);
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
}

}  // namespace

TEST_CASE("sums in a stream without MPI", "[enqueue]") {
  support::run_ranks({0, 0}, sum_in_a_stream);
}
TEST_CASE("the same where threads call", "[enqueue]") {
  support::run_ranks({0, 0, 1}, sum_in_a_stream, Knobs::defaults(), world::ThreadLevel::multiple);
}
