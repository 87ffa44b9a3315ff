// Requests as users see them, over messages and runs of the engine.
#include "comm/request.h"

#include <new>
#include <utility>

namespace tutti::comm {
namespace {

types::TypeRef keep(const types::Datatype* type) {
  if (type == nullptr || type->is_predefined()) return {};
  return types::TypeRef::share(const_cast<types::Datatype*>(type));
}

}  // namespace

CollectivePool::CollectivePool() = default;
CollectivePool::~CollectivePool() = default;

std::unique_ptr<Request::Collective> CollectivePool::take() {
  if (idle_.empty()) return std::make_unique<Request::Collective>();
  auto collective = std::move(idle_.back());
  idle_.pop_back();
  return collective;
}

void CollectivePool::give(std::unique_ptr<Request::Collective> collective) {
  collective->forget();
  try {
    idle_.push_back(std::move(collective));
  } catch (const std::bad_alloc&) {  // then it is not kept
  }
}

RequestPool::~RequestPool() {
  for (void* slot : free_) slots::give(slot);
}

// Inlined by force, as make(): every message comes here.
[[gnu::always_inline]] inline void* RequestPool::take() {
  if (free_.empty()) return slots::take();
  void* const slot = free_.back();
  free_.pop_back();
  slots::renew(slot);
  return slot;
}

Request::Request(Communicator& comm)
    : GatedObject(ObjectKind::request, &Request::destroy), comm_(CommRef::share(&comm)) {}

Request::~Request() = default;

void Request::destroy(const Object* object) {
  static_assert(fits<Request>());
  auto* const request = const_cast<Request*>(static_cast<const Request*>(object));
  const CommRef comm = std::move(request->comm_);  // the pool's world lives as long as this
  request->~Request();
  comm->runtime().requests.give(request);
}

[[gnu::always_inline]] inline Request* RequestMaker::make(Communicator& comm) {
  return new (comm.runtime().requests.take()) Request(comm);
}

// It has no status, but that it is done.
Request* RequestMaker::sent(Communicator& comm, int peer, std::uint32_t number) {
  Request* const request = make(comm);
  request->sent_ = {peer, number};
  request->done_ = true;
  return request;
}

Request* RequestMaker::completed(Communicator& comm, const p2p::Status& status) {
  Request* const request = make(comm);
  finish(*request, status);
  return request;
}

void RequestMaker::take_status(Request& request, p2p::Pending* message) {
  copy_fresh(request.status_, message->status);
  request.message_ = nullptr;
  request.comm_->runtime().endpoint.release(message);
  request.type_.reset();
  end(request);
}

void RequestMaker::explain(Request& request, Reason why) {
  request.reason_ = std::make_unique<Reason>(std::move(why));
}

void RequestMaker::finish(Request& request, const p2p::Status& status) {
  copy_fresh(request.status_, status);
  end(request);
}

void RequestMaker::end(Request& request) {
  request.done_ = true;
  if (request.status_.code != Code::ok) [[unlikely]]
    ++request.comm_->runtime().failures;
  if (request.then_ != nullptr) [[unlikely]]
    std::exchange(request.then_, nullptr)(request.then_self_, request);
}

void RequestMaker::reopen(Request& request) {
  request.done_ = false;
  request.retain();  // until complete()
}

Request* RequestMaker::open(Communicator& comm, std::unique_ptr<Hooks> hooks) {
  Request* const request = make(comm);
  request->hooks_ = std::move(hooks);
  request->retain();  // until complete()
  return request;
}

Request* RequestMaker::of_message(Communicator& comm, p2p::Pending* message,
                                  const types::Datatype& type, int peer, int tag) {
  Request* const request = make(comm);
  if (message->done) {
    request->sent_ = {peer, message->number};
    take_status(*request, message);
    return request;
  }
  request->message_ = message;
  request->status_.source = peer;  // until it is done
  request->status_.tag = tag;
  request->type_ = keep(&type);
  request->retain();  // until on_message
  message->owner = request;
  message->on_done = &RequestMaker::on_message;
  return request;
}

void RequestMaker::on_message(p2p::Pending* message) {
  auto* const request = static_cast<Request*>(message->owner);
  const p2p::Status& status = message->status;
  if (message->number != 0 && status.code == Code::ok && !status.cancelled) {
    request->sent_ = {request->status_.source, message->number};
    if (std::exchange(request->is_wanted_back_, false)) {
      request->comm_->runtime().endpoint.release(message);
      ask_back(*request);
      return request->release();
    }
  }
  take_status(*request, message);
  request->release();
}

// Its message has left, but may still be unreceived with its peer: it is done when the peer knows.
void RequestMaker::ask_back(Request& request) {
  const auto [peer, number] = std::exchange(request.sent_, {});
  p2p::Pending* const message = request.comm_->runtime().endpoint.recall(peer, number);
  if (message->done) return take_status(request, message);
  request.done_ = false;
  request.message_ = message;
  request.retain();  // until on_message
  message->owner = &request;
  message->on_done = &RequestMaker::on_message;
}

Request* RequestMaker::of_collective(Communicator& comm, const CollCall& call,
                                     std::unique_ptr<Request::Collective> bound) {
  Request::Collective& collective = *bound;
  collective.send_type = keep(call.send_type);
  collective.recv_type = keep(call.recv_type);
  for (const types::Datatype* type : call.send_types) collective.types.push_back(keep(type));
  for (const types::Datatype* type : call.recv_types) collective.types.push_back(keep(type));
  collective.op = Ref<const types::Op>::share(call.op);
  Request* const request = make(comm);
  request->collective_ = std::move(bound);
  request->is_collective_ = true;
  return request;
}

void RequestMaker::begin(Request& request) {
  Runtime& runtime = request.comm_->runtime();
  engine::Run* const run = request.collective_->bound.run.get();
  run->owner = &request;
  run->on_done = &RequestMaker::on_run;
  request.retain();  // until on_run
  count_under_way(request, 1);
  if (runtime.is_helped && request.collective_->is_long() && may_be_helped(runtime)) try {
      return runtime.endpoint.later(&RequestMaker::on_turn, &request);
    } catch (const std::bad_alloc&) {  // here, then
    }
  run->begin();
}

void RequestMaker::on_turn(p2p::Pending* turn) {
  auto* const request = static_cast<Request*>(turn->owner);
  request->comm_->runtime().endpoint.release(turn);
  request->collective_->bound.run->begin();
}

void RequestMaker::on_run(engine::Run* run) {
  auto* const request = static_cast<Request*>(run->owner);
  count_under_way(*request, -1);
  Runtime& runtime = request->comm_->runtime();
  p2p::Status status;
  status.code = end_call(runtime, request->collective_->bound, request->reason_);
  runtime.collectives.give(std::move(request->collective_));
  finish(*request, status);
  request->release();
}

void RequestMaker::count_under_way(const Request& request, int by) {
  Runtime& runtime = request.comm_->runtime();
  runtime.under_way.long_ones += request.collective_->is_long() ? by : 0;
  runtime.under_way.by_users += request.collective_->calls_user() ? by : 0;
}

void RequestMaker::cancel(Request& request) {
  if (request.message_ != nullptr) {
    request.is_wanted_back_ = true;
    return request.comm_->runtime().endpoint.cancel(request.message_);
  }
  if (request.done_ && request.sent_.number != 0) ask_back(request);
}

void cancel(Request& request) {
  RequestMaker::cancel(request);
}

Request* open_request(Communicator& comm, std::unique_ptr<Hooks> hooks) {
  return RequestMaker::open(comm, std::move(hooks));
}

void reopen(Request& request) {
  RequestMaker::reopen(request);
}

void fail(Request& request, const p2p::Status& status, Reason why) {
  RequestMaker::explain(request, std::move(why));
  complete(request, status);
}

void complete(Request& request, const p2p::Status& status) {
  RequestMaker::finish(request, status);
  request.comm()->runtime().endpoint.active();  // another thread may sleep until then
  request.release();
}

void RequestMaker::note_wait(Runtime& runtime, const Request& request) {
  watch::Detail detail;
  detail.context = request.comm_->context();
  if (request.message_ != nullptr) {
    detail.peer = request.status_.source;
    detail.tag = request.status_.tag;
  } else if (request.collective_ != nullptr) {
    detail.context = request.comm_->coll_context();
  }
  watch::detail(runtime.watch, detail);
}

void wait(Runtime& runtime, Request& request) {
  if (request.is_done()) return;
  RequestMaker::note_wait(runtime, request);
  progress_until(runtime, [&] { return request.is_done(); });
}

std::uint64_t failures(const Runtime& runtime) {
  return runtime.failures;
}

bool wait(Runtime& runtime, Request& request, std::uint64_t failures) {
  if (request.is_done()) return true;
  RequestMaker::note_wait(runtime, request);
  progress_until(runtime, [&] { return request.is_done() || runtime.failures != failures; });
  return request.is_done();
}

int progress(Runtime& runtime) {
  return runtime.endpoint.progress();
}

int progress_or_yield(Runtime& runtime) {
  return runtime.endpoint.progress_or_yield();
}

bool has_long_calls(const Runtime& runtime) {
  return runtime.under_way.long_ones > 0;
}

bool may_be_helped(const Runtime& runtime) {
  return has_long_calls(runtime) && runtime.under_way.by_users == 0 && runtime.devices.is_empty() &&
         !runtime.endpoint.is_observed();
}

void set_helped(Runtime& runtime) {
  runtime.is_helped = true;
}

void idle(Runtime& runtime) {
  runtime.endpoint.idle();
}

void active(Runtime& runtime) {
  runtime.endpoint.active();
}

}  // namespace tutti::comm
