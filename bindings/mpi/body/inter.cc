// Chapter 7: intercommunicators, and communicators made from groups alone.
#include "bodies.h"
#include "mpi/give_comm.h"

namespace tutti::mpi::body {
namespace {

Code check_intra(const comm::Communicator& comm, const char* name) {
  if (!comm.is_inter()) return Code::ok;
  return refuse(Code::comm, std::string(name) + " is an intercommunicator");
}

}  // namespace

Code comm_test_inter(comm::Communicator& comm, int* flag) {
  *flag = comm.is_inter();
  return Code::ok;
}

Code comm_remote_size(comm::Communicator& comm, int* size) {
  if (!comm.is_inter()) return refuse(Code::comm, "comm is no intercommunicator");
  *size = comm.remote_group().size();
  return Code::ok;
}

Code comm_remote_group(comm::Communicator& comm, MPI_Group* group) {
  if (!comm.is_inter()) return refuse(Code::comm, "comm is no intercommunicator");
  *group =
      handle_to(Ref<const comm::Group>::share(&comm.remote_group()).hand_out(), MPI_GROUP_NULL);
  return Code::ok;
}

Code intercomm_create(comm::Communicator& local_comm, int local_leader,
                      comm::Communicator* peer_comm, int remote_leader, int tag,
                      MPI_Comm* newintercomm) {
  if (const Code code = check_intra(local_comm, "local_comm"); code != Code::ok) return code;
  if (local_comm.rank() == local_leader) {  // the others' word on the peer is not looked at
    if (peer_comm == nullptr) return refuse(Code::comm, "peer_comm is not a valid communicator");
    if (!good_rank(remote_leader, peer_comm, false, false)) return Code::rank;
    if (peer_comm->peer(remote_leader) == local_comm.peer(local_leader))
      return refuse(Code::rank, "remote_leader is the local leader itself");
  }
  return give_comm(local_comm,
                   comm::create_inter(local_comm, {local_leader, peer_comm, remote_leader, tag}),
                   newintercomm);
}

Code intercomm_merge(comm::Communicator& intercomm, int high, MPI_Comm* newintracomm) {
  if (!intercomm.is_inter()) return refuse(Code::comm, "intercomm is no intercommunicator");
  return give_comm(intercomm, comm::merge(intercomm, high != 0), newintracomm);
}

Code comm_create_from_group(comm::Group& group, const char* stringtag, Info* /*info*/,
                            Errhandler& errhandler, MPI_Comm* newcomm) {
  *newcomm = MPI_COMM_NULL;
  comm::Runtime& runtime = process.self_comm->runtime();
  if (group.rank_of(process.self_comm->peer(0)) == MPI_UNDEFINED) {
    if (group.size() == 0) return Code::ok;
    return refuse(Code::group, "the calling process is not in the group");
  }
  return give_comm(errhandler, group, comm::create_from_group(runtime, group, stringtag), newcomm);
}

Code intercomm_create_from_groups(comm::Group& local_group, int local_leader,
                                  comm::Group* remote_group, int remote_leader,
                                  const char* stringtag, Info* /*info*/, Errhandler& errhandler,
                                  MPI_Comm* newintercomm) {
  const int me = local_group.rank_of(process.self_comm->peer(0));
  if (me == MPI_UNDEFINED) return refuse(Code::group, "the calling process is not in local_group");
  if (local_leader < 0 || local_leader >= local_group.size())
    return refuse(Code::rank, "local_leader is " + std::to_string(local_leader) + " of " +
                                  std::to_string(local_group.size()));
  if (me == local_leader) {
    if (remote_group == nullptr) return refuse(Code::group, "remote_group is not a valid group");
    if (remote_leader < 0 || remote_leader >= remote_group->size())
      return refuse(Code::rank, "remote_leader is " + std::to_string(remote_leader) + " of " +
                                    std::to_string(remote_group->size()));
  }
  const comm::GroupBridge bridge{local_leader, remote_group, remote_leader, stringtag};
  comm::Runtime& runtime = process.self_comm->runtime();
  return give_comm(errhandler, local_group,
                   comm::create_inter_from_groups(runtime, local_group, bridge), newintercomm);
}

}  // namespace tutti::mpi::body
