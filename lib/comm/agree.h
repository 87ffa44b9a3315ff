// What the makers of communicators share. Private to comm.
#pragma once

#include <functional>
#include <span>

#include "comm/meeting.h"
#include "comm/state.h"

namespace tutti::comm {

std::function<void()> pause_of(Runtime& runtime);
// All members of a communicator (of both groups), at a tag of their next collective.
Meeting meeting_on(Communicator& comm, watch::Purpose purpose = watch::Purpose::makes_comm);
// A number for a communicator, agreed by those who meet, or by the members; it is taken.
Result<Number> agree_at(Runtime& runtime, const Meeting& meeting);
Result<Number> agree_over(Communicator& comm);
// agree.cc: by the members' own collective (MPI_MAX, MPI_BXOR), in place.
Code allreduce_max(Communicator& comm, std::span<std::int64_t> numbers);
Code allreduce_xor(Communicator& comm, std::int64_t& word);
// The reason of a call that cannot be made, before what members agree on says it of its own.
Code explain_failure(Communicator& comm, const Error& error);
// create.cc: makes the communicator of that number; its members settle.
Result<CommRef> finish(Runtime& runtime, GroupRef group, Number number);

// How the two sides of an intercommunicator reach each other before there is one.
struct Leaders {
  int local;             // who leads, as a member of the local meeting
  int remote_job_rank;   // looked at by the leader only
  MeetingPoint at;       // where the leaders meet
  MeetingPoint first{};  // where they met at their first attempt
};
// Each side's group to the other's members.
Result<GroupRef> swap_groups(const Meeting& local, const Leaders& leaders, const Group& mine,
                             Runtime& runtime);

}  // namespace tutti::comm
