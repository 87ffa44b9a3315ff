// Calls that schedules serve: prepared (which schedule, from the shape of the call), then bound to
// the user's memory, once or again and again. Private to comm.
#pragma once

#include "comm/shape.h"
#include "comm/state.h"

namespace tutti::comm {

// What a collective needs before it takes part, since the others wait for it. Where there is no
// memory for it, the reserve included, the collectives of its communicator end here.
template <class Take>
auto take_to_join(Communicator& comm, const Take& take) {
  return comm.runtime().reserve.help(take, [&] { cancel_collectives(comm, Code::no_mem); });
}

// How a call becomes a schedule: in one group, between two, or among neighbours.
struct CallSetting {
  CallShape (*shape)(const Communicator& comm, const CollCall& call);
  // `chosen`: what serves it best, where that is known.
  Result<std::shared_ptr<Prepared>> (*prepare)(Communicator& comm, const CallShape& shape,
                                               const select::Choice* chosen);
  void (*bind)(const Communicator& comm, const CollCall& call, const CallShape& shape,
               engine::Binding& binding, engine::ScratchPool::Piece& temporary);
  std::uint32_t (*fingerprint)(const CollCall& call, const CallShape& shape);
};
extern const CallSetting kBetween;     // between.cc
extern const CallSetting kNeighbours;  // neighbours.cc

// What of a call stays from one start to the next.
struct PreparedCall {
  PreparedCall(const Communicator& comm, const CollCall& call);  // its shape only
  const CallSetting* setting;
  CallShape shape;
  std::shared_ptr<Prepared> prepared;
  int tag = 0;
  std::uint32_t fingerprint = 0;
};
// And tells the daemon that it begins.
Result<PreparedCall> prepare_call(Communicator& comm, const CollCall& call,
                                  Communicator::State::Kind kind,
                                  const select::Choice* chosen = nullptr);

// A call bound and ready to begin; what it is when it has ended, another may be bound to.
struct BoundCall {
  std::shared_ptr<Prepared> prepared;
  std::unique_ptr<engine::Run> run;
  engine::ScratchPool::Piece temporary;
  std::unique_ptr<WidenedReduction> widened;  // most have none
  Count bytes = 0;                            // by which its algorithm was chosen
  OwnPart own_part;                           // where it is the reason of a failure
};
void bind_call(Communicator& comm, const CollCall& call, const PreparedCall& prepared,
               BoundCall& bound);
// What it kept goes back, when its run has ended. Says how that went, and, where badly, `why`.
Code end_call(Runtime& runtime, BoundCall& bound, std::unique_ptr<Reason>& why);
Reason reason_of(const engine::Run& run);  // one that failed

// From the first hop to the last, waiting.
Code run_schedule(Communicator& comm, const CollCall& call, const select::Choice* chosen);

}  // namespace tutti::comm
