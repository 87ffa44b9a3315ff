// Neighbourhood collectives in the units of schedules (coll.h: build_neighbours).
#include "comm/fingerprint.h"
#include "comm/scheduled.h"
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

bool gathers(Collective collective) {
  return collective == Collective::allgather || collective == Collective::allgatherv;
}

CallShape shape_among(const Communicator& comm, const CollCall& call) {
  CallShape shape;
  shape.collective = call.collective;
  if (comm.topology == nullptr) return shape;  // refused when it is prepared
  const coll::Neighbours around = comm.topology->neighbours(comm.rank());
  shape.send_counts = blocks_of(call.send_counts, call.send_type, call.send_types, call.send_count,
                                around.destinations.size());
  shape.counts = blocks_of(call.recv_counts, call.recv_type, call.recv_types, call.recv_count,
                           around.sources.size());
  if (gathers(call.collective) && call.send_type != nullptr)
    shape.count = call.send_count * call.send_type->size();
  return shape;
}

Result<std::shared_ptr<Prepared>> prepare_among(Communicator& comm, const CallShape& shape,
                                                const select::Choice*) {
  if (comm.topology == nullptr)
    return fail(Code::topology, "a neighbourhood collective needs a communicator with a topology");
  const CountsKey key{
      {nullptr, shape.count, 0, 0, false, true}, shape.collective, shape.counts, shape.send_counts};
  if (auto kept = find_kept(comm, key)) return kept;
  coll::NeighbourCall call;
  call.gathers = gathers(shape.collective);
  call.count = shape.count;
  call.send_counts = shape.send_counts;
  call.counts = shape.counts;
  return keep(comm, key, coll::build_neighbours(comm.topology->neighbours(comm.rank()), call));
}

void bind_among(const Communicator& comm, const CollCall& call, const CallShape&,
                engine::Binding& binding, engine::ScratchPool::Piece&) {
  const coll::Neighbours around = comm.topology->neighbours(comm.rank());
  const auto out = static_cast<Count>(around.destinations.size());
  const auto in = static_cast<Count>(around.sources.size());
  bind_side({call.send, call.send_count, call.send_type, call.send_counts, call.send_displs,
             call.send_types, gathers(call.collective) ? 1 : out},
            binding.in);
  bind_side({call.recv, call.recv_count, call.recv_type, call.recv_counts, call.recv_displs,
             call.recv_types, in},
            binding.out);
}

}  // namespace

const CallSetting kNeighbours{
    &shape_among, &prepare_among, &bind_among, [](const CollCall& call, const CallShape&) {
      return watch::neighbour_fingerprint(static_cast<std::uint32_t>(call.collective));
    }};

}  // namespace tutti::comm
