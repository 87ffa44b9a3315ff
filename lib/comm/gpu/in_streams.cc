// Which calls go by the library in the users' streams.
#include "comm/gpu/in_streams.h"

#include "base/log.h"
#include "comm/agree.h"
#include "comm/fingerprint.h"
#include "comm/gpu/agree.h"
#include "comm/gpu/calls.h"
#include "comm/state.h"

namespace tutti::comm {
namespace {

using delegate::GpuCall;

Obstacle obstacle(Communicator& comm, const StreamPlace& place, const GpuTurn& turn) {
  if (place.device < 0 || !place.is_promised) return Obstacle::no_promise;
  if (comm.runtime().streamed_team != nullptr) return Obstacle::another_promise;
  if (library_of(comm.runtime()) == nullptr) return Obstacle::no_library;
  return turn.obstacle();
}

// The team is there on all members; each says whether it can be given its stream.
Code keep_team(Communicator& comm, const StreamPlace& place) {
  GpuCalls& calls = *comm.state().gpu_calls;
  std::int64_t refused = calls.team->can_enqueue(place.stream) ? 0 : 1;
  if (const Code code = allreduce_max(comm, std::span(&refused, 1)); code != Code::ok) return code;
  if (refused == 0)
    calls.streamed.emplace(comm.runtime(), calls.team, place.device, place.stream);
  else
    explain_gpus(comm, "calls in streams go by ours: a stream is not of its GPU's primary context");
  return Code::ok;
}

// A member that does not keep its promise; the others may be in their kernels by now.
tl::unexpected<Error> broken_promise(const GpuCalls::Streamed& streamed) {
  if (!streamed.team->check_broken()) streamed.team->cancel(Code::buffer);
  return fail(Code::buffer,
              "a buffer is not in memory of GPU " + std::to_string(streamed.device) +
                  " (its primary context) in one piece, as the stream's maker has promised "
                  "(tutti_assert_gpu_buffers)");
}

}  // namespace

GpuCalls::Streamed::Streamed(Runtime& of, std::shared_ptr<delegate::GpuTeam> by, int on,
                             void* handle)
    : runtime(of), team(std::move(by)), device(on), stream(handle) {
  runtime.streamed_team = team.get();
}
GpuCalls::Streamed::~Streamed() {
  runtime.streamed_team = nullptr;
}

Code settle_in_streams(Communicator& comm, const StreamPlace& place) {
  Communicator::State& state = comm.state();
  if (!state.asks_gpus) return Code::ok;
  if (state.gpu_calls == nullptr) state.gpu_calls = std::make_unique<GpuCalls>();
  GpuTurn turn(comm.runtime());
  const auto agreed = agree(comm, {}, obstacle(comm, place, turn), turn);
  if (!agreed) return explain_failure(comm, agreed.error());
  if (agreed->obstacle != Obstacle::none) {
    if (place.is_promised)
      explain_gpus(comm, "calls in streams go by ours: rank " + std::to_string(agreed->who) + " " +
                             text_of(agreed->obstacle));
    return Code::ok;
  }
  if (const auto made = plan(comm, place.device); !made) return explain_failure(comm, made.error());
  return state.gpu_calls->team == nullptr ? Code::ok : keep_team(comm, place);
}

Result<std::unique_ptr<StreamedCall>> StreamedCall::make(Communicator& comm, const CollCall& call) {
  GpuCalls* const calls = comm.state().gpu_calls.get();
  if (calls == nullptr || !calls->streamed) return nullptr;
  const GpuCalls::Streamed& streamed = *calls->streamed;
  Runtime& runtime = comm.runtime();
  // What the stream holds comes before it, and nothing else: nobody waits for the caller.
  const types::Devices::Queued queued(runtime.endpoint.devices());
  auto said = std::make_unique<GpuCall>();
  if (!say_to_gpus(comm, call, *said) || known_bytes(comm, *said).value_or(0) == 0 ||
      wish_of(comm, call.collective) == GpuCalls::Wish::never)
    return nullptr;
  const Whereabouts where = where_is(comm, *said);
  const bool is_there = where.device < 0 || where.device == streamed.device;
  if (where.on_host || !where.in_primary || !where.in_order || !is_there)
    return broken_promise(streamed);
  if (streamed.team->check_broken())
    return tutti::fail(streamed.team->failure(), "the library has failed on a member before");
  remember(comm, Communicator::State::Kind::nonblocking,
           {said->said.fingerprint, 0, said->said.root}, said->said.block);
  return std::unique_ptr<StreamedCall>(
      new StreamedCall(streamed.team, streamed.stream, std::move(said)));
}

StreamedCall::StreamedCall(std::shared_ptr<delegate::GpuTeam> team, void* stream,
                           std::unique_ptr<GpuCall> said)
    : team_(std::move(team)), stream_(stream), said_(std::move(said)) {}

StreamedCall::~StreamedCall() = default;

Result<void> StreamedCall::put() const {
  return team_->enqueue(*said_, stream_);
}

Code StreamedCall::code() const {
  return team_->check_broken() ? team_->failure() : Code::ok;
}

void StreamedCall::fail(Code code) const {
  if (!team_->check_broken()) team_->cancel(code);
}

void look_in_streams(Runtime& runtime) {
  if (runtime.streamed_team != nullptr) runtime.streamed_team->check_broken();
}

}  // namespace tutti::comm
