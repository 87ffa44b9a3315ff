// The catalogue: a row an algorithm, with all that is known of it. Nothing else names one.
//
// A row predicts from n, what the model works on: the bytes of the vector or message, or of one
// block where there are blocks (v forms and reduce_scatter: the mean block). Times in us.
#include "coll/catalogue.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "model/model.h"

namespace tutti::coll {

// Emitters that nobody else uses; more in emitters.h.
BarrierEmitter barrier_tree, barrier_two_level;
RootedEmitter bcast_chain, bcast_scatter_allgather, bcast_two_level, reduce_chain,
    reduce_rabenseifner, reduce_two_level;
WholeEmitter allreduce_binomial, allreduce_knomial, allreduce_double_tree, allreduce_linear,
    allreduce_two_level, allreduce_two_level_ring, allreduce_striped, exscan_recursive_doubling,
    exscan_linear;
SpreadEmitter gather_binomial, gather_linear, scatter_binomial;
BlockedEmitter allgather_bruck, allgather_recursive_doubling, allgather_linear, allgather_neighbour,
    allgather_two_level, reduce_scatter_ring, reduce_scatter_recursive_halving,
    reduce_scatter_linear;
AlltoallEmitter alltoall_pairwise, alltoall_linear, alltoall_bruck;

namespace {

struct AlgorithmRow {
  // A row without its predictor or its emitter does not compile.
  template <class Emit>
  constexpr AlgorithmRow(const Algorithm& about, Predictor* predict, Emit& emit)
      : algorithm(about), emitter(&emit) {
    algorithm.predict = predict;
  }

  Algorithm algorithm;
  Emitter emitter;
};

constexpr bool kAnyOrder = true;  // needs a commutative operation
constexpr bool kKeepsOrder = false;
constexpr bool kCut = true;  // takes segments
constexpr bool kWhole = false;
constexpr bool kOverHosts = true;
constexpr bool kFlat = false;

using model::Model;
using enum Collective;

constexpr int kBinary = 2;  // radix of a tree; that of the k-nomial ones is kRadix (shapes.h)

double two_level(const Model& m, double n, double between) {
  const Model in = m.inside_host();
  return in.tree(n, kBinary, m.fold()) + between + in.tree(n, kBinary, 0);
}

constexpr AlgorithmRow kRows[] = {
    {{barrier, "dissemination", kKeepsOrder, kWhole, kFlat, "any number of ranks"},
     [](const Model& m, double) { return m.dissemination(1, 1, 0); },
     barrier_dissemination},
    {{barrier, "tree", kKeepsOrder, kWhole, kFlat, "few cores, slow links"},
     [](const Model& m, double) { return 2 * m.tree(1, kBinary, 0); },
     barrier_tree},
    {{barrier, "two_level", kKeepsOrder, kWhole, kOverHosts, "several ranks a host"},
     [](const Model& m, double) {
       return 2 * m.inside_host().star(1, 0) + m.leaders().dissemination(1, 1, 0);
     },
     barrier_two_level},
    {{bcast, "binomial", kKeepsOrder, kCut, kFlat, "short messages"},
     [](const Model& m, double n) { return m.tree(n, kBinary, 0); },
     bcast_binomial},
    {{bcast, "knomial", kKeepsOrder, kCut, kFlat, "short messages, quick senders"},
     [](const Model& m, double n) { return m.tree(n, kRadix, 0); },
     bcast_knomial},
    {{bcast, "chain", kKeepsOrder, kCut, kFlat, "very long messages, few ranks"},
     [](const Model& m, double n) { return m.chain(n, 0); },
     bcast_chain},
    {{bcast, "double_tree", kKeepsOrder, kCut, kFlat, "long messages, many ranks"},
     [](const Model& m, double n) { return m.double_tree(n, 0); },
     bcast_double_tree},
    {{bcast, "scatter_allgather", kKeepsOrder, kWhole, kFlat, "long messages"},
     [](const Model& m, double n) { return m.gather(n) + m.ring(n / m.p(), 0); },
     bcast_scatter_allgather},
    {{bcast, "linear", kKeepsOrder, kWhole, kFlat, "a few ranks"},
     [](const Model& m, double n) { return m.star(n, 0); },
     bcast_linear},
    {{bcast, "two_level", kKeepsOrder, kCut, kOverHosts, "several ranks a host"},
     [](const Model& m, double n) { return m.host_by_host().tree(n, kBinary, 0); },
     bcast_two_level},
    {{reduce, "binomial", kAnyOrder, kCut, kFlat, "short vectors"},
     [](const Model& m, double n) { return m.tree(n, kBinary, m.fold()); },
     reduce_binomial},
    {{reduce, "knomial", kAnyOrder, kCut, kFlat, "short vectors, quick receivers"},
     [](const Model& m, double n) { return m.tree(n, kRadix, m.fold()); },
     reduce_knomial},
    {{reduce, "chain", kAnyOrder, kCut, kFlat, "very long vectors, few ranks"},
     [](const Model& m, double n) { return m.chain(n, m.fold()); },
     reduce_chain},
    {{reduce, "double_tree", kAnyOrder, kCut, kFlat, "long vectors, many ranks"},
     [](const Model& m, double n) { return m.double_tree(n, m.fold()); },
     reduce_double_tree},
    {{reduce, "rabenseifner", kKeepsOrder, kWhole, kFlat, "long vectors"},
     [](const Model& m, double n) {
       return m.folding(n, m.fold()) + m.halving(n, m.fold()) + m.gather(n);
     },
     reduce_rabenseifner},
    {{reduce, "linear", kKeepsOrder, kWhole, kFlat, "a few ranks"},
     [](const Model& m, double n) { return m.star(n, m.fold()); },
     reduce_linear},
    {{reduce, "in_order", kKeepsOrder, kCut, kFlat, "operations that do not commute"},
     [](const Model& m, double n) { return m.tree(n, kBinary, m.fold()) + m.hop(n); },
     reduce_in_order},
    {{reduce, "two_level", kAnyOrder, kCut, kOverHosts, "several ranks a host"},
     [](const Model& m, double n) { return m.host_by_host().tree(n, kBinary, m.fold()); },
     reduce_two_level},
    {{allreduce, "ring", kAnyOrder, kWhole, kFlat, "long vectors"},
     [](const Model& m, double n) { return m.ring(n / m.p(), m.fold()) + m.ring(n / m.p(), 0); },
     allreduce_ring},
    {{allreduce, "segmented_ring", kAnyOrder, kCut, kFlat, "long vectors, folds beside messages"},
     [](const Model& m, double n) {
       return m.segmented_ring(n / m.p(), m.fold()) + m.segmented_ring(n / m.p(), 0);
     },
     allreduce_ring},
    {{allreduce, "recursive_doubling", kKeepsOrder, kWhole, kFlat, "short vectors"},
     [](const Model& m, double n) { return m.folding(n, m.fold()) + m.doubling(n, m.fold()); },
     allreduce_recursive_doubling},
    {{allreduce, "rabenseifner", kKeepsOrder, kWhole, kFlat, "long vectors, many ranks"},
     [](const Model& m, double n) {
       return m.folding(n, m.fold()) + m.halving(n, m.fold()) + m.halving(n, 0);
     },
     allreduce_rabenseifner},
    {{allreduce, "binomial", kKeepsOrder, kCut, kFlat, "short vectors, many ranks"},
     [](const Model& m, double n) { return m.tree(n, kBinary, m.fold()) + m.tree(n, kBinary, 0); },
     allreduce_binomial},
    {{allreduce, "knomial", kKeepsOrder, kCut, kFlat, "short vectors, quick links"},
     [](const Model& m, double n) { return m.tree(n, kRadix, m.fold()) + m.tree(n, kRadix, 0); },
     allreduce_knomial},
    {{allreduce, "double_tree", kAnyOrder, kCut, kFlat, "long vectors, many ranks"},
     [](const Model& m, double n) { return m.double_tree(n, m.fold()) + m.double_tree(n, 0); },
     allreduce_double_tree},
    {{allreduce, "linear", kKeepsOrder, kWhole, kFlat, "a few ranks"},
     [](const Model& m, double n) { return m.star(n, m.fold()) + m.star(n, 0); },
     allreduce_linear},
    {{allreduce, "two_level", kAnyOrder, kCut, kOverHosts, "short vectors, several ranks a host"},
     [](const Model& m, double n) {
       const Model far = m.leaders();
       return two_level(m, n, far.folding(n, m.fold()) + far.doubling(n, m.fold()));
     },
     allreduce_two_level},
    {{allreduce, "two_level_ring", kAnyOrder, kCut, kOverHosts, "long vectors, many hosts"},
     [](const Model& m, double n) {
       const Model far = m.leaders();
       return two_level(m, n, far.ring(n / far.p(), m.fold()) + far.ring(n / far.p(), 0));
     },
     allreduce_two_level_ring},
    {{allreduce, "striped", kAnyOrder, kWhole, kOverHosts, "long vectors, several ranks a host"},
     [](const Model& m, double n) {
       const Model in = m.inside_host();
       const Model far = m.stripes();  // all stripes of a host share its port: n in all
       return in.all_pairs(n / in.p(), m.fold()) + far.folding(n, 0) + far.halving(n, m.fold()) +
              far.halving(n, 0) + in.ring(n / in.p(), 0);
     },
     allreduce_striped},
    {{gather, "binomial", kKeepsOrder, kWhole, kFlat, "short blocks"},
     [](const Model& m, double n) { return m.gather(n * m.p()); },
     gather_binomial},
    {{gather, "linear", kKeepsOrder, kWhole, kFlat, "long blocks"},
     [](const Model& m, double n) { return m.star(n, 0); },
     gather_linear},
    {{scatter, "binomial", kKeepsOrder, kWhole, kFlat, "short blocks"},
     [](const Model& m, double n) { return m.gather(n * m.p()); },
     scatter_binomial},
    {{scatter, "linear", kKeepsOrder, kWhole, kFlat, "long blocks"},
     [](const Model& m, double n) { return m.star(n, 0); },
     scatter_linear},
    {{allgather, "ring", kKeepsOrder, kWhole, kFlat, "long blocks"},
     [](const Model& m, double n) { return m.ring(n, 0); },
     allgather_ring},
    {{allgather, "neighbour", kKeepsOrder, kWhole, kFlat, "long blocks, even number of ranks"},
     [](const Model& m, double n) { return m.ring(n, 0); },
     allgather_neighbour},
    {{allgather, "bruck", kKeepsOrder, kWhole, kFlat, "short blocks"},
     [](const Model& m, double n) { return m.dissemination(n, 2, 0); },
     allgather_bruck},
    {{allgather, "recursive_doubling", kKeepsOrder, kWhole, kFlat, "short blocks, power of two"},
     [](const Model& m, double n) {
       return m.folding(n * m.p() / 2, 0) + m.far_halving(n * m.p(), 0);
     },
     allgather_recursive_doubling},
    {{allgather, "linear", kKeepsOrder, kWhole, kFlat, "a few ranks"},
     [](const Model& m, double n) { return m.all_pairs(n, 0); },
     allgather_linear},
    {{allgather, "two_level", kKeepsOrder, kWhole, kOverHosts, "several ranks a host"},
     [](const Model& m, double n) {
       const Model in = m.inside_host();
       return in.star(n, 0) + m.leaders().ring(n * in.p(), 0) + in.tree(n * m.p(), kBinary, 0);
     },
     allgather_two_level},
    {{alltoall, "pairwise", kKeepsOrder, kWhole, kFlat, "long blocks"},
     [](const Model& m, double n) { return m.all_pairs(n, 0); },
     alltoall_pairwise},
    {{alltoall, "bruck", kKeepsOrder, kWhole, kFlat, "short blocks, many ranks"},
     [](const Model& m, double n) { return m.bruck_alltoall(n); },
     alltoall_bruck},
    {{alltoall, "linear", kKeepsOrder, kWhole, kFlat, "a few ranks"},
     [](const Model& m, double n) { return m.all_pairs(n, 0) * 1.05; },
     alltoall_linear},
    {{gatherv, "linear", kKeepsOrder, kWhole, kFlat, "blocks of any size"},
     [](const Model& m, double n) { return m.star(n, 0); },
     gather_linear},
    {{scatterv, "linear", kKeepsOrder, kWhole, kFlat, "blocks of any size"},
     [](const Model& m, double n) { return m.star(n, 0); },
     scatter_linear},
    {{allgatherv, "ring", kKeepsOrder, kWhole, kFlat, "long blocks"},
     [](const Model& m, double n) { return m.ring(n, 0); },
     allgather_ring},
    {{allgatherv, "bruck", kKeepsOrder, kWhole, kFlat, "short blocks"},
     [](const Model& m, double n) { return m.dissemination(n, 2, 0); },
     allgather_bruck},
    {{allgatherv, "linear", kKeepsOrder, kWhole, kFlat, "a few ranks"},
     [](const Model& m, double n) { return m.all_pairs(n, 0); },
     allgather_linear},
    {{alltoallv, "pairwise", kKeepsOrder, kWhole, kFlat, "blocks of any size"},
     [](const Model& m, double n) { return m.all_pairs(n, 0); },
     alltoall_pairwise},
    {{alltoallv, "linear", kKeepsOrder, kWhole, kFlat, "a few ranks"},
     [](const Model& m, double n) { return m.all_pairs(n, 0) * 1.05; },
     alltoall_linear},
    {{reduce_scatter, "ring", kAnyOrder, kWhole, kFlat, "long vectors"},
     [](const Model& m, double n) { return m.ring(n, m.fold()); },
     reduce_scatter_ring},
    {{reduce_scatter, "recursive_halving", kAnyOrder, kWhole, kFlat, "vectors of middle length"},
     [](const Model& m, double n) {
       return m.folding(n * m.p(), m.fold()) + m.far_halving(n * m.p(), m.fold());
     },
     reduce_scatter_recursive_halving},
    {{reduce_scatter, "pairwise", kAnyOrder, kWhole, kFlat, "blocks of any size"},
     [](const Model& m, double n) { return m.all_pairs(n, m.fold()); },
     reduce_scatter_pairwise},
    {{reduce_scatter, "linear", kKeepsOrder, kWhole, kFlat, "operations that do not commute"},
     [](const Model& m, double n) { return m.all_pairs(n, m.fold()) * 1.05; },
     reduce_scatter_linear},
    {{scan, "recursive_doubling", kKeepsOrder, kWhole, kFlat, "short vectors"},
     [](const Model& m, double n) { return m.dissemination(n, 1, m.fold()); },
     scan_recursive_doubling},
    {{scan, "linear", kKeepsOrder, kCut, kFlat, "a few ranks, very long vectors"},
     [](const Model& m, double n) { return m.chain(n, m.fold()); },
     scan_linear},
    {{exscan, "recursive_doubling", kKeepsOrder, kWhole, kFlat, "short vectors"},
     [](const Model& m, double n) { return m.hop(n) + m.dissemination(n, 1, m.fold()); },
     exscan_recursive_doubling},
    {{exscan, "linear", kKeepsOrder, kCut, kFlat, "a few ranks, very long vectors"},
     [](const Model& m, double n) { return m.hop(n) + m.chain(n, m.fold()); },
     exscan_linear},
};

constexpr std::size_t kCount = std::size(kRows);

constexpr std::array<Algorithm, kCount> kAlgorithms = [] {
  std::array<Algorithm, kCount> algorithms{};
  for (std::size_t i = 0; i < kCount; ++i) algorithms[i] = kRows[i].algorithm;
  return algorithms;
}();

// A row says all of it: the compiler takes the last ones of a list as not given.
constexpr bool is_whole(const Algorithm& row) {
  return row.name != nullptr && row.good_for != nullptr && row.predict != nullptr;
}

// Every collective can be served whatever the call: by an algorithm that keeps rank order and needs
// no hosts. And a name means one algorithm of it.
constexpr bool serves(Collective collective) {
  for (const Algorithm& each : kAlgorithms)
    if (each.collective == collective && !each.needs_commutative && !each.needs_hosts) return true;
  return false;
}
static_assert([] {
  for (const CollectiveRow& row : kCollectiveRows)
    if (!serves(row.collective)) return false;
  if (!std::all_of(kAlgorithms.begin(), kAlgorithms.end(), is_whole)) return false;
  for (const Algorithm& a : kAlgorithms)
    for (const Algorithm& b : kAlgorithms)
      if (&a != &b && a.collective == b.collective && std::string_view(a.name) == b.name)
        return false;
  return true;
}());

}  // namespace

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
