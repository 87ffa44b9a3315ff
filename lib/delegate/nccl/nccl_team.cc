// The team's beginning and end, and its calls: begun, waited for, broken off.
#include "delegate/nccl/nccl_team.h"

#include <utility>

#include "base/backoff.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"

namespace tutti::delegate::nccl {
namespace {

using device::cuda::Current;

constexpr std::uint32_t kStepsBetweenLooks = 16;  // that waited, between looks at the members
// Members that have agreed to meet are there within this, or one of them failed to.
constexpr std::int64_t kMeetingNs = 60'000'000'000;
constexpr std::int64_t kPartingNs = 10'000'000'000;

}  // namespace

// As long as it lives the team waits for NCCL or a stream, which wake nobody.
class NcclTeam::Unsignalled {
 public:
  explicit Unsignalled(const Waiting& waiting) : waiting_(waiting) {
    waiting_.unsignalled(waiting_.self, true);
  }
  ~Unsignalled() { waiting_.unsignalled(waiting_.self, false); }
  Unsignalled(const Unsignalled&) = delete;
  Unsignalled& operator=(const Unsignalled&) = delete;

 private:
  const Waiting& waiting_;
};

NcclTeam::NcclTeam(const Functions& nccl, wireup::Wireup& wireup, const GpuLibrary::Place& place,
                   const Waiting& waiting)
    : nccl_(nccl), wireup_(wireup), waiting_(waiting), place_(place) {}

Result<std::unique_ptr<NcclTeam>> NcclTeam::prepare(const Functions& nccl, wireup::Wireup& wireup,
                                                    const GpuLibrary::Place& place,
                                                    const Waiting& waiting) {
  std::unique_ptr<NcclTeam> team(new NcclTeam(nccl, wireup, place, waiting));
  TUTTI_DO(team->make_stream());
  return team;
}

Result<void> NcclTeam::make_stream() {
  if (!driver_.find()) return fail(Code::unsupported, "this process has not loaded libcuda.so.1");
  TUTTI_DO(check(driver_.cuDevicePrimaryCtxRetain(&context_, place_.device), "its context"));
  life_.emplace(driver_, context_);
  const Current current(driver_, context_);
  int least = 0, greatest = 0;  // as all streams of ours (device/cuda/gpu.cc)
  TUTTI_DO(check(driver_.cuCtxGetStreamPriorityRange(&least, &greatest), "priorities"));
  TUTTI_DO(check(driver_.cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, greatest),
                 "a stream"));
  TUTTI_DO(check(driver_.cuEventCreate(&fence_, CU_EVENT_DISABLE_TIMING), "an event"));
  return check(driver_.cuEventCreate(&end_, CU_EVENT_DISABLE_TIMING), "an event");
}

Result<void> NcclTeam::meet(const GpuLibrary::Id& id) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclUniqueId unique;
  static_assert(sizeof unique == sizeof id);
  std::copy_n(reinterpret_cast<const char*>(id.data()), sizeof unique.internal, unique.internal);
  const Current current(driver_, context_);
  TUTTI_DO(check(nccl_.ncclCommInitRankConfig(&comm_, static_cast<int>(place_.members.size()),
                                              unique, place_.me, &config),
                 "a communicator"));
  return wait_until_met();
}

// All members are on their way, or say that they are not.
Result<void> NcclTeam::wait_until_met() {
  const Unsignalled told(waiting_);
  const std::int64_t begin_ns = now_ns();
  for (;;) {
    TUTTI_TRY(is_there, has_taken());
    if (is_there) return {};
    TUTTI_DO(look_at_others());
    if (now_ns() - begin_ns > kMeetingNs)
      return fail(Code::other, "not all members came to it within a minute");
    wait_once(false);
  }
}

void NcclTeam::wait_once(bool moved) {
  if (waiting_.progress(waiting_.self) > 0 || moved)
    waiting_.active(waiting_.self);
  else
    waiting_.idle(waiting_.self);
}

// The program may have ended CUDA before MPI: then there is nothing to give back.
NcclTeam::~NcclTeam() {
  if (context_ == nullptr || !life_ || life_->is_over()) return;
  {
    const Current current(driver_, context_);
    if (!current) return;
    close();
    for (CUevent event : {fence_, end_})
      if (event != nullptr) driver_.cuEventDestroy(event);
    if (stream_ != nullptr) driver_.cuStreamDestroy(stream_);
  }
  driver_.cuDevicePrimaryCtxRelease(place_.device);
}

// In order where the others do so, too; what takes too long is aborted.
void NcclTeam::close() {
  if (comm_ == nullptr) return;
  const Unsignalled told(waiting_);
  const std::int64_t begin_ns = now_ns();
  ncclResult_t said = nccl_.ncclCommFinalize(comm_);
  while (said == ncclInProgress && now_ns() - begin_ns < kPartingNs && !has_lost_member()) {
    wait_once(false);
    ncclResult_t state = ncclInProgress;
    said = nccl_.ncclCommGetAsyncError(comm_, &state);
    if (said == ncclSuccess) said = state;
  }
  waiting_.active(waiting_.self);
  if (said == ncclSuccess)
    nccl_.ncclCommDestroy(comm_);
  else
    nccl_.ncclCommAbort(comm_);
  comm_ = nullptr;
}

Code NcclTeam::run(const GpuCall& call) {
  const Unsignalled told(waiting_);
  Code code = Code::ok;
  try {
    for (Stage stage = Stage::queued;;) {
      bool moved = false;
      while (stage != Stage::over && go_on(call, stage)) moved = true;
      if (stage == Stage::over) break;
      if (!moved && ++in_vain_ % kStepsBetweenLooks == 0)
        if (const auto good = look_at_others(); !good)
          break_off(good.error().code, good.error().text);
      wait_once(moved);
    }
    code = broken_;
  } catch (...) {  // the others are told
    cancel(Code::other);
    throw;
  }
  waiting_.active(waiting_.self);
  return code;
}

template <class Piece>
auto NcclTeam::alone(Piece piece) -> decltype(piece()) {
  const std::scoped_lock hold(mutex_);
  if (broken_ != Code::ok) return fail(broken_, who() + " has failed");
  return piece();
}

bool NcclTeam::can_enqueue(void* stream) const {
  const Current current(driver_, context_);
  CUcontext its = nullptr;
  return driver_.cuStreamGetCtx(static_cast<CUstream>(stream), &its) == CUDA_SUCCESS &&
         its == context_;
}

// A stream that is full takes it when there is room: not before others have come to what is there.
Result<void> NcclTeam::enqueue(const GpuCall& call, void* stream) {
  const Current current(driver_, context_);
  auto* const theirs = static_cast<CUstream>(stream);
  TUTTI_DO(alone([&] { return check(put(call, theirs), "a collective"); }));
  Result<bool> taken = false;
  wait_until([&] {
    taken = alone([&] { return has_taken(); });
    return !taken || *taken;
  });
  if (!taken) return tl::unexpected<Error>(taken.error());
  return check(end_scatter(call, theirs), "a copy");
}

void NcclTeam::cancel(Code code) {
  TUTTI_CHECK(code != Code::ok, "a team is cancelled without an error");
  if (broken_ == Code::ok) break_off(code, "");
}

void NcclTeam::abandon() {
  has_heard_ = true;
  cancel(Code::other);
}

// Takes the call on. False: it has to wait.
bool NcclTeam::go_on(const GpuCall& call, Stage& stage) {
  const Stage before = stage;
  if (broken_ == Code::ok) stage = serve(call, stage);
  if (broken_ != Code::ok) stage = Stage::over;
  return stage != before;
}

NcclTeam::Stage NcclTeam::serve(const GpuCall& call, Stage stage) {
  const Current current(driver_, context_);
  if (stage == Stage::queued)
    if (const auto launched = launch(call); !launched) {
      break_off(launched.error().code, launched.error().text);
      return Stage::over;
    }
  const auto taken = has_taken();
  if (!taken) {
    break_off(taken.error().code, taken.error().text);
    return Stage::over;
  }
  if (!*taken) return Stage::launching;
  if (stage != Stage::running)
    if (const auto ends = end_in_stream(call); !ends) {
      break_off(ends.error().code, ends.error().text);
      return Stage::over;
    }
  const CUresult said = driver_.cuEventQuery(end_);
  if (said == CUDA_ERROR_NOT_READY) return Stage::running;
  if (said != CUDA_SUCCESS) break_off(Code::other, driver_.text_of(said));
  return Stage::over;
}

// Behind what the caller put into its default stream before.
Result<void> NcclTeam::launch(const GpuCall& call) {
  TUTTI_DO(check(driver_.record_default(fence_), "an event in the caller's default stream"));
  TUTTI_DO(check(driver_.cuStreamWaitEvent(stream_, fence_, 0), "a wait for the caller"));
  return check(put(call, stream_), "a collective");
}

Result<void> NcclTeam::end_in_stream(const GpuCall& call) {
  TUTTI_DO(check(end_scatter(call, stream_), "a copy"));
  return check(driver_.cuEventRecord(end_, stream_), "an event");
}

Result<bool> NcclTeam::has_taken() {
  ncclResult_t state = ncclInProgress;
  TUTTI_DO(check(nccl_.ncclCommGetAsyncError(comm_, &state), "its state"));
  TUTTI_DO(check(state, "its state"));
  return state == ncclSuccess;
}

Result<void> NcclTeam::check(ncclResult_t said, const char* what) const {
  if (said == ncclSuccess || said == ncclInProgress) return {};
  return fail(Code::other, std::string(what) + ": " + nccl_.text_of(said, comm_));
}

Result<void> NcclTeam::check(CUresult said, const char* what) const {
  if (said == CUDA_SUCCESS) return {};
  return fail(Code::other, std::string(what) + ": " + driver_.text_of(said));
}

bool NcclTeam::has_lost_member() const {
  for (const int member : place_.members)
    if (wireup_.is_gone(member)) return true;
  return false;
}

Result<void> NcclTeam::look_at_others() {
  if (has_lost_member()) return fail(Code::proc_aborted, "a member has ended");
  if (!has_heard_ && place_.has_heard()) has_heard_ = true;
  return has_heard_ ? Result<void>(fail(Code::other, kAnotherFailed)) : Result<void>{};
}

bool NcclTeam::check_broken() {
  if (broken_ == Code::ok && life_->is_over()) {  // and NCCL's communicator with it
    const std::scoped_lock hold(mutex_);
    comm_ = nullptr;
    broken_ = Code::other;
  }
  if (broken_ != Code::ok) return true;
  auto good = look_at_others();
  if (const auto state = alone([&] { return has_taken(); }); good && !state)
    good = tl::unexpected<Error>(state.error());
  if (!good) break_off(good.error().code, good.error().text);
  return broken_ != Code::ok;
}

std::string NcclTeam::who() const {
  return "NCCL on GPU " + std::to_string(place_.device);
}

// Says what failed only where nobody else does: the launcher tells of a lost member, who cancels a
// team of that, and a member of its own failure.
void NcclTeam::break_off(Code code, const std::string& why) {
  ncclComm_t comm = nullptr;
  {
    const std::scoped_lock hold(mutex_);
    broken_ = has_lost_member() ? Code::proc_aborted : code;
    comm = std::exchange(comm_, nullptr);
  }
  if (!why.empty() && !has_heard_ && broken_ != Code::proc_aborted)
    log::warn(who() + " failed" + log::in_call() + ": " + why);
  if (!has_heard_) place_.tell_others();
  const Current current(driver_, context_);
  if (comm == nullptr || !current) return;
  nccl_.ncclCommAbort(comm);
  drain();
}

// What was in the stream leaves the callers' memory alone from here on. It needs nobody else. The
// stream itself is asked: an error is that of a GPU which is lost, and works no more.
void NcclTeam::drain() {
  const std::int64_t begin_ns = now_ns();
  bool runs = true;
  wait_until([&] {
    runs = driver_.cuStreamQuery(stream_) == CUDA_ERROR_NOT_READY;
    return !runs || now_ns() - begin_ns > kPartingNs;
  });
  if (runs)
    log::warn(who() + log::in_call() +
              ": what was aborted does not end; its memory may still be written");
}

}  // namespace tutti::delegate::nccl
