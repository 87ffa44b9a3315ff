// Chapter 4: partitioned messages. p2p moves them; here they are persistent requests.
#include <memory>

#include "bodies.h"
#include "mpi/process.h"
#include "mpi/requests.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

using Role = PersistentRequest::Role;

struct Release {
  void operator()(p2p::Partitioned* side) const { side->release(); }
};

void on_round(void* owner, const p2p::Status& status) {
  comm::complete(*static_cast<comm::Request*>(owner), status);
}

// `side` null: with MPI_PROC_NULL every round is over at once.
Code give_partitioned(comm::Communicator& comm, types::Datatype& type, Role role,
                      const p2p::Partitioned::Shape& shape, p2p::Partitioned* side,
                      MPI_Request* request) {
  std::shared_ptr<p2p::Partitioned> owned;
  if (side != nullptr) owned = {side, Release()};
  auto* const made =
      new PersistentRequest(comm, [=, &comm, kept = keep(type)]() -> Result<comm::Request*> {
        if (owned == nullptr)
          return comm::isend(comm, p2p::Mode::standard, nullptr, 0, *kept, comm::kProcNull, 0);
        TUTTI_DO(owned->find_memory());
        comm::Request* const round = comm::open_request(comm, nullptr);
        owned->start(&on_round, round);
        return round;
      });
  made->role = role;
  made->partitions = shape.partitions;
  made->side = side;
  *request = handle_to(made, MPI_REQUEST_NULL);
  return Code::ok;
}

p2p::Partitioned::Shape shape_of(const void* data, int partitions, Count count,
                                 types::Datatype& type) {
  return {partitions, types::Buffer::whole(const_cast<void*>(data), partitions * count, type)};
}

// The persistent request behind a handle, or null, noted, when it has another role.
PersistentRequest* partitioned_behind(MPI_Request request, Role role) {
  PersistentRequest* const found = persistent_of(request);
  if (found != nullptr && found->role == role) return found;
  refuse(Code::request, role == Role::sends_parts ? "request is not a partitioned send"
                                                  : "request is not a partitioned receive");
  return nullptr;
}

bool is_partition(const PersistentRequest& found, int partition) {
  if (partition >= 0 && partition < found.partitions) return true;
  refuse_on(&found.comm(), Code::arg,
            "partition " + std::to_string(partition) + " is not one of " +
                std::to_string(found.partitions));
  return false;
}

Code ready_those(const PersistentRequest& found, const p2p::Partitioned::Which& partitions) {
  if (found.side == nullptr) return Code::ok;
  const auto made = found.side->ready(partitions);
  if (made) return Code::ok;
  return refuse_on(&found.comm(), made.error().code, made.error().text);
}

// The sender's request with a round under way, whose parts can be made ready; or null, noted.
PersistentRequest* sending(MPI_Request request) {
  PersistentRequest* const found = partitioned_behind(request, Role::sends_parts);
  if (found == nullptr) return nullptr;
  if (found->current == nullptr) {
    refuse_on(&found->comm(), Code::request, "request is not active (MPI_Start)");
    return nullptr;
  }
  return found;
}

}  // namespace

Code psend_init(const void* buf, int partitions, Count count, types::Datatype& datatype, int dest,
                int tag, comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  const p2p::Partitioned::Shape shape = shape_of(buf, partitions, count, datatype);
  p2p::Partitioned* side = nullptr;
  if (dest != MPI_PROC_NULL)
    side = process.world->endpoint().send_partitioned(comm.peer(dest),
                                                      {comm.context(), comm.rank(), tag, 0}, shape);
  return give_partitioned(comm, datatype, Role::sends_parts, shape, side, request);
}

Code precv_init(void* buf, int partitions, Count count, types::Datatype& datatype, int source,
                int tag, comm::Communicator& comm, Info* /*info*/, MPI_Request* request) {
  const p2p::Partitioned::Shape shape = shape_of(buf, partitions, count, datatype);
  p2p::Partitioned* side = nullptr;
  if (source != MPI_PROC_NULL)
    side = process.world->endpoint().recv_partitioned(comm.peer(source),
                                                      {comm.context(), source, tag, 0}, shape);
  return give_partitioned(comm, datatype, Role::receives_parts, shape, side, request);
}

Code pready(int partition, MPI_Request request) {
  const PersistentRequest* const found = sending(request);
  if (found == nullptr) return trouble().code;
  return is_partition(*found, partition) ? ready_those(*found, {partition, 1}) : Code::arg;
}

Code pready_range(int partition_low, int partition_high, MPI_Request request) {
  const PersistentRequest* const found = sending(request);
  if (found == nullptr) return trouble().code;
  if (partition_low > partition_high) return Code::ok;
  if (!is_partition(*found, partition_low) || !is_partition(*found, partition_high))
    return Code::arg;
  return ready_those(*found, {partition_low, partition_high - partition_low + 1});
}

Code pready_list(int length, const int array_of_partitions[], MPI_Request request) {
  const PersistentRequest* const found = sending(request);
  if (found == nullptr) return trouble().code;
  for (int i = 0; i < length; ++i)
    if (!is_partition(*found, array_of_partitions[i])) return Code::arg;
  return ready_those(*found, {0, length, array_of_partitions});
}

// True, too, for MPI_REQUEST_NULL and inactive requests.
Code parrived(MPI_Request request, int partition, int* flag) {
  *flag = 1;
  if (request == MPI_REQUEST_NULL) return Code::ok;
  const PersistentRequest* const found = partitioned_behind(request, Role::receives_parts);
  if (found == nullptr) return trouble().code;
  if (!is_partition(*found, partition)) return Code::arg;
  const auto has_arrived = [found, partition] {
    return found->current == nullptr || found->current->is_done() || found->side == nullptr ||
           found->side->arrived(partition);
  };
  if (!has_arrived()) comm::progress_or_yield(found->comm().runtime());
  *flag = has_arrived();
  return Code::ok;
}

}  // namespace tutti::mpi::body
