// Jobs, lanes and their ends. What a step does is in steps.cc.
#include "device/cuda/gpu.h"

#include <new>
#include <utility>

#include "base/log.h"
#include "device/cuda/current.h"
#include "device/cuda/rest.h"

namespace tutti::device::cuda {

Result<std::unique_ptr<Gpu>> Gpu::open(const Driver& driver, CUcontext context, int ordinal,
                                       bool is_primary) {
  std::unique_ptr<Gpu> gpu(new Gpu(driver, context, ordinal, is_primary));
  TUTTI_DO(gpu->start());
  return gpu;
}

Gpu::Gpu(const Driver& driver, CUcontext context, int ordinal, bool is_primary)
    : driver_(driver),
      context_(context),
      ordinal_(ordinal),
      is_primary_(is_primary),
      life_(driver, context),
      staging_(driver),
      queues_(driver),
      scratch_(driver),
      kernels_(driver),
      tables_(driver) {}

// One that is not active is none of anybody's memory: asked for, it would be made.
bool Gpu::find_primary() const {
  unsigned flags = 0;
  int is_active = 0;
  CUcontext primary = nullptr;
  if (driver_.cuDevicePrimaryCtxGetState(ordinal_, &flags, &is_active) != CUDA_SUCCESS ||
      is_active == 0 || driver_.cuDevicePrimaryCtxRetain(&primary, ordinal_) != CUDA_SUCCESS)
    return false;
  driver_.cuDevicePrimaryCtxRelease(ordinal_);
  return primary == context_;
}

Result<void> Gpu::start() {
  is_of_primary_ = find_primary();
  const Current current(driver_, context_);
  int least = 0, greatest = 0;
  TUTTI_DO(check(driver_.cuCtxGetStreamPriorityRange(&least, &greatest), "priorities"));
  // What the program's kernels have to wait for goes first.
  for (CUstream* stream : {&lanes_[0].stream, &lanes_[1].stream, &lanes_[2].stream, &idle_})
    TUTTI_DO(check(driver_.cuStreamCreateWithPriority(stream, CU_STREAM_NON_BLOCKING, greatest),
                   "a stream"));
  return check(driver_.cuEventCreate(&fence_, CU_EVENT_DISABLE_TIMING), "an event");
}

// The program may have ended CUDA, or the context, before MPI: then there is nothing to give back.
Gpu::~Gpu() {
  if (is_gone()) return;
  {
    const Current current(driver_, context_);
    if (!current) return;
    for (Lane& lane : lanes_) {
      for (const Step& step : lane.in_flight) events_.push_back(step.event);
      if (lane.stream != nullptr) driver_.cuStreamDestroy(lane.stream);
    }
    if (idle_ != nullptr) driver_.cuStreamDestroy(idle_);
    events_.push_back(fence_);
    for (CUevent event : events_)
      if (event != nullptr) driver_.cuEventDestroy(event);
    if (spare_ != 0) driver_.cuMemFree(spare_);
    kernels_.close();
    tables_.close();
    scratch_.close();
    staging_.close();
    queues_.close();
  }
  if (is_primary_) driver_.cuDevicePrimaryCtxRelease(ordinal_);
}

Result<void> Gpu::check(CUresult said, const char* what) const {
  if (said == CUDA_SUCCESS) return {};
  return fail(Code::other, std::string(what) + ": " + driver_.text_of(said));
}

// The driver may wait for streams when it allocates: not while one of the user's may stand still.
std::byte* Gpu::take_scratch(std::size_t bytes) {
  constexpr std::size_t kLeast = std::size_t{4} << 10;
  if (bytes < kLeast || is_gone()) return nullptr;
  const Current current(driver_, context_);
  if (!current) return nullptr;
  if (std::byte* const kept = scratch_.take(bytes, false); kept != nullptr) return kept;
  const Rest rest(driver_.enqueued);
  return rest ? scratch_.take(bytes, true) : nullptr;
}

// A stream of ours is asked: asking one of the user's would spoil a capture that it is in.
bool Gpu::is_lost() const {
  if (is_gone()) return true;
  const Current current(driver_, context_);
  const CUresult said = driver_.cuStreamQuery(lanes_[0].stream);
  return said != CUDA_SUCCESS && said != CUDA_ERROR_NOT_READY;
}

Gpu::Job* Gpu::take_job(What what, Done* done, types::Count total) {
  if (free_jobs_.empty()) {
    free_jobs_.reserve(jobs_.size() + 1);  // for all of them, when they end
    jobs_.push_back(std::make_unique<Job>());
    free_jobs_.push_back(jobs_.back().get());
  }
  Job* const job = free_jobs_.back();
  free_jobs_.pop_back();
  *job = Job{};
  job->what = what;
  job->done = done;
  job->total = job->most = total;
  return job;
}

void Gpu::begin(Job* job) {
  if (is_abandoned_) {
    fail_job(*job, driver_.text_of(CUDA_ERROR_CONTEXT_IS_DESTROYED));
    end_job(job);
    return;
  }
  const Current current(driver_, context_);
  Lane& lane = lane_of(job->what);
  lane.waiting.push_back(job);
  job->is_waiting = true;
  try {
    pump(lane);
  } catch (const std::bad_alloc&) {  // progress() comes back to it
  }
}

// Begins what waits, as far as there are chunks, and room in the lane.
int Gpu::pump(Lane& lane) {
  int ended = 0;
  while (!lane.waiting.empty()) {
    Job& job = *lane.waiting.front();
    while (job.begun < job.total && !job.has_failed)
      if (lane.in_flight.size() >= kMostInFlight || !begin_step(lane, job)) return ended;
    job.is_waiting = false;
    lane.waiting.pop_front();
    if (job.in_flight == 0) ended += end_job(&job);
  }
  return ended;
}

// False: it has to wait for a chunk.
bool Gpu::begin_step(Lane& lane, Job& job) {
  Step& step = lane.in_flight.emplace_back();
  step.lane = &lane;
  step.job = &job;
  ++job.in_flight;
  const auto done = enqueue(step);
  if (done && *done) return true;
  if (step.event != nullptr) events_.push_back(std::exchange(step.event, nullptr));
  if (!done) {
    // Some of it may be in the lane: its memory is kept until the lane is through.
    fail_job(job, done.error().text);
    return true;
  }
  for (std::byte* chunk : step.chunks)
    if (chunk != nullptr) staging_.give(chunk);
  lane.in_flight.pop_back();
  --job.in_flight;
  return false;
}

Result<bool> Gpu::enqueue(Step& step) try {
  Lane& lane = *step.lane;
  TUTTI_TRY(event, take_event());
  step.event = event;
  TUTTI_DO(await_fences(step));
  Result<bool> begun = false;
  switch (step.job->what) {
    case What::pack:
      begun = step_pack(step);
      break;
    case What::unpack:
      begun = step_unpack(step);
      break;
    case What::copy:
      begun = step_copy(step);
      break;
    case What::fold:
      begun = step_fold(step);
      break;
    case What::convert:
      begun = step_convert(step);
      break;
    case What::wait:
      step.job->begun = step.job->total;
      begun = true;
      break;
  }
  if (!begun || !*begun) return begun;
  TUTTI_DO(check(driver_.cuEventRecord(step.event, lane.stream), "an event"));
  return true;
} catch (const std::bad_alloc&) {
  return fail(Code::no_mem, "no memory");
}

void Gpu::fail_job(Job& job, const std::string& why) {
  constexpr const char* kWhat[] = {"a copy to the host", "a copy from the host", "a copy", "a fold",
                                   "a conversion",       "a wait for the caller"};
  job.has_failed = true;
  try {
    tell(kWhat[static_cast<std::size_t>(job.what)], why);
  } catch (const std::bad_alloc&) {  // it ends without words
  }
}

// Once a reason: a GPU that is lost fails all that was under way.
void Gpu::tell(const std::string& what, const std::string& why) {
  if (std::find(told_.begin(), told_.end(), why) != told_.end()) return;
  told_.push_back(why);
  log::warn("GPU " + std::to_string(ordinal_) + log::in_call() + ": " + what + " failed: " + why);
}

int Gpu::end_job(Job* job) {
  Done* const done = job->done;
  const bool ok = !job->has_failed;
  free_jobs_.push_back(job);
  done->fire(done, ok);
  return 1;
}

// What a `done` asks for then fails at once, and is in no lane.
void Gpu::abandon() {
  is_abandoned_ = true;
  std::string why;
  try {
    why = driver_.text_of(CUDA_ERROR_CONTEXT_IS_DESTROYED);
  } catch (const std::bad_alloc&) {
  }
  const auto end = [&](Job* job) {
    fail_job(*job, why);
    end_job(job);
  };
  for (Lane& lane : lanes_) {
    while (!lane.in_flight.empty()) {
      Job* const job = lane.in_flight.front().job;
      lane.in_flight.pop_front();
      if (--job->in_flight == 0 && !job->is_waiting) end(job);
    }
    while (!lane.waiting.empty()) {
      Job* const job = lane.waiting.front();
      lane.waiting.pop_front();
      end(job);
    }
  }
}

// An error of the question is the job's, and says nothing of the end: the lane is asked for that.
// It gives an error only where the GPU is lost, and works no more.
bool Gpu::ask_end(const Step& step) {
  if (step.event != nullptr) {
    const CUresult said = driver_.cuEventQuery(step.event);
    if (said == CUDA_SUCCESS) return true;
    if (said == CUDA_ERROR_NOT_READY) return false;
    if (!step.job->has_failed) fail_job(*step.job, driver_.text_of(said));
  }
  return driver_.cuStreamQuery(step.lane->stream) != CUDA_ERROR_NOT_READY;
}

void Gpu::end_step(Lane& lane) {
  const Step step = lane.in_flight.front();
  lane.in_flight.pop_front();
  if (step.event != nullptr) events_.push_back(step.event);
  const Job& job = *step.job;
  if (step.host != nullptr && !job.has_failed) std::memcpy(step.host, step.chunks[0], step.bytes);
  for (std::byte* chunk : step.chunks)
    if (chunk != nullptr) staging_.give(chunk);
  tables_.release(step.tables);
  --step.job->in_flight;
}

// `done`s may ask for more, and come back here: nothing of a lane is kept over one.
int Gpu::poll(Lane& lane) {
  int ended = 0;
  while (!lane.in_flight.empty() && ask_end(lane.in_flight.front())) {
    Job* const job = lane.in_flight.front().job;
    end_step(lane);
    if (job->in_flight == 0 && !job->is_waiting) ended += end_job(job);
  }
  return ended;
}

int Gpu::progress() {
  if (is_abandoned_) return 0;
  const bool is_idle = std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) {
    return lane.in_flight.empty() && lane.waiting.empty();
  });
  if (is_idle) return 0;
  const Current current(driver_, context_);
  int ended = 0;
  for (Lane& lane : lanes_) ended += poll(lane);
  for (Lane& lane : lanes_) ended += pump(lane);
  return ended;
}

}  // namespace tutti::device::cuda
