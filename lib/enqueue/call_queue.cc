// From put to end.
#include "enqueue/call_queue.h"

#include <utility>

#include "base/log.h"

namespace tutti::enqueue {
namespace {

constexpr std::size_t kMostFailures = 64;  // that nobody asked about: the first ones say why

}  // namespace

CallQueue::CallQueue(CallStreams& streams, std::unique_ptr<types::DeviceQueue> device_queue)
    : streams_(streams),
      device_queue_(std::move(device_queue)),
      name_(device_queue_->name()),
      next_number_(device_queue_->reached() + 1),
      slots_(std::make_unique<std::array<Slot, kMost>>()) {
  for (Slot& each : *slots_) each.queue = this;
}

// Where the process ends with calls under way, what they keep is kept.
CallQueue::~CallQueue() {
  if (!is_empty()) static_cast<void>(slots_.release());
}

Result<void> CallQueue::wait_for_room() const {
  const auto is_closed = [this] { return is_closed_.load(std::memory_order_acquire); };
  wait_until([&] {
    return is_closed() ||
           put_.load(std::memory_order_relaxed) - ended_.load(std::memory_order_acquire) < kMost;
  });
  if (is_closed()) return fail(Code::other, name_ + " was freed, or its GPU is lost");
  return {};
}

// A number is never used twice: of a mark that failed nobody knows what the stream got.
Result<void> CallQueue::put(QueuedCall& operation) {
  const std::scoped_lock hold(mutex_);
  TUTTI_DO(wait_for_room());
  const std::uint64_t place = put_.load(std::memory_order_relaxed);
  Slot& free = slot(place);
  free.operation = std::move(operation);
  free.call.store(free.operation.call, std::memory_order_relaxed);
  free.number = next_number_++;
  const bool is_streamed = free.operation.what == QueuedCall::What::streamed;
  free.is_awaited = !is_streamed && !free.operation.request;
  free.has_ended = false;
  if (auto done = is_streamed ? put_streamed(free) : mark(free); !done) {
    operation = std::move(free.operation);
    return done;
  }
  put_.store(place + 1, std::memory_order_release);
  streams_.wake();
  return {};
}

// Counted before the stream can stand still, so that whoever finds it standing finds the count,
// too. Where the stream is full this waits for it, and holds up nobody else who puts.
Result<void> CallQueue::mark(const Slot& slot) {
  const std::shared_lock hold(streams_.marks_);
  count(slot);
  auto marked = device_queue_->mark(slot.number, slot.is_awaited);
  if (!marked) uncount(slot.operation.what);
  return marked;
}

// The library puts its work there, and behind that goes a mark, which tells us that it has ended.
// Other streams may be marked meanwhile: a full one is taken on by those.
Result<void> CallQueue::put_streamed(Slot& slot) {
  {
    const std::shared_lock hold(streams_.marks_);
    count(slot);
  }
  streams_.wake();  // who looks at the other members
  auto done = slot.operation.streamed->put();
  if (done) done = device_queue_->mark(slot.number, false);
  if (done) return done;
  streams_.world_.enter();  // the others wait for this member's part in their streams
  slot.operation.streamed->fail(done.error().code);
  streams_.world_.leave();
  uncount(slot.operation.what);
  return done;
}

void CallQueue::count(const Slot& slot) {
  streams_.under_way_.fetch_add(1, std::memory_order_seq_cst);
  if (slot.operation.what == QueuedCall::What::streamed)
    streams_.streamed_.fetch_add(1, std::memory_order_relaxed);
}

void CallQueue::uncount(QueuedCall::What what) {
  if (what == QueuedCall::What::streamed)
    streams_.streamed_.fetch_sub(1, std::memory_order_relaxed);
  streams_.under_way_.fetch_sub(1, std::memory_order_seq_cst);
}

bool CallQueue::is_reached() const {
  if (begun_ == put_.load(std::memory_order_acquire)) return false;
  return static_cast<std::int32_t>(device_queue_->reached() - slot(begun_).number) >= 0;
}

void CallQueue::begin_reached() {
  while (is_reached()) begin(slot(begun_++));
}

void CallQueue::begin(Slot& slot) {
  ++streams_.in_flight_;
  const types::Devices::Queued queued(streams_.world_.endpoint().devices());
  const log::ForCall lines(slot.operation.call);
  switch (slot.operation.what) {
    case QueuedCall::What::send:
    case QueuedCall::What::recv:
      return begin_message(slot);
    case QueuedCall::What::collective:
      return begin_collective(slot);
    case QueuedCall::What::streamed: {  // and it has ended
      p2p::Status status;
      status.code = slot.operation.streamed->code();
      return end(slot, status);
    }
    case QueuedCall::What::wait:
      return begin_wait(slot);
    case QueuedCall::What::nothing:
      return leave(slot);
  }
}

void CallQueue::begin_message(Slot& slot) {
  const QueuedCall& said = slot.operation;
  follow(slot,
         said.what == QueuedCall::What::send
             ? comm::isend(*said.comm, p2p::Mode::standard, said.data, said.count, *said.type,
                           said.peer, said.tag)
             : comm::irecv(*said.comm, said.data, said.count, *said.type, said.peer, said.tag));
}

void CallQueue::begin_collective(Slot& slot) {
  auto started = slot.operation.collective->start();
  if (started) return follow(slot, *started);
  p2p::Status status;
  status.code = started.error().code;
  end(slot, status, {started.error().text});
}

void CallQueue::begin_wait(Slot& slot) {
  slot.left = 1;
  for (const auto& request : slot.operation.waited) {
    if (!request || request->is_done()) continue;
    ++slot.left;
    request->when_done(&CallQueue::on_waited, &slot);
  }
  if (--slot.left == 0) end_wait(slot);
}

void CallQueue::follow(Slot& slot, comm::Request* request) {
  slot.begun = request;
  if (!request->is_done()) return request->when_done(&CallQueue::on_done, &slot);
  end_begun(slot, *request);
}

void CallQueue::on_done(void* self, const comm::Request& request) {
  auto& slot = *static_cast<Slot*>(self);
  slot.queue->end_begun(slot, request);
}

// The request may be given back in the middle.
void CallQueue::end_begun(Slot& slot, const comm::Request& request) {
  const p2p::Status status = request.status();
  const comm::Reason why = request.reason();
  end(slot, status, why);
}

void CallQueue::on_waited(void* self, const comm::Request& /*request*/) {
  auto& slot = *static_cast<Slot*>(self);
  if (--slot.left == 0) slot.queue->end_wait(slot);
}

void CallQueue::end(Slot& slot, const p2p::Status& status, const comm::Reason& why) {
  if (slot.begun != nullptr) std::exchange(slot.begun, nullptr)->release();
  QueuedCall& ended = slot.operation;
  if (ended.tell != nullptr) ended.tell(ended.statuses, 0, status);
  if (status.code == Code::ok) {
    if (ended.request) comm::complete(*ended.request, status);
  } else if (ended.request) {
    comm::fail(*ended.request, status, why);  // who waits for it is told
  } else {
    report(ended, *ended.comm, status, why);
  }
  leave(slot);
}

void CallQueue::end_wait(Slot& slot) {
  QueuedCall& ended = slot.operation;
  for (std::size_t i = 0; i < ended.waited.size(); ++i) {
    const auto& request = ended.waited[i];
    if (!request) continue;
    const p2p::Status& status = request->status();
    if (ended.tell != nullptr) ended.tell(ended.statuses, i, status);
    if (status.code != Code::ok) report(ended, *request->comm(), status, request->reason());
  }
  leave(slot);
}

// The stream may go on, and the slot be filled again.
void CallQueue::leave(Slot& done) {
  const std::uint32_t number = done.number;
  const bool is_awaited = done.is_awaited;
  const QueuedCall::What what = done.operation.what;
  done.operation = {};
  done.has_ended = true;
  --streams_.in_flight_;
  std::uint64_t ended = ended_.load(std::memory_order_relaxed);
  while (ended < begun_ && slot(ended).has_ended) ++ended;
  ended_.store(ended, std::memory_order_release);
  if (is_awaited) device_queue_->pass(number);
  uncount(what);
}

void CallQueue::report(const QueuedCall& operation, comm::Communicator& comm,
                       const p2p::Status& status, const comm::Reason& why) {
  Failure failure{operation.call, comm::CommRef::share(&comm), status.code, why};
  failure.why.text = "enqueued in " + name_;
  for (const std::string& text : {p2p::describe_failure(status), why.text})
    if (!text.empty()) failure.why.text += ": " + text;
  if (is_gone_) failure.why.text += ": the GPU is lost";
  if (comm.errors_end_job && streams_.fatal_ != nullptr) streams_.fatal_(failure);
  if (failures_.size() < kMostFailures) failures_.push_back(std::move(failure));
}

std::optional<Failure> CallQueue::take_failure() {
  if (failures_.empty()) return std::nullopt;
  Failure first = std::move(failures_.front());
  failures_.erase(failures_.begin());
  return first;
}

// What had begun ends by itself: its work on the GPU fails.
void CallQueue::lose() {
  is_gone_ = true;
  is_closed_.store(true, std::memory_order_release);
  while (begun_ != put_.load(std::memory_order_acquire)) {
    Slot& lost = slot(begun_++);
    ++streams_.in_flight_;
    p2p::Status status;
    status.code = Code::other;
    if (lost.operation.what == QueuedCall::What::wait) {
      report(lost.operation, *lost.operation.comm, status, {});
      leave(lost);
    } else {
      end(lost, status);
    }
  }
}

bool CallQueue::is_empty() const {
  return ended_.load(std::memory_order_relaxed) == put_.load(std::memory_order_acquire);
}

const char* CallQueue::oldest_call() const {
  const std::uint64_t ended = ended_.load(std::memory_order_acquire);
  if (ended == put_.load(std::memory_order_acquire)) return nullptr;
  return slot(ended).call.load(std::memory_order_relaxed);
}

// The driver waits for streams when the process gives memory back.
void CallQueue::abandon() {
  close();
  const std::uint64_t put = put_.load(std::memory_order_acquire);
  if (put > 0) device_queue_->pass(slot(put - 1).number);
}

// Who is about to put holds the mutex for as long as it takes to see that.
void CallQueue::close() {
  is_closed_.store(true, std::memory_order_release);
}

}  // namespace tutti::enqueue
