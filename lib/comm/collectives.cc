// Collective calls, blocking, nonblocking and persistent: one way down from here. A GPU vendor's
// library, where members agree on it (gpu/calls.h); what the user said, perhaps in a wider type;
// the delegate where it serves best (delegated.h); else a schedule, prepared, bound and run
// (scheduled.h). Nobody below calls back: a call by levels makes calls of its own, on other
// communicators, which begin here (run_within).
//
// Nonblocking calls always take schedules: the delegate keeps the order of calls by blocking.
#include "comm/delegated.h"
#include "comm/fingerprint.h"
#include "comm/gpu/calls.h"
#include "comm/request.h"

namespace tutti::comm {
namespace {

using Kind = Communicator::State::Kind;

CollCall without_own_part(CollCall call, Code failure) {
  call.failure = failure;
  return call;
}

// Whose function may free the operation itself.
[[gnu::noinline]] Code run_own_operation(Communicator& comm, const CollCall& call) {
  const auto keep = Ref<const types::Op>::share(call.op);
  return run_said(comm, call);
}

// All parts, whatever becomes of one: the others may not know of it.
Code run_widened(Communicator& comm, const CollCall& call, const types::Datatype& wider) {
  const Count most = part_for(comm, call);
  const Count parts = parts_of(call, most);
  Code code = Code::ok;
  take_to_join(comm, [&] { return await_callers(comm, call), true; });
  for (Count part = 0; part < parts; ++part) {
    const CollCall cut = parts == 1 ? call : part_of(call, part * most, most);
    WidenedReduction widened(comm, cut, wider, goes_to_team(comm, cut, wider));
    const Code ended = widened.end(run_said(comm, widened.call()));
    if (code == Code::ok) code = ended;
  }
  return code;
}

Code run_reduction(Communicator& comm, const CollCall& call) {
  if (call.op->is_user()) return run_own_operation(comm, call);
  const types::Datatype* const wider = wider_type(comm, call);
  return wider == nullptr ? run_said(comm, call) : run_widened(comm, call, *wider);
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

// Perhaps in a wider type (null: as the user said).
Result<PreparedCall> prepare_to_start(Communicator& comm, const CollCall& call,
                                      const types::Datatype* wider) {
  return take_to_join(comm, [&] {
    if (wider != nullptr)
      return prepare_call(comm, in_wider(comm, call, *wider), Kind::nonblocking);
    return prepare_call(comm, call, Kind::nonblocking);
  });
}

Request* make_prepared(Communicator& comm, const CollCall& call, const types::Datatype* wider,
                       const PreparedCall& prepared) {
  auto collective = comm.runtime().collectives.take();
  BoundCall& bound = collective->bound;
  if (wider != nullptr) bound.widened = std::make_unique<WidenedReduction>(comm, call, *wider);
  bind_call(comm, wider == nullptr ? call : bound.widened->call(), prepared, bound);
  if (comm.state().asks_gpus) tell_not_waited_for(comm, call, *bound.run);
  return RequestMaker::of_collective(comm, call, std::move(collective));
}

// A call that was prepared so. It has its number: the others wait for it.
Request* start_prepared(Communicator& comm, const CollCall& call, const types::Datatype* wider,
                        const PreparedCall& prepared) {
  if (wider != nullptr) take_to_join(comm, [&] { return await_callers(comm, call), true; });
  Request* const request =
      take_to_join(comm, [&] { return make_prepared(comm, call, wider, prepared); });
  RequestMaker::begin(*request);
  return request;
}

}  // namespace

// What stays from one start to the next.
struct PersistentCollective::Prepared {
  CommRef comm;
  CollCall call;
  const types::Datatype* wider;
  PreparedCall prepared;
};

static Code run_by_ours(Communicator& comm, const CollCall& call) {
  return call.op == nullptr ? run_said(comm, call) : run_reduction(comm, call);
}

// Apart, so that calls that nobody asks about pay a branch.
[[gnu::noinline, gnu::cold]] static Code run_asking(Communicator& comm, const CollCall& call) {
  if (const auto code = run_on_gpus(comm, call)) return *code;
  const Code code = run_by_ours(comm, call);
  ended_by_ours(comm, code);
  return code;
}

Code run_within(Communicator& comm, const CollCall& call) {
  if (comm.state().asks_gpus) [[unlikely]]
    return run_asking(comm, call);
  return run_by_ours(comm, call);
}

Code run(Communicator& comm, const CollCall& call) {
  note(comm, call);
  return run_within(comm, call);
}

// Of equal blocks most calls say the same twice.
Code run_blocks(Communicator& comm, const CollCall& call) {
  const bool is_alike = call.send_count == call.recv_count && call.send_type == call.recv_type &&
                        call.send_counts.empty() && call.recv_counts.empty();
  const Code failure = is_alike ? Code::ok : own_part_failure(comm, call);
  if (failure == Code::ok) [[likely]]
    return run(comm, call);
  const Code code = run(comm, without_own_part(call, failure));
  if (code == Code::proc_aborted) return code;
  comm.runtime().reason = {own_part_words(own_part(comm, call))};
  return failure;
}

// A team stays broken after an error, for all of its members alike: then by messages. Not where
// this barrier has met another call. A block that was too long may have been borne by its taker.
Code run_last_barrier(Communicator& comm) {
  CollCall barrier;
  barrier.purpose = watch::Purpose::finalize;
  comm.runtime().reason = {};  // what is there after a failure is this one's
  const Code code = run(comm, barrier);
  const bool has_met_another = comm.runtime().reason.is_mismatch && code != Code::truncate;
  const bool is_new = code == Code::proc_aborted || has_met_another;
  if (code == Code::ok || is_new || comm.state().team == nullptr) return code;
  return run_schedule(comm, barrier, nullptr);
}

Result<Request*> start(Communicator& comm, const CollCall& call) {
  const Code failure = own_part_failure(comm, call);
  if (failure != call.failure) [[unlikely]]
    return start(comm, without_own_part(call, failure));
  const types::Datatype* const wider = wider_type(comm, call);
  const auto prepared = prepare_to_start(comm, call, wider);
  if (!prepared) return tl::unexpected<Error>(prepared.error());
  return start_prepared(comm, call, wider, *prepared);
}

Result<std::unique_ptr<PersistentCollective>> PersistentCollective::make(Communicator& comm,
                                                                         const CollCall& call) {
  const Code failure = own_part_failure(comm, call);
  if (failure != call.failure) [[unlikely]]
    return make(comm, without_own_part(call, failure));
  const types::Datatype* const wider = wider_type(comm, call);
  // What keeps it is there before it has its number.
  auto made = take_to_join(comm, [&] {
    auto kept = std::make_unique<Prepared>(
        Prepared{CommRef::share(&comm), call, wider, PreparedCall(comm, call)});
    return std::unique_ptr<PersistentCollective>(new PersistentCollective(std::move(kept)));
  });
  TUTTI_TRY(prepared, prepare_to_start(comm, call, wider));
  made->prepared_->prepared = std::move(prepared);
  return made;
}

PersistentCollective::PersistentCollective(std::unique_ptr<Prepared> prepared)
    : prepared_(std::move(prepared)) {}

PersistentCollective::~PersistentCollective() = default;

Result<Request*> PersistentCollective::start() {
  return start_prepared(*prepared_->comm, prepared_->call, prepared_->wider, prepared_->prepared);
}

}  // namespace tutti::comm
