// Calls inside one group, by the delegate where it serves best, else by a schedule. Private to
// comm.
#pragma once

#include "comm/scheduled.h"

namespace tutti::comm {

// Blocking. The call is what is to be done, in the type to do it in.
Code run_inside(Communicator& comm, const CollCall& call);
// The delegate takes what it serves best, of calls of one group that has one.
inline Code run_said(Communicator& comm, const CollCall& call) {
  const bool has_delegate = comm.state().team != nullptr && !call.neighbours;
  return has_delegate ? run_inside(comm, call) : run_schedule(comm, call, nullptr);
}

// How a call has ended of a member that takes part like all others, as the team would wait for
// ever for one that stays away; not `is_good`: one whose buffers lie in memory that cannot be used.
Code end_among_devices(Communicator& comm, bool is_good, Code code);
// Whether this member is told a reduction's result.
bool is_told(const Communicator& comm, const delegate::TeamCall& said);

// The call in the words of a team of GPUs, where one may serve it at all: all members answer alike.
// It does not ask whether the team has the operation of a fold: that the team says itself.
bool say_to_team(const Communicator& comm, const CollCall& call, delegate::TeamCall& said);

}  // namespace tutti::comm
