// Reductions that accumulate in a wider type: two-byte floats are summed in float32 by the whole
// reduction, whatever its algorithm, and rounded once (docs/decisions/0021).
//
// Private to comm. The user's call becomes one on copies in the wider type; so blocking,
// nonblocking and persistent forms, schedules and delegates know nothing of it. What lies in a
// GPU's memory is copied there, by a kernel.
#pragma once

#include "comm/comm.h"
#include "engine/engine.h"

namespace tutti::comm {

// The wider type to accumulate in, or null: as the user said. All members answer alike. One
// operation between two members is rounded once anyway.
const types::Datatype* wider_type(const Communicator& comm, const CollCall& call);

// The same call on the wider type, with the user's buffers still: for shapes and choices.
CollCall in_wider(const Communicator& comm, const CollCall& call, const types::Datatype& wider);

// Long vectors go part by part where nothing is gained by pipelining them: where the host's team
// serves, a part stays in the caches from its widening to its narrowing; on a GPU it takes little
// room. Elements of a part: as many for all members. Calls that cannot be cut are one part.
Count part_for(const Communicator& comm, const CollCall& call);
Count parts_of(const CollCall& call, Count most);
CollCall part_of(const CollCall& call, Count from, Count most);

// Whether the host's team will fold this blocking call, in host memory, wherever this member's
// buffers are: it is short, or passes since others were refused (gpu/past_team.cc).
bool goes_to_team(const Communicator& comm, const CollCall& call, const types::Datatype& wider);

// Waits for what this member's caller gave the GPUs of its buffers before. They are converted on
// the spot, where everybody would wait for that; here messages move, and others call.
void await_callers(Communicator& comm, const CollCall& call);

class WidenedReduction {
 public:
  // Takes the user's contribution; `by_host`: where the processors work, whatever memory it is in.
  // The call's arrays outlive this.
  WidenedReduction(Communicator& comm, const CollCall& call, const types::Datatype& wider,
                   bool by_host = false);
  WidenedReduction(const WidenedReduction&) = delete;
  WidenedReduction& operator=(const WidenedReduction&) = delete;

  const CollCall& call() const { return wide_; }
  // When it has ended: hands over the result, rounded, if it went well. What the call ends with.
  Code end(Code code);

 private:
  void take_contribution(const Communicator& comm, const CollCall& call, bool by_host);
  types::Device* worker_on(const types::Buffer& said) const;
  void take(const types::Buffer& said, void* contribution);
  void hand_over();
  engine::ScratchPool& pool_;
  const types::Devices& devices_;
  const types::Datatype& type_;  // the user's
  const types::Datatype& wider_;
  types::Buffer result_;     // of this rank; nothing: it gets none
  Count taken_;              // elements of the result
  Code failure_ = Code::ok;  // of a device's memory
  CollCall wide_;
  engine::ScratchPool::Piece room_;  // for the result, and the contribution behind it
};

}  // namespace tutti::comm
