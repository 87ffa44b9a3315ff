// Chapters 7 and 9: communicators of ranks that share hardware, and which hardware there is.
#include "bodies.h"
#include "mpi/give_comm.h"
#include "mpi/process_sets.h"

namespace tutti::mpi::body {
namespace {

constexpr const char* kResource = "mpi_hw_resource_type";
constexpr const char* kSharedMemory = "mpi_shared_memory";
constexpr const char* kPset = "mpi_pset_name";

using By = comm::SplitWish::By;

int my_host() {
  return process.world->wireup().host();
}

// By the resource that the key names; nobody where it names none.
comm::SplitWish guided_by(const std::string* named) {
  if (named == nullptr) return {};
  if (*named == kSharedMemory) return {By::color, my_host()};
  const auto level = comm::level_named(*named);
  return level ? comm::SplitWish{By::level, 0, level} : comm::SplitWish{};
}

// With the other members of the process set, as MPI_Session_get_nth_pset names them.
comm::SplitWish within(const std::string& set) {
  if (is_set(set, kWorldSet)) return {By::color, 0};
  if (is_set(set, kHostSet)) return {By::color, my_host()};
  if (is_set(set, kSelfSet)) return {By::color, process.world->wireup().rank()};
  return {};
}

}  // namespace

// Whatever a rank wants, MPI_UNDEFINED as well, it takes part in the same calls as the others.
Code comm_split_type(comm::Communicator& comm, int split_type, int key, Info* info,
                     MPI_Comm* newcomm) {
  const std::string* const resource = info == nullptr ? nullptr : info->find(kResource);
  const std::string* const pset = info == nullptr ? nullptr : info->find(kPset);
  comm::SplitWish wish;
  switch (split_type) {
    case MPI_UNDEFINED:
      break;
    case MPI_COMM_TYPE_SHARED:
      wish = {By::color, my_host()};
      break;
    case MPI_COMM_TYPE_HW_GUIDED:
      wish = guided_by(resource);
      break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
      wish.by = By::inside;
      break;
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      wish = pset == nullptr ? guided_by(resource) : within(*pset);
      break;
    default:
      return refuse(Code::arg, "split_type is " + std::to_string(split_type) +
                                   ", none of the MPI_COMM_TYPE values");
  }
  std::optional<comm::Level> found;
  auto made = comm::split_by(comm, wish, key, &found);
  if (made && *made && wish.by == By::inside && found && info != nullptr)
    info->set(kResource, std::string("hwloc://") + comm::name_of(*found));
  return give_comm(comm, std::move(made), newcomm);
}

// One key a kind of resource: "true" where this process is bound to a single one.
Code get_hw_resource_info(MPI_Info* hw_info) {
  auto* const made = new Info();
  const comm::Locality mine = comm::my_locality(process.self_comm->runtime());
  for (int level = 0; level < comm::kLevels; ++level)
    made->set(std::string("hwloc://") + comm::name_of(static_cast<comm::Level>(level)),
              mine.at[level] >= 0 ? "true" : "false");
  *hw_info = handle_to(made, MPI_INFO_NULL);
  return Code::ok;
}

}  // namespace tutti::mpi::body
