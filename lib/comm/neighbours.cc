// Neighbourhood collectives in the units of schedules (coll.h: build_neighbours).
#include "comm/neighbours.h"

#include "comm/topology.h"

namespace tutti::comm {
namespace {

using coll::Collective;

std::vector<Count> blocks_of(std::span<const Count> counts, const types::Datatype* type,
                             std::span<const types::Datatype* const> block_types, Count count,
                             std::size_t neighbours) {
  if (!counts.empty()) return byte_counts(counts, type, block_types);
  const Count each = type == nullptr ? 0 : count * type->size();
  return std::vector<Count>(neighbours, each);
}

bool gathers(const CollCall& call) {
  return call.collective == Collective::allgather || call.collective == Collective::allgatherv;
}

}  // namespace

Result<std::shared_ptr<Prepared>> prepare_neighbours(Communicator& comm, const CollCall& call) {
  if (comm.topology == nullptr)
    return fail(Code::topology, "a neighbourhood collective needs a communicator with a topology");
  const coll::Neighbours around = comm.topology->neighbours(comm.rank());
  const auto sent = blocks_of(call.send_counts, call.send_type, call.send_types, call.send_count,
                              around.destinations.size());
  const auto received = blocks_of(call.recv_counts, call.recv_type, call.recv_types,
                                  call.recv_count, around.sources.size());
  coll::NeighbourCall said;
  said.gathers = gathers(call);
  if (said.gathers)
    said.count = call.send_type == nullptr ? 0 : call.send_count * call.send_type->size();
  said.send_counts = sent;
  said.counts = received;
  auto prepared = std::make_shared<Prepared>();
  prepared->program = std::make_shared<const engine::Program>(coll::build_neighbours(around, said));
  return prepared;
}

void bind_neighbours(const Communicator& comm, const CollCall& call, engine::Binding& binding) {
  const coll::Neighbours around = comm.topology->neighbours(comm.rank());
  const auto out = static_cast<Count>(around.destinations.size());
  const auto in = static_cast<Count>(around.sources.size());
  bind_side({call.send, call.send_count, call.send_type, call.send_counts, call.send_displs,
             call.send_types, gathers(call) ? 1 : out},
            binding.in);
  bind_side({call.recv, call.recv_count, call.recv_type, call.recv_counts, call.recv_displs,
             call.recv_types, in},
            binding.out);
}

}  // namespace tutti::comm
