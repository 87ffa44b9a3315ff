// Point-to-point calls on a communicator: ranks to peers, then p2p.
#include <utility>

#include "comm/request.h"

namespace tutti::comm {
namespace {

const p2p::Status kNullStatus{kProcNull, p2p::kAnyTag, Code::ok, false, 0};

[[gnu::always_inline]] inline types::Buffer buffer_of(const Communicator& comm, const void* data,
                                                      Count count, const types::Datatype& type) {
  return comm.runtime().devices.whole(data, count, type);
}

p2p::Envelope outgoing(const Communicator& comm, int tag) {
  return {comm.context(), comm.rank(), tag, 0};
}

p2p::Envelope wanted(const Communicator& comm, int source, int tag) {
  return {comm.context(), source, tag, 0};
}

int peer_of(const Communicator& comm, int source) {
  return source == p2p::kAnySource ? p2p::kAnySource : comm.peer(source);
}

// For the daemon, should this call never end.
void note(Communicator& comm, int peer, int tag, Count bytes) {
  watch::detail(comm.runtime().watch,
                {comm.context(), peer, tag, static_cast<std::uint64_t>(bytes), 0});
}

// What is over at once says what it was about only where calls are recorded.
void note_for_recorder(Communicator& comm, int peer, int tag, Count bytes) {
  if (comm.runtime().is_recorded) [[unlikely]]
    note(comm, peer, tag, bytes);
}

// The message's number, or 0: nothing was sent.
std::uint32_t sent_at_once(Communicator& comm, p2p::Mode mode, const types::Buffer& buffer,
                           int dest, int tag) {
  if (mode == p2p::Mode::synchronous || buffer.bytes > p2p::Endpoint::kTryBytes ||
      !buffer.is_contiguous())
    return 0;
  return comm.runtime().endpoint.try_send(comm.peer(dest), outgoing(comm, tag), buffer.at(),
                                          static_cast<std::size_t>(buffer.bytes));
}

// To ourselves, straight into the receive that waits for it. False: nothing was sent.
bool sent_to_self(Communicator& comm, const types::Buffer& buffer, int dest, int tag) {
  return dest == comm.rank() && !comm.is_inter() && buffer.is_contiguous() &&
         comm.runtime().endpoint.give_to_self(outgoing(comm, tag), buffer.at(),
                                              static_cast<std::size_t>(buffer.bytes));
}

}  // namespace

Code send(Communicator& comm, p2p::Mode mode, const void* data, Count count,
          const types::Datatype& type, int dest, int tag) {
  if (dest == kProcNull) return Code::ok;
  const types::Buffer buffer = buffer_of(comm, data, count, type);
  note_for_recorder(comm, comm.peer(dest), tag, buffer.bytes);
  if (sent_to_self(comm, buffer, dest, tag)) return Code::ok;
  if (sent_at_once(comm, mode, buffer, dest, tag) != 0) return Code::ok;
  note(comm, comm.peer(dest), tag, buffer.bytes);
  p2p::Endpoint& endpoint = comm.runtime().endpoint;
  p2p::Pending* const request = endpoint.send(mode, comm.peer(dest), outgoing(comm, tag), buffer);
  try {
    if (!request->done) endpoint.wait(request);
  } catch (...) {
    endpoint.cancel(request);  // if its peer has not met it
    endpoint.release(request);
    throw;
  }
  const Code code = request->status.code;
  endpoint.release(request);
  return code;
}

void send_failure(Communicator& comm, int dest, int tag) {
  if (dest == kProcNull) return;
  p2p::Envelope word = outgoing(comm, tag);
  word.gave_up = p2p::GaveUp::failed;
  p2p::Endpoint& endpoint = comm.runtime().endpoint;
  endpoint.release(
      endpoint.send(p2p::Mode::standard, comm.peer(dest), word, types::Buffer::plain(nullptr, 0)));
}

namespace {

// Into its caller's place: the status is not copied again.
p2p::Status recv_from(Communicator& comm, void* data, Count count, const types::Datatype& type,
                      int source, int tag) {
  const int peer = peer_of(comm, source);
  const types::Buffer buffer = buffer_of(comm, data, count, type);
  note(comm, peer, tag, buffer.bytes);
  const p2p::Status status =
      comm.runtime().endpoint.recv_now(peer, wanted(comm, source, tag), buffer);
  // The source is what its sender said.
  if (status.code == Code::ok && status.source < comm.peers().size())
    note_for_recorder(comm, comm.peer(status.source), status.tag, status.bytes);
  return status;
}

}  // namespace

p2p::Status recv(Communicator& comm, void* data, Count count, const types::Datatype& type,
                 int source, int tag) {
  return source == kProcNull ? kNullStatus : recv_from(comm, data, count, type, source, tag);
}

Request* isend(Communicator& comm, p2p::Mode mode, const void* data, Count count,
               const types::Datatype& type, int dest, int tag) {
  if (dest == kProcNull) return RequestMaker::completed(comm, kNullStatus);
  const types::Buffer buffer = buffer_of(comm, data, count, type);
  note_for_recorder(comm, comm.peer(dest), tag, buffer.bytes);
  if (sent_to_self(comm, buffer, dest, tag)) return RequestMaker::sent(comm, comm.peer(dest), 0);
  if (const std::uint32_t number = sent_at_once(comm, mode, buffer, dest, tag); number != 0)
    return RequestMaker::sent(comm, comm.peer(dest), number);
  p2p::Pending* const message =
      comm.runtime().endpoint.send(mode, comm.peer(dest), outgoing(comm, tag), buffer);
  return RequestMaker::of_message(comm, message, type, comm.peer(dest), tag);
}

Request* irecv(Communicator& comm, void* data, Count count, const types::Datatype& type, int source,
               int tag) {
  if (source == kProcNull) return RequestMaker::completed(comm, kNullStatus);
  const int peer = peer_of(comm, source);
  const types::Buffer buffer = buffer_of(comm, data, count, type);
  note_for_recorder(comm, peer, tag, buffer.bytes);
  p2p::Pending* const message =
      comm.runtime().endpoint.recv(peer, wanted(comm, source, tag), buffer);
  return RequestMaker::of_message(comm, message, type, peer, tag);
}

bool iprobe(Communicator& comm, int source, int tag, p2p::Status* status) {
  if (source == kProcNull) {
    *status = kNullStatus;
    return true;
  }
  Runtime& runtime = comm.runtime();
  const int peer = peer_of(comm, source);
  const p2p::Envelope envelope = wanted(comm, source, tag);
  if (runtime.endpoint.probe(peer, envelope, status)) return true;
  progress_or_yield(runtime);
  return runtime.endpoint.probe(peer, envelope, status);
}

p2p::Status probe(Communicator& comm, int source, int tag) {
  p2p::Status status = kNullStatus;
  if (source == kProcNull) return status;
  Runtime& runtime = comm.runtime();
  const int peer = peer_of(comm, source);
  const p2p::Envelope envelope = wanted(comm, source, tag);
  note(comm, peer, tag, 0);
  progress_until(runtime, [&] { return runtime.endpoint.probe(peer, envelope, &status); });
  return status;
}

void settle_messages(Communicator& comm) {
  Runtime& runtime = comm.runtime();
  const p2p::Endpoint& endpoint = runtime.endpoint;
  progress_until(runtime, [&] {
    return !endpoint.is_used(comm.context()) && !endpoint.is_used(comm.coll_context());
  });
}

MatchedMessage::MatchedMessage(Communicator& comm, p2p::KeptMessage* taken)
    : Object(ObjectKind::message, &Object::destroy_as<MatchedMessage>),
      comm_(CommRef::share(&comm)),
      taken_(taken) {}

MatchedMessage* take(Communicator& comm, int source, int tag, bool block, p2p::Status* status) {
  Runtime& runtime = comm.runtime();
  const int peer = peer_of(comm, source);
  const p2p::Envelope envelope = wanted(comm, source, tag);
  if (block) note(comm, peer, tag, 0);
  p2p::KeptMessage* taken = nullptr;
  const auto is_decided = [&] {
    status->code = Code::ok;
    taken = runtime.endpoint.take(peer, envelope, status);
    return taken != nullptr || status->code != Code::ok;
  };
  if (block) {
    progress_until(runtime, is_decided);
  } else if (!is_decided()) {
    progress_or_yield(runtime);
    is_decided();
  }
  return taken == nullptr ? nullptr : new MatchedMessage(comm, taken);
}

Request* irecv_taken(MatchedMessage& message, void* data, Count count,
                     const types::Datatype& type) {
  Communicator& comm = message.comm();
  p2p::Pending* const request =
      comm.runtime().endpoint.recv_taken(message.taken_, buffer_of(comm, data, count, type));
  message.taken_ = nullptr;
  return RequestMaker::of_message(comm, request, type);
}

}  // namespace tutti::comm
