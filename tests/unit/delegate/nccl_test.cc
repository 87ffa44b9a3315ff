// A team by NCCL, over functions that take their time: nothing wakes who waits for those, so all
// the time that the team waits, the waiter knows.
#include <cuda.h>

#include "catch.h"
#include "delegate/nccl/nccl_team.h"
#include "teams.h"

using namespace tutti;
using namespace tutti::test;
using delegate::GpuCall;
using delegate::GpuLibrary;
using delegate::nccl::Functions;
using delegate::nccl::NcclTeam;

namespace {

constexpr int kLooks = 5;  // until what was begun is there

struct Waits {
  int unsignalled = 0;     // begun and not ended
  int idle = 0, told = 0;  // waits, and those that the waiter knew to be such
};
int looks_left = 0;

ncclResult_t begin(ncclComm_t* comm, int, ncclUniqueId, int, ncclConfig_t*) {
  *comm = reinterpret_cast<ncclComm_t>(&looks_left);
  looks_left = kLooks;
  return ncclInProgress;
}
ncclResult_t look(ncclComm_t, ncclResult_t* state) {
  *state = looks_left-- > 0 ? ncclInProgress : ncclSuccess;
  return ncclSuccess;
}

Functions slow_functions() {
  Functions all;
  all.ncclCommInitRankConfig = &begin;
  const auto begin_slowly = [](auto...) {
    looks_left = kLooks;
    return ncclInProgress;
  };
  all.ncclAllReduce = begin_slowly;
  all.ncclCommFinalize = begin_slowly;
  all.ncclCommGetAsyncError = &look;
  all.ncclCommDestroy = all.ncclCommAbort = [](ncclComm_t) { return ncclSuccess; };
  return all;
}

delegate::Waiting waiting_of(Waits& waits) {
  delegate::Waiting waiting = test::waiting();
  waiting.self = &waits;
  waiting.idle = [](void* self) {
    auto& seen = *static_cast<Waits*>(self);
    ++seen.idle;
    seen.told += seen.unsignalled > 0 ? 1 : 0;
  };
  waiting.unsignalled = [](void* self, bool begins) {
    static_cast<Waits*>(self)->unsignalled += begins ? 1 : -1;
  };
  return waiting;
}

// What was waited for since the last time, all of it told, and over.
void require_told(Waits& waits) {
  CHECK(waits.idle >= kLooks - 1);
  CHECK(waits.told == waits.idle);
  CHECK(waits.unsignalled == 0);
  waits = {};
}

}  // namespace

TEST_CASE("the waiter knows of what NCCL does, from the beginning of a team to its end",
          "[delegate][nccl]") {
  CUcontext context = nullptr;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  const auto wireups = wireup::in_threads({0});
  GpuLibrary::Place place;
  place.members = {0};
  place.tell_others = [] {};
  place.has_heard = [] { return false; };
  Waits waits;
  auto team = NcclTeam::prepare(slow_functions(), *wireups[0], place, waiting_of(waits));
  REQUIRE(team);
  REQUIRE((*team)->meet({}));
  require_told(waits);

  GpuCall call;
  call.said.collective = Collective::allreduce;
  call.said.type = types::predefined_type(kInt);
  call.said.op = types::predefined_op(kSum);
  REQUIRE((*team)->run(call) == Code::ok);
  require_told(waits);

  CUstream stream = nullptr;
  REQUIRE((*team)->enqueue(call, stream));  // from the streams' own thread, which waits by itself
  CHECK((waits.idle == 0 && waits.unsignalled == 0));

  team->reset();
  require_told(waits);
  cuDevicePrimaryCtxRelease(0);
}
