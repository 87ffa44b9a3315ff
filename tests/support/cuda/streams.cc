// Streams as threads that run behind, and events.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "standin.h"

namespace standin {
namespace {

unsigned draw_delay() {
  State& all = state();
  if (all.delay_us == 0) return 0;
  all.random = all.random * 6364136223846793005U + 1442695040888963407U;
  return static_cast<unsigned>((all.random >> 33) % (all.delay_us + 1));
}

bool has_come(const std::vector<EndRef>& ends) {
  for (const EndRef& end : ends)
    if (!end->has_come) return false;
  return true;
}

// A stream's thread, until the stream is destroyed and has nothing left.
void run(CUstream_st* stream) {
  Lock lock(state().mutex);
  work_on(stream->context->device);
  for (;;) {
    stream->wakes.wait(lock, [&] { return stream->is_over || !stream->queue.empty(); });
    if (stream->queue.empty()) break;
    Work work = std::move(stream->queue.front());
    stream->queue.pop_front();
    const unsigned delay = draw_delay();
    state().ends.wait(lock, [&] { return has_come(work.after); });
    begin_touching(work.touches);
    lock.unlock();
    if (delay > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay));
    if (work.run) work.run();
    lock.lock();
    end_touching(work.touches);
    work.end->has_come = true;
    state().ends.notify_all();
  }
  lock.unlock();
  delete stream;
}

std::unique_ptr<CUstream_st>& made(std::unique_ptr<CUstream_st>& stream, CUcontext context) {
  if (stream == nullptr) {
    stream = std::make_unique<CUstream_st>();
    stream->context = context;
    std::thread(run, stream.get()).detach();
  }
  return stream;
}

}  // namespace

CUstream_st* stream_of(CUstream stream) {
  if (stream != nullptr && stream != CU_STREAM_LEGACY && stream != CU_STREAM_PER_THREAD) {
    must_live(stream->is_stale, "stream");
    return stream;
  }
  const CUcontext context = current();
  if (context == nullptr) return nullptr;
  return made(stream == CU_STREAM_PER_THREAD ? context->per_thread : context->legacy, context)
      .get();
}

// The legacy stream waits for all that block it, and they for it.
EndRef enqueue(CUstream_st& stream, std::function<void()> work, const EndRef& after,
               const TouchesRef& touches) {
  CUctx_st& context = *stream.context;
  const EndRef end = std::make_shared<End>();
  Work made{std::move(work), {}, end, touches};
  if (touches != nullptr) {
    touches->stream_by = stream.made_by;
    state().touches.push_back(touches);
  }
  if (after != nullptr) made.after.push_back(after);
  const auto wait_for = [&made](const CUstream_st* other) {
    if (other != nullptr && other->last != nullptr) made.after.push_back(other->last);
  };
  if (&stream == context.legacy.get()) {
    wait_for(context.per_thread.get());
    for (const CUstream_st* each : context.streams)
      if (each->is_blocking) wait_for(each);
  } else if (stream.is_blocking) {
    wait_for(context.legacy.get());
  }
  stream.last = end;
  stream.queue.push_back(std::move(made));
  Counts& counts = state().counts;
  counts.longest = std::max<unsigned long long>(counts.longest, stream.queue.size());
  stream.wakes.notify_one();
  return end;
}

void wait_for_all(CUstream_st& stream) {
  const CUctx_st& context = *stream.context;
  std::vector<EndRef>& after = stream.queue.back().after;
  for (const CUstream_st* const each : context.streams)
    if (each != &stream && each->last != nullptr) after.push_back(each->last);
  for (const CUstream_st* const each : {context.legacy.get(), context.per_thread.get()})
    if (each != nullptr && each != &stream && each->last != nullptr) after.push_back(each->last);
}

void await(Lock& lock, const EndRef& end) {
  if (end != nullptr) state().ends.wait(lock, [&] { return end->has_come; });
}

void await_context(Lock& lock, CUctx_st& context) {
  std::vector<EndRef> all;
  for (const CUstream_st* each : context.streams) all.push_back(each->last);
  if (context.legacy) all.push_back(context.legacy->last);
  if (context.per_thread) all.push_back(context.per_thread->last);
  for (const EndRef& end : all) await(lock, end);
}

void await_all(Lock& lock) {
  for (const auto& gpu : state().gpus) await_context(lock, gpu->primary);
  for (const auto& own : state().own_contexts) await_context(lock, *own);
}

void await_waiting_copies(Lock& lock) {
  state().ends.wait(lock, [] { return state().waiting_copies == 0 && state().alone == 0; });
}

void await_alone(Lock& lock) {
  state().ends.wait(lock, [] { return state().alone == 0; });
}

Alone::Alone(Lock& /*held*/) : counts_(state().has_shared_queues ? 1 : 0) {
  state().alone += counts_;
}
Alone::~Alone() {
  state().alone -= counts_;
  state().ends.notify_all();
}

}  // namespace standin

using namespace standin;

static CUresult create(const char* function, CUstream* stream, unsigned flags, const void* caller) {
  Lock lock(state().mutex);
  if (const CUresult no = enter(function, caller); no != CUDA_SUCCESS) return no;
  await_waiting_copies(lock);
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  auto* const made = new CUstream_st;
  made->context = current();
  made->is_blocking = (flags & CU_STREAM_NON_BLOCKING) == 0;
  made->made_by = library_of(caller);
  made->context->streams.push_back(made);
  std::thread(run, made).detach();
  *stream = made;
  return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return create("cuStreamCreate", stream, flags, __builtin_return_address(0));
}
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  ENTER("cuCtxGetStreamPriorityRange");
  *least = 0;
  *greatest = -5;
  return current() == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int) {
  return create("cuStreamCreateWithPriority", stream, flags, __builtin_return_address(0));
}
CUresult cuStreamDestroy(CUstream stream) {
  ENTER("cuStreamDestroy");
  must_live(stream->is_stale, "stream");
  std::erase(stream->context->streams, stream);
  std::erase(state().captured, stream);
  stream->is_over = true;
  stream->wakes.notify_one();
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream on) {
  ENTER_UNSAFE("cuStreamSynchronize");
  CUstream_st* const stream = stream_of(on);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  await(lock, enqueue(*stream, {}));
  return state().lost;  // perhaps meanwhile
}
CUresult cuCtxSynchronize() {
  ENTER_UNSAFE("cuCtxSynchronize");
  const CUcontext context = current();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  await_context(lock, *context);
  return state().lost;
}
CUresult cuStreamWaitEvent(CUstream on, CUevent event, unsigned) {
  ENTER("cuStreamWaitEvent");
  CUstream_st* const stream = stream_of(on);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  must_live(event->is_stale, "event");
  if (event->end != nullptr) enqueue(*stream, {}, event->end);
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  ENTER("cuEventCreate");
  await_waiting_copies(lock);
  *event = new CUevent_st;
  (*event)->context = current();
  if (current() != nullptr) current()->events.push_back(*event);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  ENTER("cuEventDestroy");
  must_live(event->is_stale, "event");
  if (event->context != nullptr) std::erase(event->context->events, event);
  delete event;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream on) {
  ENTER_WORK("cuEventRecord");
  if (const CUresult no = spoil_by_default(on); no != CUDA_SUCCESS) return no;
  CUstream_st* const stream = stream_of(on);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (on == nullptr || on == CU_STREAM_LEGACY) await_waiting_copies(lock);
  must_live(event->is_stale, "event");
  event->end = enqueue(*stream, {});
  return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) {
  ENTER_UNSAFE("cuEventQuery");
  must_live(event->is_stale, "event");
  return event->end == nullptr || event->end->has_come ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult cuStreamQuery(CUstream on) {
  ENTER_UNSAFE("cuStreamQuery");
  CUstream_st* const stream = stream_of(on);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (const CUresult no = spoil_by_default(on); no != CUDA_SUCCESS) return no;
  // The legacy stream has to wait for what blocks it.
  CUctx_st& context = *stream->context;
  const bool is_legacy = stream == context.legacy.get();
  const auto is_through = [](const CUstream_st* each) {
    return each == nullptr || each->last == nullptr || each->last->has_come;
  };
  const bool is_free = !is_legacy || (is_through(context.per_thread.get()) &&
                                      std::ranges::all_of(context.streams, [&](const auto* each) {
                                        return !each->is_blocking || is_through(each);
                                      }));
  return is_free && is_through(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult cuStreamGetCtx(CUstream on, CUcontext* context) {
  ENTER("cuStreamGetCtx");
  CUstream_st* const stream = stream_of(on);
  *context = stream == nullptr ? nullptr : stream->context;
  return stream == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

namespace {

// A stream stands still until the word is as great, or its GPU is lost.
void stand_still(const std::uint32_t* word, std::uint32_t value) {
  for (;;) {
    const std::uint32_t now = std::atomic_ref(*const_cast<std::uint32_t*>(word)).load();
    if (static_cast<std::int32_t>(now - value) >= 0) return;
    {
      const Lock lock(state().mutex);
      if (state().lost != CUDA_SUCCESS) return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(5));
  }
}

}  // namespace

CUresult cuStreamBatchMemOp(CUstream on, unsigned count, CUstreamBatchMemOpParams* params,
                            unsigned flags) {
  ENTER("cuStreamBatchMemOp");
  CUstream_st* const stream = stream_of(on);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (count == 0 || count > 256 || flags != 0 || is_captured(stream))
    return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    const CUstreamBatchMemOpParams& each = params[i];
    auto* const word =
        static_cast<std::uint32_t*>(reach(each.writeValue.address, 4, stream->context->device));
    if (word == nullptr || each.writeValue.address % 4 != 0) return CUDA_ERROR_INVALID_VALUE;
    const std::uint32_t value = each.writeValue.value;
    if (each.operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 && each.writeValue.flags == 0)
      enqueue(
          *stream, [word, value] { std::atomic_ref(*word).store(value); }, nullptr,
          touches("write", {{each.writeValue.address, 4}}));
    else if (each.operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 &&
             each.waitValue.flags == CU_STREAM_WAIT_VALUE_GEQ)
      enqueue(
          *stream, [word, value] { stand_still(word, value); }, nullptr,
          touches("wait", {{each.writeValue.address, 4}}));
    else
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}
CUresult cuLaunchHostFunc(CUstream on, CUhostFn function, void* data) {
  ENTER("cuLaunchHostFunc");
  CUstream_st* const stream = stream_of(on);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  enqueue(*stream, [function, data] { function(data); });
  return CUDA_SUCCESS;
}
