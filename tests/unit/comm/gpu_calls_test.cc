// Calls that a GPU's library serves, put into a stream of the caller's; and teams that members
// cancel or leave. By the stand-in driver and the stand-in NCCL, a GPU a thread.
#include <cuda.h>
#include <dlfcn.h>

#include "comm/gpu/calls.h"
#include "comm/gpu/in_streams.h"
#include "comm/state.h"
#include "ranks.h"

namespace {

using namespace tutti;
using coll::Collective;
using test::Rank;

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

using Call = std::unique_ptr<comm::StreamedCall>;

// A communicator of its own whose calls may go by the library in the stream.
comm::CommRef settled(const Rank& me, const comm::StreamPlace& place) {
  auto made = comm::dup(me.comm);
  me.expect(made.has_value() && comm::settle_in_streams(**made, place) == Code::ok, "settled");
  return std::move(*made);
}
Call make(const Rank& me, comm::Communicator& on, const comm::CollCall& call) {
  auto made = comm::StreamedCall::make(on, call);
  me.expect(made.has_value(), "no error");
  return made ? std::move(*made) : nullptr;
}

// Two ranks of one host, a GPU each, and a library that is to be used.
void on_two_gpus(const std::function<void(const Rank&, Gpu&)>& body) {
  REQUIRE(has_standin());
  test::run_ranks(
      test::one_host(2),
      [&body](const Rank& me) {
        Gpu gpu(me.rank);
        body(me, gpu);
      },
      test::knobs_with({{"TUTTI_GPU_SUPPORT", "yes"}, {"TUTTI_ALLREDUCE", "nccl"}}));
}

}  // namespace

TEST_CASE("calls put into a stream are behind what is there and before what comes", "[gpus]") {
  on_two_gpus([](const Rank& me, Gpu& gpu) {
    auto own = settled(me, {gpu.stream, me.rank, true});
    int* const send = gpu.take(me.rank + 1);
    int* const recv = gpu.take(-1);
    std::vector<Call> calls;  // which live until the stream has passed them
    for (int round = 0; round < 4; ++round) {
      // The caller does not wait: the next call reads what the one before will write.
      for (const auto& call : {sum_of(send, recv), bcast_of(recv, round % 2)}) {
        calls.push_back(make(me, *own, call));
        me.expect(calls.back() != nullptr && calls.back()->put().has_value(), "it is taken");
      }
    }
    me.expect(gpu.get(recv) == std::vector<int>(kCount, 3), "the sum is there");
    for (const Call& call : calls) me.expect(call->code() == Code::ok, "it has ended");
    // A call that is waited for goes by the same team, after them.
    int* const again = gpu.take(0);
    cuStreamSynchronize(gpu.stream);
    me.expect(comm::run(*own, sum_of(recv, again)) == Code::ok, "a call that is waited for");
    me.expect(gpu.get(again) == std::vector<int>(kCount, 6), "and its sum");
  });
}

TEST_CASE("of a process one communicator has the library in its stream", "[gpus]") {
  on_two_gpus([](const Rank& me, Gpu& gpu) {
    int* const data = gpu.take(0);
    int* const into = gpu.take(0);
    const auto goes = [&](comm::Communicator& on) {
      return make(me, on, sum_of(data, into)) != nullptr;
    };
    auto first = settled(me, {gpu.stream, me.rank, true});
    comm::CollCall call = sum_of(data, data);
    call.collective = Collective::scan;
    call.in_place = true;
    me.expect(make(me, *first, call) == nullptr && goes(*first), "there is no scan");
    me.expect(!goes(*settled(me, {gpu.stream, me.rank, true})), "the first has it");
    first.reset();
    me.expect(!goes(*settled(me, {gpu.stream, me.rank, me.rank == 0})), "one has not promised");
    // Two ranks on one GPU: NCCL would refuse them.
    me.expect(!goes(*settled(me, {gpu.stream, 0, true})), "shared");
    me.expect(goes(*settled(me, {gpu.stream, me.rank, true})), "the next has it");
  });
}

TEST_CASE("a promise that a member does not keep ends the others' calls", "[gpus]") {
  on_two_gpus([](const Rank& me, Gpu& gpu) {
    auto own = settled(me, {gpu.stream, me.rank, true});
    int* const recv = gpu.take(0);
    std::vector<int> on_host(kCount, 1);
    Call call = me.rank == 0 ? nullptr : make(me, *own, sum_of(gpu.take(1), recv));
    if (call != nullptr) me.expect(call->put().has_value(), "it is put");
    me.expect(comm::run(me.comm, {}) == Code::ok, "it is there");
    if (me.rank == 0) {
      const auto refused = comm::StreamedCall::make(*own, sum_of(on_host.data(), recv));
      me.expect(!refused && refused.error().code == Code::buffer, "it is told so");
    } else {
      while (call->code() == Code::ok) {
        comm::look_in_streams(own->runtime());
        comm::progress(own->runtime());
      }
    }
    cuStreamSynchronize(gpu.stream);
    me.expect(!comm::StreamedCall::make(*own, sum_of(recv, recv)), "and so are later ones");
  });
}

TEST_CASE("members hear that another one has cancelled their communicator", "[gpus]") {
  on_two_gpus([](const Rank& me, Gpu& gpu) {
    auto own = comm::dup(me.comm);
    me.expect(own.has_value(), "dup");
    int* const send = gpu.take(1);
    int* const recv = gpu.take(0);
    me.expect(comm::run(**own, sum_of(send, recv)) == Code::ok, "a first call");
    me.expect(comm::run(me.comm, {}) == Code::ok, "it is over on both");
    // Rank 0 leaves; the other's kernels would wait for its part for ever.
    if (me.rank == 0) {
      comm::cancel(**own, Code::other);
    } else {
      delegate::GpuTeam* const team = (*own)->state().gpu_calls->team.get();
      me.expect(team != nullptr, "the team is there");
      while (!team->check_broken()) comm::progress((*own)->runtime());
    }
    cuStreamSynchronize(gpu.stream);
    own->reset();
    // The GPU and its stream serve the next communicator.
    auto next = comm::dup(me.comm);
    me.expect(next.has_value() && comm::run(**next, sum_of(send, recv)) == Code::ok, "the next");
    me.expect(gpu.get(recv) == std::vector<int>(kCount, 2), "its sum");
  });
}
