// Calls that a GPU's library serves, put into a stream of the caller's; and teams that members
// cancel or leave. By the stand-in driver and the stand-in NCCL, a GPU a thread.
#include "comm/gpu_calls.h"

#include <cuda.h>
#include <dlfcn.h>

#include "comm/state.h"
#include "ranks.h"

namespace {

using namespace tutti;
using coll::Collective;
using support::Rank;

constexpr Handle kInt32 = 0x250, kSum = 0x21;
constexpr std::size_t kCount = 30000;

// This thread's GPU, a stream on it, and memory there.
class Gpu {
 public:
  explicit Gpu(int device) {
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context_, device);
    cuCtxSetCurrent(context_);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  int* take(int value) {
    CUdeviceptr at = 0;
    cuMemAlloc(&at, kCount * sizeof(int));
    mirrors_.emplace_back(std::make_unique<std::vector<int>>(kCount, value));
    cuMemcpyAsync(at, reinterpret_cast<CUdeviceptr>(mirrors_.back()->data()), kCount * sizeof(int),
                  stream);
    return reinterpret_cast<int*>(at);
  }
  // What is there when the stream has come so far.
  std::vector<int> get(const int* at) {
    std::vector<int> content(kCount);
    cuStreamSynchronize(stream);
    cuMemcpyDtoH(content.data(), reinterpret_cast<CUdeviceptr>(at), kCount * sizeof(int));
    return content;
  }
  CUstream stream = nullptr;

 private:
  CUcontext context_ = nullptr;
  std::vector<std::unique_ptr<std::vector<int>>> mirrors_;
};

comm::CollCall sum_of(const int* send, int* recv) {
  comm::CollCall call;
  call.collective = Collective::allreduce;
  call.send = send;
  call.send_count = call.recv_count = static_cast<comm::Count>(kCount);
  call.send_type = call.recv_type = types::predefined_type(kInt32);
  call.recv = recv;
  call.op = types::predefined_op(kSum);
  return call;
}

comm::CollCall bcast_of(int* data, int root) {
  comm::CollCall call;
  call.collective = Collective::bcast;
  call.recv = data;
  call.recv_count = static_cast<comm::Count>(kCount);
  call.recv_type = types::predefined_type(kInt32);
  call.root = root;
  return call;
}

// The library is opened by its name: this is the one that is found then.
bool has_standin() {
  static const bool is_open = ::dlopen(STANDIN_NCCL, RTLD_NOW) != nullptr;
  return is_open;
}

Knobs knobs() {
  return support::knobs_of({{"TUTTI_GPU_SUPPORT", "yes"}, {"TUTTI_ALLREDUCE", "nccl"}});
}

}  // namespace

TEST_CASE("calls enqueued on a stream are behind what is there and before what comes", "[gpus]") {
  REQUIRE(has_standin());
  support::run_ranks(
      support::one_host(2),
      [](const Rank& me) {
        Gpu gpu(me.rank);
        int* const send = gpu.take(me.rank + 1);
        int* const recv = gpu.take(-1);
        for (int round = 0; round < 4; ++round) {
          const auto put = comm::enqueue_on_gpus(me.comm, sum_of(send, recv), me.rank, gpu.stream);
          me.expect(put.has_value() && put->has_value(), "the sum is taken");
          // The caller does not wait: the next call reads what the one before will write.
          const auto next =
              comm::enqueue_on_gpus(me.comm, bcast_of(recv, round % 2), me.rank, gpu.stream);
          me.expect(next.has_value() && next->has_value(), "the bcast is taken");
        }
        me.expect(gpu.get(recv) == std::vector<int>(kCount, 3), "the sum is there");
        // A call that is waited for goes by the same team, after them.
        int* const again = gpu.take(0);
        cuStreamSynchronize(gpu.stream);
        me.expect(comm::run(me.comm, sum_of(recv, again)) == Code::ok, "a call that is waited for");
        me.expect(gpu.get(again) == std::vector<int>(kCount, 6), "and its sum");
      },
      knobs());
}

TEST_CASE("what the library has not is not enqueued", "[gpus]") {
  REQUIRE(has_standin());
  support::run_ranks(
      support::one_host(2),
      [](const Rank& me) {
        Gpu gpu(me.rank);
        int* const data = gpu.take(0);
        comm::CollCall call = sum_of(data, data);
        call.collective = Collective::scan;
        call.in_place = true;
        me.expect(!comm::enqueue_on_gpus(me.comm, call, me.rank, gpu.stream).has_value(),
                  "there is no scan");
        // Two ranks on one GPU: NCCL refuses them, all alike.
        me.expect(!comm::enqueue_on_gpus(me.comm, sum_of(data, gpu.take(0)), 0, gpu.stream),
                  "shared");
      },
      knobs());
}

TEST_CASE("members hear that another one has cancelled their communicator", "[gpus]") {
  REQUIRE(has_standin());
  support::run_ranks(
      support::one_host(2),
      [](const Rank& me) {
        Gpu gpu(me.rank);
        auto own = comm::dup(me.comm);
        me.expect(own.has_value(), "dup");
        int* const send = gpu.take(1);
        int* const recv = gpu.take(0);
        me.expect(comm::run(**own, sum_of(send, recv)) == Code::ok, "a first call");
        me.expect(comm::run(me.comm, {}) == Code::ok, "it is over on both");
        // Rank 0 leaves; the other's kernel would wait for its part for ever.
        if (me.rank == 0) {
          comm::cancel(**own, Code::other);
        } else {
          const auto put = comm::enqueue_on_gpus(**own, sum_of(send, recv), me.rank, gpu.stream);
          delegate::GpuTeam* const team = (*own)->state().gpu_calls->team.get();
          me.expect(put.has_value() && team != nullptr, "the team is there");
          while (!team->is_broken()) comm::progress((*own)->runtime());
        }
        cuStreamSynchronize(gpu.stream);
        own->reset();
        // The GPU and its stream serve the next communicator.
        auto next = comm::dup(me.comm);
        me.expect(next.has_value() && comm::run(**next, sum_of(send, recv)) == Code::ok,
                  "the next");
        me.expect(gpu.get(recv) == std::vector<int>(kCount, 2), "its sum");
      },
      knobs());
}
