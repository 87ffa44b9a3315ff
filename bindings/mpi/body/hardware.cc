// Chapters 7 and 9: communicators of ranks that share hardware, and which hardware there is.
#include "bodies.h"
#include "mpi/give_comm.h"
#include "mpi/process_sets.h"

namespace tutti::mpi::body {
namespace {

constexpr const char* kResource = "mpi_hw_resource_type";
constexpr const char* kSharedMemory = "mpi_shared_memory";
constexpr const char* kPset = "mpi_pset_name";

Code split_nobody(comm::Communicator& comm, int key, MPI_Comm* newcomm) {
  return give_comm(comm, comm::split(comm, MPI_UNDEFINED, key), newcomm);
}

// By the resource that the key names; nobody where it names none.
Code split_guided(comm::Communicator& comm, int key, const std::string* named, MPI_Comm* newcomm) {
  if (named == nullptr) return split_nobody(comm, key, newcomm);
  if (*named == kSharedMemory) return give_comm(comm, comm::split_shared(comm, key), newcomm);
  const auto level = comm::level_named(*named);
  if (!level) return split_nobody(comm, key, newcomm);
  return give_comm(comm, comm::split_by(comm, *level, key), newcomm);
}

// One level further in than where all members are together; nobody when there is none.
Code split_unguided(comm::Communicator& comm, int key, Info* info, MPI_Comm* newcomm) {
  const auto level = comm::inside(comm);
  if (!level) return note(level);
  if (!*level) return split_nobody(comm, key, newcomm);
  if (info != nullptr) info->set(kResource, std::string("hwloc://") + comm::name_of(**level));
  return give_comm(comm, comm::split_by(comm, **level, key), newcomm);
}

}  // namespace

Code comm_split_type(comm::Communicator& comm, int split_type, int key, Info* info,
                     MPI_Comm* newcomm) {
  if (comm.is_inter() && split_type != MPI_UNDEFINED && split_type != MPI_COMM_TYPE_SHARED)
    return refuse(Code::comm, "comm is an intercommunicator; MPI_COMM_TYPE_SHARED can split it");
  const std::string* const resource = info == nullptr ? nullptr : info->find(kResource);
  switch (split_type) {
    case MPI_UNDEFINED:
      return split_nobody(comm, key, newcomm);
    case MPI_COMM_TYPE_SHARED:
      return give_comm(comm, comm::split_shared(comm, key), newcomm);
    case MPI_COMM_TYPE_HW_GUIDED:
      return split_guided(comm, key, resource, newcomm);
    case MPI_COMM_TYPE_HW_UNGUIDED:
      return split_unguided(comm, key, info, newcomm);
    case MPI_COMM_TYPE_RESOURCE_GUIDED: {
      const std::string* const pset = info == nullptr ? nullptr : info->find(kPset);
      if (pset == nullptr) return split_guided(comm, key, resource, newcomm);
      if (is_set(*pset, kWorldSet)) return give_comm(comm, comm::split(comm, 0, key), newcomm);
      if (is_set(*pset, kSelfSet))
        return give_comm(comm, comm::split(comm, comm.rank(), key), newcomm);
      return split_nobody(comm, key, newcomm);
    }
    default:
      return refuse(Code::arg, "split_type is " + std::to_string(split_type) +
                                   ", none of the MPI_COMM_TYPE values");
  }
}

// One key a kind of resource: "true" where this process is bound to a single one.
Code get_hw_resource_info(MPI_Info* hw_info) {
  auto* const made = new Info();
  const comm::Locality mine = comm::my_locality(process.self_comm->world());
  for (int level = 0; level < comm::kLevels; ++level)
    made->set(std::string("hwloc://") + comm::name_of(static_cast<comm::Level>(level)),
              mine.at[level] >= 0 ? "true" : "false");
  *hw_info = handle_to(made, MPI_INFO_NULL);
  return Code::ok;
}

}  // namespace tutti::mpi::body
