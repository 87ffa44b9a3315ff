// Collectives among neighbours (MPI 5.0, 8.6): everybody sends to whom his topology names.
//
// Between two ranks messages match in step order. A pair may be neighbours several times over:
// then the k-th message sent is the k-th received, except on a grid, where what goes out in the
// negative direction of a dimension comes in from the positive one (8.6, rings of 1 and 2).
#include "coll/coll.h"
#include "coll/shapes.h"

namespace tutti::coll {

sched::Schedule build_neighbours(const Neighbours& around, const NeighbourCall& call) {
  sched::Builder builder;
  const auto sources = static_cast<int>(around.sources.size());
  const auto destinations = static_cast<int>(around.destinations.size());
  if (sources > 0) {
    Count all = 0;
    for (const Count count : call.counts) all += count;
    const Blocks into({sched::Space::out, 0, all}, call.counts);
    for (int i = 0; i < sources; ++i) {
      const int from = around.is_grid ? i ^ 1 : i;
      const int peer = around.sources[static_cast<std::size_t>(from)];
      if (peer >= 0) builder.recv(into[from], peer);
    }
  }
  Count offset = 0;
  for (int i = 0; i < destinations; ++i) {
    const Count count = call.gathers ? call.count : call.send_counts[static_cast<std::size_t>(i)];
    const int peer = around.destinations[static_cast<std::size_t>(i)];
    if (peer >= 0) builder.send({sched::Space::in, offset, count}, peer);
    if (!call.gathers) offset += count;
  }
  return builder.finish();
}

}  // namespace tutti::coll
