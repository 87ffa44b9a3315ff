// A call as its user makes it, and the stream that it goes into.
#include <utility>

#include "enqueue/call_queue.h"
#include "enqueue/enqueue.h"

namespace tutti::enqueue {
namespace {

types::TypeRef keep(const types::Datatype* type) {
  if (type == nullptr || type->is_predefined()) return {};
  return types::TypeRef::share(const_cast<types::Datatype*>(type));
}

// What its user gets, and completes at its message's end. It has its own completion.
class MessageHooks final : public comm::Hooks {
 public:
  explicit MessageHooks(const void* maker) : maker_(maker) {}
  const void* maker() const override { return maker_; }

 private:
  const void* maker_;
};

}  // namespace

QueuedCall QueuedCall::of_message(What what, comm::Communicator& comm,
                                  const types::Datatype& type) {
  QueuedCall operation;
  operation.what = what;
  operation.comm = comm::CommRef::share(&comm);
  operation.type = &type;
  operation.types[0] = keep(&type);
  return operation;
}

Result<QueuedCall> QueuedCall::of_collective(comm::Communicator& comm, const comm::CollCall& call) {
  QueuedCall operation;
  // What its stream does not take is not counted: members may make it again.
  if (const auto* const stream = static_cast<const UserStream*>(comm.stream.get());
      stream != nullptr && stream->has_queue())
    TUTTI_DO(stream->calls_->device_queue().look());
  TUTTI_TRY(streamed, comm::StreamedCall::make(comm, call));
  operation.what = streamed == nullptr ? What::collective : What::streamed;
  operation.streamed = std::move(streamed);
  if (operation.what == What::collective) {
    TUTTI_TRY(prepared, comm::PersistentCollective::make(comm, call));
    operation.collective = std::move(prepared);
  }
  operation.comm = comm::CommRef::share(&comm);
  operation.types = {keep(call.send_type), keep(call.recv_type)};
  if (call.op != nullptr && !call.op->is_predefined())
    operation.op = Ref<const types::Op>::share(call.op);
  return operation;
}

UserStream::UserStream(CallStreams* streams, std::shared_ptr<CallQueue> calls, bool is_promised)
    : Object(ObjectKind::stream, &Object::destroy_as<UserStream>),
      streams_(streams),
      calls_(std::move(calls)),
      is_promised_(is_promised) {}

UserStream::~UserStream() = default;

Code UserStream::attach(comm::Communicator& comm, UserStream* stream) {
  comm.stream = Ref<Object>::share(stream);
  comm::StreamPlace place;
  if (stream != nullptr && stream->has_queue()) {
    const types::DeviceQueue& queue = stream->calls_->device_queue();
    place = {queue.handle(), queue.device(), stream->is_promised_};
  }
  return comm::settle_in_streams(comm, place);
}

Result<void> UserStream::put(QueuedCall& operation) {
  return calls_->put(operation);
}

comm::Request* UserStream::make_request(QueuedCall& operation) {
  comm::Request* const request =
      comm::open_request(*operation.comm, std::make_unique<MessageHooks>(calls_.get()));
  operation.request = Ref<comm::Request>::share(request);
  return request;
}

bool UserStream::made(const comm::Request& request) const {
  return request.hooks() != nullptr && calls_ != nullptr &&
         request.hooks()->maker() == calls_.get();
}

std::optional<Failure> UserStream::take_failure() {
  return calls_ == nullptr ? std::nullopt : calls_->take_failure();
}

void UserStream::drain() {
  while (calls_ != nullptr && !calls_->is_empty()) streams_->pause();
}

void UserStream::close() {
  drain();
  if (calls_ == nullptr) return;
  calls_->close();
  streams_->forget(*calls_);
}

}  // namespace tutti::enqueue
