// Collective calls: to the delegate when it serves them best, else to a schedule in the engine.
//
// Nonblocking calls always take schedules: the delegate keeps the order of calls by blocking.
#include <bit>
#include <optional>

#include "comm/fingerprint.h"
#include "comm/neighbours.h"
#include "comm/request.h"
#include "comm/state.h"

namespace tutti::comm {
namespace {

using coll::Collective;
using Route = Communicator::State::Route;
using Kind = Communicator::State::Kind;

const types::Datatype* type_of_reduction(const CollCall& call) {
  return call.recv_type != nullptr ? call.recv_type : call.send_type;
}

types::Buffer message(const void* data, Count count, const types::Datatype* type) {
  if (type == nullptr) return {};
  return types::Buffer::whole(const_cast<void*>(data), count, *type);
}

void delegate_reduction(const CollCall& call, delegate::Call& to) {
  to.type = type_of_reduction(call);
  to.count = call.recv_type != nullptr ? call.recv_count : call.send_count;
  to.op = call.op;
  to.recv = call.recv;
  to.send = call.in_place ? call.recv : call.send;
}

void delegate_movement(const Communicator& comm, const CollCall& call, delegate::Call& to) {
  const Count size = comm.size();
  const bool is_root = comm.rank() == call.root;
  const types::Buffer send = message(call.send, call.send_count, call.send_type);
  const types::Buffer recv = message(call.recv, call.recv_count, call.recv_type);
  switch (call.collective) {
    case Collective::gather:
      to.from = send;
      to.block = is_root ? recv.bytes : send.bytes;
      if (is_root) to.into = message(call.recv, call.recv_count * size, call.recv_type);
      break;
    case Collective::scatter:
      to.into = recv;
      to.block = is_root ? send.bytes : recv.bytes;
      if (is_root) to.from = message(call.send, call.send_count * size, call.send_type);
      break;
    case Collective::allgather:
    case Collective::alltoall:
      to.block = recv.bytes;
      to.from = call.collective == Collective::allgather
                    ? send
                    : message(call.send, call.send_count * size, call.send_type);
      to.into = message(call.recv, call.recv_count * size, call.recv_type);
      break;
    default:  // bcast
      to.into = recv;
      to.block = recv.bytes;
      break;
  }
}

// A widened reduction says what the user said.
std::uint32_t fingerprint(const CollCall& call, int root, Count bytes,
                          const types::Datatype* type) {
  if (call.said_type != nullptr && type != nullptr) {
    bytes = call.said_count * call.said_type->size();
    type = call.said_type;
  }
  return fingerprint_of(call.collective, call.op, root, bytes, type);
}

// The call in the delegate's words. False: it knows no such call.
bool say_to_delegate(const Communicator& comm, const CollCall& call, delegate::Call& to) {
  const coll::Delegated kind = coll::delegated(call.collective);
  if (kind == coll::Delegated::never ||
      (call.collective == Collective::alltoall && call.in_place) ||
      (call.collective == Collective::reduce_scatter && !call.recv_counts.empty()))
    return false;
  to.collective = call.collective;
  to.root = call.root;
  to.in_place = call.in_place;
  if (kind == coll::Delegated::fold) {
    delegate_reduction(call, to);
    to.block = to.count * to.type->size();
    if (call.collective == Collective::reduce_scatter) to.block *= comm.size();
  } else if (call.collective != Collective::barrier) {
    delegate_movement(comm, call, to);
  }
  to.fingerprint = fingerprint(call, call.root, to.block, to.type);
  return true;
}

Route find_route(Communicator& comm, const CollCall& call, const delegate::Call& said) {
  if (!comm.state().team->takes(said)) return Route::schedule;
  const auto choice = choice_for(comm, shape_of(comm, call), true);
  return choice && (*choice)->algorithm == nullptr ? Route::delegate : Route::schedule;
}

// The table holds what the model says of sizes; operations it cannot know are asked for here.
bool takes_delegate(Communicator& comm, const CollCall& call, const delegate::Call& said) {
  if (said.op != nullptr && !comm.state().team->takes(said)) return false;
  const auto size_class =
      static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(said.block)));
  Route& route = comm.state().routes[static_cast<std::size_t>(call.collective)][size_class & 63U];
  if (route == Route::unknown) [[unlikely]]
    route = find_route(comm, call, said);
  return route == Route::delegate;
}

std::uint32_t fingerprint_on(const Communicator& comm, const CollCall& call, const Shape& shape) {
  if (call.neighbours) return neighbour_fingerprint(call.collective);
  if (comm.is_inter()) return fingerprint_of(call.collective, nullptr, 0, shape.bytes);
  return fingerprint(call, shape.root, shape.bytes, shape.type);
}

// A call as the user said it, prepared.
void remember(Communicator& comm, const CollCall& call, const PreparedCall& prepared, Kind kind) {
  Shape shape = prepared.shape;
  if (prepared.wider != nullptr) {
    shape.type = type_of_reduction(call);
    shape.bytes = shape.count * shape.type->size();
  }
  const std::uint32_t terms = comm.is_inter() ? terms_of(call.collective, call.op, shape.type) : 0;
  remember(comm, kind,
           {fingerprint_on(comm, call, shape), terms, shape.root, shape.bytes, call.is_last});
}

Code run_schedule(Communicator& comm, const CollCall& call) {
  const auto prepared = prepare_call(comm, call, Kind::blocking);
  if (!prepared) {
    comm.runtime().reason = {prepared.error().text};
    return prepared.error().code;
  }
  remember(comm, call, *prepared, Kind::blocking);
  BoundCall bound = bind_call(comm, call, *prepared);
  Runtime& runtime = comm.runtime();
  bound.run->begin(std::move(bound.binding));
  const Code code = engine::wait(runtime.endpoint, *bound.run);
  if (bound.widened != nullptr) bound.widened->end(code);
  if (code == Code::ok) {
    give_run(*bound.prepared, std::move(bound.run));
    runtime.scratch.give(std::move(bound.temporary));
  } else {
    runtime.explain_failed_run();
  }
  return code;
}

}  // namespace

Result<PreparedCall> prepare_call(Communicator& comm, const CollCall& said, Kind kind) {
  PreparedCall made;
  made.wider = wider_type(comm, said);
  std::optional<CollCall> wide;
  if (made.wider != nullptr) wide = in_wider(comm, said, *made.wider);
  const CollCall& call = wide ? *wide : said;
  made.tag = comm.state().next_tag(kind);
  if (call.neighbours) {
    TUTTI_TRY(prepared, prepare_neighbours(comm, call));
    made.prepared = std::move(prepared);
    return made;
  }
  made.shape = comm.is_inter() ? shape_between(comm, call) : shape_of(comm, call);
  if (comm.is_inter()) {
    TUTTI_TRY(prepared, prepare_between(comm, made.shape));
    made.prepared = std::move(prepared);
    return made;
  }
  TUTTI_TRY(choice, choice_for(comm, made.shape, false));
  TUTTI_TRY(prepared, prepare(comm, made.shape, *choice));
  made.prepared = std::move(prepared);
  return made;
}

BoundCall bind_call(Communicator& comm, const CollCall& said, const PreparedCall& prepared) {
  BoundCall bound;
  if (prepared.wider != nullptr)
    bound.widened = std::make_unique<Widened>(comm, said, *prepared.wider);
  const CollCall& call = bound.widened == nullptr ? said : bound.widened->call();
  bound.prepared = prepared.prepared;
  engine::Binding& binding = bound.binding;
  const Shape& shape = prepared.shape;
  binding.context = comm.coll_context();
  binding.tag = prepared.tag;
  binding.peers = comm.group().members();
  binding.rank = comm.rank();
  if (call.neighbours) {
    bind_neighbours(comm, call, binding);
  } else if (comm.is_inter()) {
    bind_between(comm, call, shape, binding);
  } else {
    bind_spaces(comm, call, shape, binding, bound.temporary);
  }
  binding.fingerprint = fingerprint_on(comm, call, shape);
  bound.run = take_run(comm, *bound.prepared);
  return bound;
}

namespace {

// On one host: by the delegate, or by a schedule.
Code run_inside(Communicator& comm, const CollCall& call) {
  delegate::Call said;
  if (say_to_delegate(comm, call, said) && takes_delegate(comm, call, said)) {
    const bool widened = call.said_type != nullptr;
    remember(comm, Kind::blocking,
             {said.fingerprint, 0, said.root,
              widened ? call.said_count * call.said_type->size() : said.block, call.is_last});
    return comm.state().team->run(said);
  }
  return run_schedule(comm, call);
}

Code run_widened(Communicator& comm, const CollCall& call, const types::Datatype& wider) {
  const Count parts = parts_of(call);
  for (Count part = 0; part < parts; ++part) {
    Widened widened(comm, parts == 1 ? call : part_of(call, part * kPart), wider);
    const Code code = run_inside(comm, widened.call());
    widened.end(code);
    if (code != Code::ok) return code;
  }
  return Code::ok;
}

// For the daemon, should this call never end.
void note(Communicator& comm, const CollCall& call) {
  const bool sends = call.send_type != nullptr;
  const types::Datatype* const type = sends ? call.send_type : call.recv_type;
  const Count count = sends ? call.send_count : call.recv_count;
  watch::Detail detail;
  detail.context = comm.coll_context();
  detail.sequence = ++comm.state().calls;
  detail.bytes = type == nullptr ? 0 : static_cast<std::uint64_t>(count * type->size());
  if (has_root(call.collective) && !comm.is_inter()) detail.peer = comm.peer(call.root);
  watch::detail(comm.runtime().watch, detail);
}

}  // namespace

Code run(Communicator& comm, const CollCall& call) {
  Ref<const types::Op> keep;  // the user's function may free its own operation
  if (call.op != nullptr && call.op->is_user()) keep = Ref<const types::Op>::share(call.op);
  note(comm, call);
  if (comm.state().team == nullptr || call.neighbours) return run_schedule(comm, call);
  const types::Datatype* const wider = wider_type(comm, call);
  if (wider != nullptr) [[unlikely]]
    return run_widened(comm, call, *wider);
  return run_inside(comm, call);
}

Result<Request*> start(Communicator& comm, const CollCall& call) {
  TUTTI_TRY(prepared, prepare_call(comm, call, Kind::other));
  remember(comm, call, prepared, Kind::other);
  return RequestMaker::start(comm, call, bind_call(comm, call, prepared));
}

namespace {

class PreparedPersistent final : public Persistent {
 public:
  PreparedPersistent(Communicator& comm, const CollCall& call, PreparedCall prepared)
      : comm_(CommRef::share(&comm)), call_(call), prepared_(std::move(prepared)) {}
  Result<Request*> start() override {
    return RequestMaker::start(*comm_, call_, bind_call(*comm_, call_, prepared_));
  }

 private:
  CommRef comm_;
  const CollCall call_;
  const PreparedCall prepared_;
};

}  // namespace

Result<std::unique_ptr<Persistent>> Persistent::make(Communicator& comm, const CollCall& call) {
  TUTTI_TRY(prepared, prepare_call(comm, call, Kind::other));
  remember(comm, call, prepared, Kind::other);
  return std::unique_ptr<Persistent>(new PreparedPersistent(comm, call, std::move(prepared)));
}

}  // namespace tutti::comm
