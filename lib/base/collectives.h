// The collectives, by name: one row each, from which come the knobs that force an algorithm
// (knobs.cc), the words for ranks that call different ones (watch) and the catalogue (coll).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti {

enum class Collective : std::uint8_t {
  barrier,
  bcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  gatherv,
  scatterv,
  allgatherv,
  alltoallv,
  reduce_scatter,  // counts per rank (block form: equal counts)
  scan,
  exscan,
};

struct CollectiveRow {
  Collective collective;
  const char* name;
  const char* knob;  // forces its algorithm; a v form obeys the knob of its plain form
  bool has_root;
};

inline constexpr std::array kCollectiveRows{
    CollectiveRow{Collective::barrier, "barrier", "TUTTI_BARRIER", false},
    CollectiveRow{Collective::bcast, "bcast", "TUTTI_BCAST", true},
    CollectiveRow{Collective::reduce, "reduce", "TUTTI_REDUCE", true},
    CollectiveRow{Collective::allreduce, "allreduce", "TUTTI_ALLREDUCE", false},
    CollectiveRow{Collective::gather, "gather", "TUTTI_GATHER", true},
    CollectiveRow{Collective::scatter, "scatter", "TUTTI_SCATTER", true},
    CollectiveRow{Collective::allgather, "allgather", "TUTTI_ALLGATHER", false},
    CollectiveRow{Collective::alltoall, "alltoall", "TUTTI_ALLTOALL", false},
    CollectiveRow{Collective::gatherv, "gatherv", "TUTTI_GATHER", true},
    CollectiveRow{Collective::scatterv, "scatterv", "TUTTI_SCATTER", true},
    CollectiveRow{Collective::allgatherv, "allgatherv", "TUTTI_ALLGATHER", false},
    CollectiveRow{Collective::alltoallv, "alltoallv", "TUTTI_ALLTOALL", false},
    CollectiveRow{Collective::reduce_scatter, "reduce_scatter", "TUTTI_REDUCE_SCATTER", false},
    CollectiveRow{Collective::scan, "scan", "TUTTI_SCAN", false},
    CollectiveRow{Collective::exscan, "exscan", "TUTTI_EXSCAN", false},
};
inline constexpr int kCollectives = static_cast<int>(kCollectiveRows.size());

constexpr const CollectiveRow& row_of(Collective collective) {
  return kCollectiveRows[static_cast<std::size_t>(collective)];
}

// The rows stand in the order of the enumeration.
static_assert([] {
  for (std::size_t i = 0; i < kCollectiveRows.size(); ++i)
    if (kCollectiveRows[i].collective != static_cast<Collective>(i)) return false;
  return kCollectiveRows.back().collective == Collective::exscan;
}());

}  // namespace tutti
