// Running a program: steps whose conditions are met are started, ends of steps meet conditions.
//
// A condition of a step is a predecessor's end, or the start of the message before it to the
// same peer. Ends of messages come from p2p's callbacks; they only count down and queue. One
// loop (advance) starts what is queued, so nothing recurses however long a chain is. Receives
// go first: a posted receive spares its message a copy.
#include <memory>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/true_while.h"
#include "engine/memory.h"

namespace tutti::engine {
namespace {

using sched::Step;
using sched::StepKind;

}  // namespace

Run::Run(p2p::Endpoint& endpoint, ScratchPool& scratch, std::shared_ptr<const Program> program)
    : endpoint_(endpoint),
      program_(std::move(program)),
      memory_(std::make_unique<BoundMemory>(scratch)) {
  const std::size_t steps = program_->schedule.steps.size();
  states_.resize(steps);
  for (std::size_t s = 0; s < steps; ++s)
    states_[s] = {this, static_cast<std::uint32_t>(s), 0, nullptr, false};
  receives_.steps.resize(steps);
  others_.steps.resize(steps);
}

Run::~Run() {
  if (!done_) let_go();
}

Binding& Run::rebind() {
  TUTTI_CHECK(done_, "a run is bound while it is under way");
  std::destroy_at(&binding_);
  return *std::construct_at(&binding_);
}

inline p2p::Envelope Run::envelope(int source) const {
  return {binding_.context, source, binding_.tag, binding_.fingerprint};
}

inline int Run::job_rank(const Step& step) const {
  return binding_.peers[static_cast<std::size_t>(step.peer)];
}

void Run::request_done(p2p::Pending* request) {
  const StepState* state = static_cast<StepState*>(request->owner);
  state->run->end_request(state->step, request);
  state->run->advance();
}

// Who lacks memory tells the others by its messages, as of any failure.
Code Run::bind() {
  if (binding_.failure != Code::ok) [[unlikely]]
    return binding_.failure;  // nothing of it will be touched
  try {
    return memory_->bind(binding_, *program_);
  } catch (const std::bad_alloc&) {
    const Count units = program_->schedule.scratch + program_->most_swapped;
    failure_.text = "there is not enough memory for " + std::to_string(units);
    failure_.text += binding_.type == nullptr
                         ? " bytes of results between its steps"
                         : " elements between its steps, which span " +
                               std::to_string(binding_.type->true_extent()) + " bytes each";
    return Code::no_mem;
  }
}

void Run::begin() {
  TUTTI_CHECK(done_, "a run is begun while it is under way");
  if (code_ != Code::ok) [[unlikely]]
    failure_ = {};  // of the last time
  code_ = Code::ok;
  done_ = false;
  const Code bound = bind();
  unfinished_ = states_.size();
  receives_.clear();
  others_.clear();
  for (StepState& state : states_) {
    state.started = false;
    state.conditions = program_->conditions[state.step];
    if (state.conditions == 0) queue(state.step);
  }
  is_moved_out_ = false;
  if (bound != Code::ok) [[unlikely]]
    fail_with(bound);
  else if (memory_->is_staged()) [[unlikely]]
    begin_moves(true);
  advance();
}

inline void Run::meet(std::uint32_t step) {
  std::uint32_t& conditions = states_[step].conditions;
  TUTTI_CHECK(conditions > 0, "step " + std::to_string(step) + " ran twice");
  if (--conditions == 0) queue(step);
}

inline void Run::queue(std::uint32_t step) {
  const bool receives = program_->schedule.steps[step].kind == StepKind::recv;
  (receives ? receives_ : others_).push(step);
}

void Run::advance() {
  if (advancing_ || done_ || moving_ > 0) return;
  {
    const TrueWhile now(advancing_);
    start_queued();
  }
  if (code_ != Code::ok) binding_.outlives_failure ? part_company() : let_go();
  if (stragglers_ == 0 && (code_ != Code::ok || unfinished_ == 0))
    finish();  // may destroy this run
}

void Run::start_queued() {
  try {
    while (code_ == Code::ok) {
      if (!receives_.is_empty())
        start(receives_.pop());
      else if (!others_.is_empty())
        start(others_.pop());
      else
        break;
    }
  } catch (const std::bad_alloc&) {  // the step has not begun: its peer is told so
    fail_for_memory("there is not enough memory for the messages of its steps");
  }
}

void Run::start(std::uint32_t index) {
  const Step& step = program_->schedule.steps[index];
  switch (step.kind) {
    case StepKind::recv:
      watch(index, endpoint_.recv(job_rank(step), envelope(step.peer), memory_->buffer(step.into)));
      break;
    case StepKind::send:
      start_send(index, step);
      break;
    case StepKind::copy: {
      const types::Buffer from = memory_->buffer(step.from);
      const types::Buffer into = memory_->buffer(step.into);
      // In-place calls bind two spaces to the same memory.
      const bool same = from.data == into.data && from.skip == into.skip && from.type == into.type;
      if (same || from.bytes == 0) {
        end_step(index);
      } else if (from.device != nullptr || into.device != nullptr) {
        watch(index, endpoint_.copy(from, into));
      } else {
        types::copy(from, into);
        end_step(index);
      }
      break;
    }
    case StepKind::reduce:
      if (memory_->is_on_device(step.from) || memory_->is_on_device(step.into)) {
        watch(index, endpoint_.fold({binding_.op, memory_->buffer(step.from),
                                     memory_->buffer(step.into), step.from_first}));
      } else {
        fold(step);
        end_step(index);
      }
      break;
  }
  states_[index].started = true;
  if (const std::uint32_t next = program_->next_to_peer[index]; next != Program::kNone) meet(next);
}

inline void Run::start_send(std::uint32_t index, const Step& step) {
  const types::Buffer buffer = memory_->buffer(step.from);
  const int peer = job_rank(step);
  const p2p::Envelope mine = envelope(binding_.rank);
  if (buffer.bytes <= p2p::Endpoint::kTryBytes && buffer.is_contiguous()) {
    const void* data = buffer.bytes == 0 ? nullptr : buffer.at();
    if (endpoint_.try_send(peer, mine, data, static_cast<std::size_t>(buffer.bytes)))
      return end_step(index);
  }
  watch(index, endpoint_.send(p2p::Mode::standard, peer, mine, buffer));
}

inline void Run::watch(std::uint32_t index, p2p::Pending* request) {
  if (request->done) return end_request(index, request);
  states_[index].request = request;
  request->owner = &states_[index];
  request->on_done = &request_done;
}

void Run::end_request(std::uint32_t index, p2p::Pending* request) {
  const Code code = request->status.code;
  if (code != Code::ok) [[unlikely]]
    fail_by(*request);
  states_[index].request = nullptr;
  endpoint_.release(request);
  if (code == Code::ok) end_step(index);
}

void Run::end_step(std::uint32_t index) {
  const sched::Schedule& schedule = program_->schedule;
  const Step& step = schedule.steps[index];
  --unfinished_;
  for (std::uint32_t s = 0; s < step.successor_count; ++s)
    meet(schedule.successors[step.first_successor + s]);
}

inline void Run::fold(const Step& step) {
  if (step.from.count == 0) return;
  const void* from = memory_->element(step.from);
  void* into = memory_->element(step.into);
  if (step.from_first)
    binding_.op->fold(from, into, step.from.count, *binding_.type);
  else
    binding_.op->fold_right(from, into, step.from.count, *binding_.type, memory_->spare());
}

// What failed first counts: the rest may follow from it.
void Run::fail_with(Code code) {
  if (code_ == Code::ok) code_ = code;
}

void Run::fail_for_memory(const char* words) {
  if (code_ == Code::ok) try {
      failure_.text = words;
    } catch (const std::bad_alloc&) {  // it ends so without them
    }
  fail_with(Code::no_mem);
}

void Run::fail_by(const p2p::Pending& request) {
  if (code_ == Code::ok) try {
      failure_ = endpoint_.failure_of(request);
    } catch (const std::bad_alloc&) {  // it ends so without words
    }
  fail_with(request.status.code);
}

// After a failure the others must not wait for us: what we would have sent is replaced by word
// of the failure, what they send to us is taken and dropped. Messages and device work under way may
// still read and write the caller's memory, so the run ends when the last of them has. Sending
// may let the endpoint look, which ends messages of ours: all are seen to first.
void Run::part_company() {
  const TrueWhile now(advancing_);
  ++stragglers_;
  for (StepState& state : states_) {
    if (p2p::Pending* const request = state.request; request != nullptr) {
      ++stragglers_;
      request->on_done = &straggler_done;
      endpoint_.cancel(request);  // if nobody has met it yet
    } else if (!state.started) {
      replace(state.step);
    }
  }
  --stragglers_;
}

// In the place of a message that was not started, or that nobody had met.
void Run::replace(std::uint32_t index) {
  const Step& step = program_->schedule.steps[index];
  if (step.kind == StepKind::recv) {
    endpoint_.release(
        endpoint_.recv(job_rank(step), envelope(step.peer), types::Buffer::plain(nullptr, 0)));
  } else if (step.kind == StepKind::send) {
    p2p::Envelope word = envelope(binding_.rank);
    word.gave_up = code_ == Code::proc_aborted ? p2p::GaveUp::lost_peer
                   : failure_.is_mismatch      ? p2p::GaveUp::differs
                                               : p2p::GaveUp::failed;
    endpoint_.release(endpoint_.send(p2p::Mode::standard, job_rank(step), word,
                                     types::Buffer::plain(nullptr, 0)));
  }
}

void Run::straggler_done(p2p::Pending* request) {
  StepState* const state = static_cast<StepState*>(request->owner);
  const bool was_met = !request->status.cancelled;
  Run* const run = state->run;
  state->request = nullptr;
  run->endpoint_.release(request);
  if (!was_met) run->replace(state->step);
  if (--run->stragglers_ == 0) run->finish();
}

// Nobody waits for its end, or for that of what is under way.
void Run::let_go() {
  if (stragglers_ == 0) part_company();
  for (StepState& state : states_)
    if (p2p::Pending* const request = std::exchange(state.request, nullptr); request != nullptr) {
      request->on_done = nullptr;
      endpoint_.release(request);
    }
  for (const MoveState& move : moves_)
    if (move.request != nullptr) {
      move.request->on_done = nullptr;
      endpoint_.release(move.request);
    }
  moving_ = 0;
  stragglers_ = 0;
  memory_->abandon();
}

inline void Run::finish() {
  if (code_ == Code::ok && memory_->is_staged() && !std::exchange(is_moved_out_, true))
      [[unlikely]] {
    begin_moves(false);
    if (moving_ > 0) return;  // comes back with the last
  }
  memory_->release();
  done_ = true;
  if (on_done != nullptr) on_done(this);
}

Code wait(p2p::Endpoint& endpoint, Run& run) {
  bool was_short = false;
  while (!run.is_done()) {
    try {
      if (endpoint.progress() > 0)
        endpoint.active();
      else
        endpoint.idle();
    } catch (const std::bad_alloc&) {  // what it was for is left to a later round
      if (std::exchange(was_short, true)) throw;
    }
  }
  return run.code();
}

}  // namespace tutti::engine
