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
    {{bcast, "binomial", kKeepsOrder, kCut, kFlat, "short messages"}, bcast_binomial},
    {{reduce, "binomial", kAnyOrder, kCut, kFlat, "short vectors"}, reduce_binomial},
    {{allreduce, "ring", kAnyOrder, kWhole, kFlat, "long vectors"}, allreduce_ring},
    {{allreduce, "recursive_doubling", kKeepsOrder, kWhole, kFlat, "short vectors"},
     allreduce_recursive_doubling},
    {{allreduce, "binomial", kKeepsOrder, kCut, kFlat, "short vectors, many ranks"},
     allreduce_binomial},
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
