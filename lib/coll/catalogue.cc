// The catalogue: one plain array. To add an algorithm, add its file and its row.
#include "coll/catalogue.h"

#include <array>

#include "base/check.h"

namespace tutti::coll {
namespace {

struct Row {
  Algorithm algorithm;
  Emitter emitter;
};

constexpr bool kAnyOrder = true;  // needs a commutative operation
constexpr bool kKeepsOrder = false;
constexpr bool kCut = true;  // takes segments
constexpr bool kWhole = false;
constexpr bool kOverHosts = true;
constexpr bool kFlat = false;

using enum Collective;

constexpr Row kRows[] = {
    {{barrier, "dissemination", kKeepsOrder, kWhole, kFlat, "any number of ranks"},
     barrier_dissemination},
    {{barrier, "tree", kKeepsOrder, kWhole, kFlat, "few cores, slow links"}, barrier_tree},
    {{barrier, "two_level", kKeepsOrder, kWhole, kOverHosts, "several ranks a host"},
     barrier_two_level},
    {{bcast, "binomial", kKeepsOrder, kCut, kFlat, "short messages"}, bcast_binomial},
    {{bcast, "knomial", kKeepsOrder, kCut, kFlat, "short messages, quick senders"}, bcast_knomial},
    {{bcast, "chain", kKeepsOrder, kCut, kFlat, "very long messages, few ranks"}, bcast_chain},
    {{bcast, "double_tree", kKeepsOrder, kCut, kFlat, "long messages, many ranks"},
     bcast_double_tree},
    {{bcast, "scatter_allgather", kKeepsOrder, kWhole, kFlat, "long messages"},
     bcast_scatter_allgather},
    {{bcast, "linear", kKeepsOrder, kWhole, kFlat, "a few ranks"}, bcast_linear},
    {{bcast, "two_level", kKeepsOrder, kCut, kOverHosts, "several ranks a host"}, bcast_two_level},
    {{reduce, "binomial", kAnyOrder, kCut, kFlat, "short vectors"}, reduce_binomial},
    {{reduce, "knomial", kAnyOrder, kCut, kFlat, "short vectors, quick receivers"}, reduce_knomial},
    {{reduce, "chain", kAnyOrder, kCut, kFlat, "very long vectors, few ranks"}, reduce_chain},
    {{reduce, "double_tree", kAnyOrder, kCut, kFlat, "long vectors, many ranks"},
     reduce_double_tree},
    {{reduce, "rabenseifner", kKeepsOrder, kWhole, kFlat, "long vectors"}, reduce_rabenseifner},
    {{reduce, "linear", kKeepsOrder, kWhole, kFlat, "a few ranks"}, reduce_linear},
    {{reduce, "in_order", kKeepsOrder, kCut, kFlat, "operations that do not commute"},
     reduce_in_order},
    {{reduce, "two_level", kAnyOrder, kCut, kOverHosts, "several ranks a host"}, reduce_two_level},
    {{allreduce, "ring", kAnyOrder, kWhole, kFlat, "long vectors"}, allreduce_ring},
    {{allreduce, "segmented_ring", kAnyOrder, kCut, kFlat, "long vectors, folds beside messages"},
     allreduce_ring},
    {{allreduce, "recursive_doubling", kKeepsOrder, kWhole, kFlat, "short vectors"},
     allreduce_recursive_doubling},
    {{allreduce, "rabenseifner", kKeepsOrder, kWhole, kFlat, "long vectors, many ranks"},
     allreduce_rabenseifner},
    {{allreduce, "binomial", kKeepsOrder, kCut, kFlat, "short vectors, many ranks"},
     allreduce_binomial},
    {{allreduce, "knomial", kKeepsOrder, kCut, kFlat, "short vectors, quick links"},
     allreduce_knomial},
    {{allreduce, "double_tree", kAnyOrder, kCut, kFlat, "long vectors, many ranks"},
     allreduce_double_tree},
    {{allreduce, "linear", kKeepsOrder, kWhole, kFlat, "a few ranks"}, allreduce_linear},
    {{allreduce, "two_level", kAnyOrder, kCut, kOverHosts, "short vectors, several ranks a host"},
     allreduce_two_level},
    {{allreduce, "two_level_ring", kAnyOrder, kCut, kOverHosts, "long vectors, many hosts"},
     allreduce_two_level_ring},
    {{allreduce, "striped", kAnyOrder, kWhole, kOverHosts, "long vectors, several ranks a host"},
     allreduce_striped},
    {{gather, "binomial", kKeepsOrder, kWhole, kFlat, "short blocks"}, gather_binomial},
    {{gather, "linear", kKeepsOrder, kWhole, kFlat, "long blocks"}, gather_linear},
    {{scatter, "binomial", kKeepsOrder, kWhole, kFlat, "short blocks"}, scatter_binomial},
    {{scatter, "linear", kKeepsOrder, kWhole, kFlat, "long blocks"}, scatter_linear},
    {{allgather, "ring", kKeepsOrder, kWhole, kFlat, "long blocks"}, allgather_ring},
    {{allgather, "neighbour", kKeepsOrder, kWhole, kFlat, "long blocks, even number of ranks"},
     allgather_neighbour},
    {{allgather, "bruck", kKeepsOrder, kWhole, kFlat, "short blocks"}, allgather_bruck},
    {{allgather, "recursive_doubling", kKeepsOrder, kWhole, kFlat, "short blocks, power of two"},
     allgather_recursive_doubling},
    {{allgather, "linear", kKeepsOrder, kWhole, kFlat, "a few ranks"}, allgather_linear},
    {{allgather, "two_level", kKeepsOrder, kWhole, kOverHosts, "several ranks a host"},
     allgather_two_level},
    {{alltoall, "pairwise", kKeepsOrder, kWhole, kFlat, "long blocks"}, alltoall_pairwise},
    {{alltoall, "bruck", kKeepsOrder, kWhole, kFlat, "short blocks, many ranks"}, alltoall_bruck},
    {{alltoall, "linear", kKeepsOrder, kWhole, kFlat, "a few ranks"}, alltoall_linear},
    {{gatherv, "linear", kKeepsOrder, kWhole, kFlat, "blocks of any size"}, gather_linear},
    {{scatterv, "linear", kKeepsOrder, kWhole, kFlat, "blocks of any size"}, scatter_linear},
    {{allgatherv, "ring", kKeepsOrder, kWhole, kFlat, "long blocks"}, allgather_ring},
    {{allgatherv, "bruck", kKeepsOrder, kWhole, kFlat, "short blocks"}, allgather_bruck},
    {{allgatherv, "linear", kKeepsOrder, kWhole, kFlat, "a few ranks"}, allgather_linear},
    {{alltoallv, "pairwise", kKeepsOrder, kWhole, kFlat, "blocks of any size"}, alltoall_pairwise},
    {{alltoallv, "linear", kKeepsOrder, kWhole, kFlat, "a few ranks"}, alltoall_linear},
    {{reduce_scatter, "ring", kAnyOrder, kWhole, kFlat, "long vectors"}, reduce_scatter_ring},
    {{reduce_scatter, "recursive_halving", kAnyOrder, kWhole, kFlat, "vectors of middle length"},
     reduce_scatter_recursive_halving},
    {{reduce_scatter, "pairwise", kAnyOrder, kWhole, kFlat, "blocks of any size"},
     reduce_scatter_pairwise},
    {{reduce_scatter, "linear", kKeepsOrder, kWhole, kFlat, "operations that do not commute"},
     reduce_scatter_linear},
    {{scan, "recursive_doubling", kKeepsOrder, kWhole, kFlat, "short vectors"},
     scan_recursive_doubling},
    {{scan, "linear", kKeepsOrder, kCut, kFlat, "a few ranks, very long vectors"}, scan_linear},
    {{exscan, "recursive_doubling", kKeepsOrder, kWhole, kFlat, "short vectors"},
     exscan_recursive_doubling},
    {{exscan, "linear", kKeepsOrder, kCut, kFlat, "a few ranks, very long vectors"}, exscan_linear},
};

constexpr std::size_t kCount = std::size(kRows);

constexpr std::array<Algorithm, kCount> kAlgorithms = [] {
  std::array<Algorithm, kCount> algorithms{};
  for (std::size_t i = 0; i < kCount; ++i) algorithms[i] = kRows[i].algorithm;
  return algorithms;
}();

constexpr std::array<std::string_view, kCollectives> kNames = {
    "barrier",    "bcast",     "reduce",         "allreduce", "gather",
    "scatter",    "allgather", "alltoall",       "gatherv",   "scatterv",
    "allgatherv", "alltoallv", "reduce_scatter", "scan",      "exscan"};

}  // namespace

std::string_view name_of(Collective collective) {
  return kNames[static_cast<std::size_t>(collective)];
}

std::span<const Algorithm> catalogue() {
  return kAlgorithms;
}

const Algorithm* find(Collective collective, std::string_view name) {
  for (const Algorithm& algorithm : kAlgorithms)
    if (algorithm.collective == collective && name == algorithm.name) return &algorithm;
  return nullptr;
}

const Emitter& emitter_of(const Algorithm& algorithm) {
  const auto index = static_cast<std::size_t>(&algorithm - kAlgorithms.data());
  TUTTI_CHECK(index < kCount, "not an entry of the catalogue");
  return kRows[index].emitter;
}

}  // namespace tutti::coll
