// Chapter 7: communicators: who am I, making and freeing them, names and hints.
#include <cstring>

#include "bodies.h"
#include "mpi/attributes.h"
#include "mpi/buffered.h"
#include "mpi/checks.h"
#include "mpi/convert.h"
#include "mpi/give_comm.h"
#include "mpi/requests.h"
#include "mpi/streams.h"

namespace tutti::mpi::body {
Code comm_size(comm::Communicator& comm, int* size) {
  *size = comm.size();
  return Code::ok;
}

Code comm_rank(comm::Communicator& comm, int* rank) {
  *rank = comm.rank();
  return Code::ok;
}

Code comm_compare(comm::Communicator& comm1, comm::Communicator& comm2, int* result) {
  *result = to_mpi(comm::compare(comm1, comm2));
  return Code::ok;
}

Code comm_group(comm::Communicator& comm, MPI_Group* group) {
  *group = handle_to(Ref<const comm::Group>::share(&comm.group()).hand_out(), MPI_GROUP_NULL);
  return Code::ok;
}

Code comm_dup(comm::Communicator& comm, MPI_Comm* newcomm) {
  return comm_dup_with_info(comm, nullptr, newcomm);
}

Code comm_dup_with_info(comm::Communicator& comm, Info* info, MPI_Comm* newcomm) {
  const auto keep = comm::CommRef::share(&comm);  // a copy function may free it
  Result<comm::CommRef> made = comm::dup(comm);
  if (!made) return note(made);
  *newcomm = MPI_COMM_NULL;  // should a copy function fail
  if (const Code code = copy_attributes(carrier(comm), carrier(**made)); code != Code::ok)
    return code;
  if (info != nullptr) set_hints(**made, *info);
  (*made)->stream = comm.stream;
  return give_comm(comm, std::move(made), newcomm);
}

Code comm_idup(comm::Communicator& comm, MPI_Comm* newcomm, MPI_Request* request) {
  return comm_idup_with_info(comm, nullptr, newcomm, request);
}

Code comm_idup_with_info(comm::Communicator& comm, Info* info, MPI_Comm* newcomm,
                         MPI_Request* request) {
  const auto keep = comm::CommRef::share(&comm);  // as above
  comm::CommRef made;
  Result<comm::Request*> started = comm::start_dup(comm, &made);
  if (!started) return note(started);
  *newcomm = MPI_COMM_NULL;
  *request = MPI_REQUEST_NULL;
  if (const Code code = copy_attributes(carrier(comm), carrier(*made)); code != Code::ok) {
    (*started)->release();  // it ends without us
    return code;
  }
  if (info != nullptr) set_hints(*made, *info);
  made->stream = comm.stream;
  const Code code = give_request(std::move(started), request);
  return code == Code::ok ? give_comm(comm, std::move(made), newcomm) : code;
}

Code comm_split(comm::Communicator& comm, int color, int key, MPI_Comm* newcomm) {
  if (color < 0 && color != MPI_UNDEFINED)
    return refuse(Code::arg, "color is " + std::to_string(color) + ", below zero");
  return give_comm(comm, comm::split(comm, color, key), newcomm);
}

namespace {

// A stranger would not be asked, and would not come.
Code check_members(const comm::Communicator& comm, const comm::Group& group) {
  for (int rank = 0; rank < group.size(); ++rank)
    if (comm.group().rank_of(group.at(rank)) == MPI_UNDEFINED)
      return refuse(Code::group, "rank " + std::to_string(rank) +
                                     " of group is not in the communicator's group");
  return Code::ok;
}

}  // namespace

Code comm_create(comm::Communicator& comm, comm::Group& group, MPI_Comm* newcomm) {
  if (const Code code = check_members(comm, group); code != Code::ok) return code;
  return give_comm(comm, comm::create(comm, group), newcomm);
}

Code comm_create_group(comm::Communicator& comm, comm::Group& group, int tag, MPI_Comm* newcomm) {
  if (comm.is_inter()) return refuse(Code::comm, "comm is an intercommunicator");
  if (const Code code = check_members(comm, group); code != Code::ok) return code;
  return give_comm(comm, comm::create_group(comm, group, tag), newcomm);
}

namespace {

enum class CommEnd { freed, settled };

Code end_comm(MPI_Comm* comm, CommEnd end) {
  comm::Communicator* const object = comm_of(*comm);
  if (object == nullptr || object->is_predefined() || !object->take_back())
    return refuse_to_free(Code::comm, "communicator", "comm", bits_of(*comm), object);
  if (const Code code = drop_all_attributes(carrier(*object)); code != Code::ok) {
    trouble().where = comm::CommRef::share(object);  // its handler, not MPI_COMM_SELF's
    object->hand_out();                              // not freed
    return code;
  }
  // Delete functions may have sent something on it.
  if (end == CommEnd::settled) comm::settle_messages(*object);
  close_buffer_room(object);
  object->release();  // what is under way on it keeps it, and its error handler
  *comm = MPI_COMM_NULL;
  return Code::ok;
}

}  // namespace

Code comm_free(MPI_Comm* comm) {
  return end_comm(comm, CommEnd::freed);
}

// Freed, a communicator lives on until all on it has ended; here that is waited for.
Code comm_disconnect(MPI_Comm* comm) {
  comm::Communicator* const object = comm_of(*comm);
  if (object != nullptr && object->kind() == ObjectKind::comm && !object->is_predefined()) {
    drain_stream(*object);
    comm::settle_messages(*object);
  }
  return end_comm(comm, CommEnd::settled);
}

// Processes started by others of ours: there is no such job yet, so nobody has a parent.
Code comm_get_parent(MPI_Comm* parent) {
  *parent = MPI_COMM_NULL;
  return Code::ok;
}

Code comm_set_name(comm::Communicator& comm, const char* comm_name) {
  comm.name.assign(comm_name, ::strnlen(comm_name, MPI_MAX_OBJECT_NAME - 1));
  return Code::ok;
}

// The null handle has a name too (MPI 5.0, 7.8).
Code comm_get_name(comm::Communicator* comm, char* comm_name, int* resultlen) {
  const std::string name = comm == nullptr ? "MPI_COMM_NULL" : comm->name;
  *resultlen = put_text(name, comm_name, MPI_MAX_OBJECT_NAME);
  return Code::ok;
}

Code comm_set_info(comm::Communicator& comm, Info& info) {
  set_hints(comm, info);
  return Code::ok;
}

Code comm_get_info(comm::Communicator& comm, MPI_Info* info_used) {
  *info_used = handle_to(hints_of(comm), MPI_INFO_NULL);
  return Code::ok;
}

}  // namespace tutti::mpi::body
