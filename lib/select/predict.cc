// Predicted time of each entry of the catalogue: one line an algorithm, out of the patterns.
//
// n is what Question::bytes says: the vector or message, or one block where there are blocks
// (v forms and reduce_scatter: the mean block).
#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "select/candidates.h"
#include "select/model.h"

namespace tutti::select {
namespace {

using coll::Algorithm;
using coll::Collective;
using Formula = double (*)(const Model& m, double n);

struct Row {
  Collective collective;
  std::string_view name;
  Formula predict;
};

using enum Collective;
constexpr int kBinary = 2;
constexpr int kFour = 4;  // the radix of the k-nomial entries

double two_level(const Model& m, double n, double between) {
  const Model in = m.inside_host();
  return in.tree(n, kBinary, m.fold()) + between + in.tree(n, kBinary, 0);
}

constexpr Row kRows[] = {
    {barrier, "dissemination", [](const Model& m, double) { return m.dissemination(1, 1, 0); }},
    {barrier, "tree", [](const Model& m, double) { return 2 * m.tree(1, kBinary, 0); }},
    {barrier, "two_level",
     [](const Model& m, double) {
       return 2 * m.inside_host().star(1, 0) + m.leaders().dissemination(1, 1, 0);
     }},
    {bcast, "binomial", [](const Model& m, double n) { return m.tree(n, kBinary, 0); }},
    {bcast, "knomial", [](const Model& m, double n) { return m.tree(n, kFour, 0); }},
    {bcast, "chain", [](const Model& m, double n) { return m.chain(n, 0); }},
    {bcast, "double_tree", [](const Model& m, double n) { return m.double_tree(n, 0); }},
    {bcast, "scatter_allgather",
     [](const Model& m, double n) { return m.gather(n) + m.ring(n / m.p(), 0); }},
    {bcast, "linear", [](const Model& m, double n) { return m.star(n, 0); }},
    {bcast, "two_level",
     [](const Model& m, double n) { return m.host_by_host().tree(n, kBinary, 0); }},
    {reduce, "binomial", [](const Model& m, double n) { return m.tree(n, kBinary, m.fold()); }},
    {reduce, "knomial", [](const Model& m, double n) { return m.tree(n, kFour, m.fold()); }},
    {reduce, "chain", [](const Model& m, double n) { return m.chain(n, m.fold()); }},
    {reduce, "double_tree", [](const Model& m, double n) { return m.double_tree(n, m.fold()); }},
    {reduce, "rabenseifner",
     [](const Model& m, double n) {
       return m.folding(n, m.fold()) + m.halving(n, m.fold()) + m.gather(n);
     }},
    {reduce, "linear", [](const Model& m, double n) { return m.star(n, m.fold()); }},
    {reduce, "in_order",
     [](const Model& m, double n) { return m.tree(n, kBinary, m.fold()) + m.hop(n); }},
    {reduce, "two_level",
     [](const Model& m, double n) { return m.host_by_host().tree(n, kBinary, m.fold()); }},
    {allreduce, "ring",
     [](const Model& m, double n) { return m.ring(n / m.p(), m.fold()) + m.ring(n / m.p(), 0); }},
    {allreduce, "segmented_ring",
     [](const Model& m, double n) {
       return m.segmented_ring(n / m.p(), m.fold()) + m.segmented_ring(n / m.p(), 0);
     }},
    {allreduce, "recursive_doubling",
     [](const Model& m, double n) { return m.folding(n, m.fold()) + m.doubling(n, m.fold()); }},
    {allreduce, "rabenseifner",
     [](const Model& m, double n) {
       return m.folding(n, m.fold()) + m.halving(n, m.fold()) + m.halving(n, 0);
     }},
    {allreduce, "binomial",
     [](const Model& m, double n) { return m.tree(n, kBinary, m.fold()) + m.tree(n, kBinary, 0); }},
    {allreduce, "knomial",
     [](const Model& m, double n) { return m.tree(n, kFour, m.fold()) + m.tree(n, kFour, 0); }},
    {allreduce, "double_tree",
     [](const Model& m, double n) { return m.double_tree(n, m.fold()) + m.double_tree(n, 0); }},
    {allreduce, "linear",
     [](const Model& m, double n) { return m.star(n, m.fold()) + m.star(n, 0); }},
    {allreduce, "two_level",
     [](const Model& m, double n) {
       const Model far = m.leaders();
       return two_level(m, n, far.folding(n, m.fold()) + far.doubling(n, m.fold()));
     }},
    {allreduce, "two_level_ring",
     [](const Model& m, double n) {
       const Model far = m.leaders();
       return two_level(m, n, far.ring(n / far.p(), m.fold()) + far.ring(n / far.p(), 0));
     }},
    {allreduce, "striped",
     [](const Model& m, double n) {
       const Model in = m.inside_host();
       const Model far = m.stripes();  // all stripes of a host share its port: n in all
       return in.all_pairs(n / in.p(), m.fold()) + far.folding(n, 0) + far.halving(n, m.fold()) +
              far.halving(n, 0) + in.ring(n / in.p(), 0);
     }},
    {gather, "binomial", [](const Model& m, double n) { return m.gather(n * m.p()); }},
    {gather, "linear", [](const Model& m, double n) { return m.star(n, 0); }},
    {scatter, "binomial", [](const Model& m, double n) { return m.gather(n * m.p()); }},
    {scatter, "linear", [](const Model& m, double n) { return m.star(n, 0); }},
    {allgather, "ring", [](const Model& m, double n) { return m.ring(n, 0); }},
    {allgather, "neighbour", [](const Model& m, double n) { return m.ring(n, 0); }},
    {allgather, "bruck", [](const Model& m, double n) { return m.dissemination(n, 2, 0); }},
    {allgather, "recursive_doubling",
     [](const Model& m, double n) {
       return m.folding(n * m.p() / 2, 0) + m.far_halving(n * m.p(), 0);
     }},
    {allgather, "linear", [](const Model& m, double n) { return m.all_pairs(n, 0); }},
    {allgather, "two_level",
     [](const Model& m, double n) {
       const Model in = m.inside_host();
       return in.star(n, 0) + m.leaders().ring(n * in.p(), 0) + in.tree(n * m.p(), kBinary, 0);
     }},
    {alltoall, "pairwise", [](const Model& m, double n) { return m.all_pairs(n, 0); }},
    {alltoall, "bruck", [](const Model& m, double n) { return m.bruck_alltoall(n); }},
    {alltoall, "linear", [](const Model& m, double n) { return m.all_pairs(n, 0) * 1.05; }},
    {gatherv, "linear", [](const Model& m, double n) { return m.star(n, 0); }},
    {scatterv, "linear", [](const Model& m, double n) { return m.star(n, 0); }},
    {allgatherv, "ring", [](const Model& m, double n) { return m.ring(n, 0); }},
    {allgatherv, "bruck", [](const Model& m, double n) { return m.dissemination(n, 2, 0); }},
    {allgatherv, "linear", [](const Model& m, double n) { return m.all_pairs(n, 0); }},
    {alltoallv, "pairwise", [](const Model& m, double n) { return m.all_pairs(n, 0); }},
    {alltoallv, "linear", [](const Model& m, double n) { return m.all_pairs(n, 0) * 1.05; }},
    {reduce_scatter, "ring", [](const Model& m, double n) { return m.ring(n, m.fold()); }},
    {reduce_scatter, "recursive_halving",
     [](const Model& m, double n) {
       return m.folding(n * m.p(), m.fold()) + m.far_halving(n * m.p(), m.fold());
     }},
    {reduce_scatter, "pairwise", [](const Model& m, double n) { return m.all_pairs(n, m.fold()); }},
    {reduce_scatter, "linear",
     [](const Model& m, double n) { return m.all_pairs(n, m.fold()) * 1.05; }},
    {scan, "recursive_doubling",
     [](const Model& m, double n) { return m.dissemination(n, 1, m.fold()); }},
    {scan, "linear", [](const Model& m, double n) { return m.chain(n, m.fold()); }},
    {exscan, "recursive_doubling",
     [](const Model& m, double n) { return m.hop(n) + m.dissemination(n, 1, m.fold()); }},
    {exscan, "linear", [](const Model& m, double n) { return m.hop(n) + m.chain(n, m.fold()); }},
};

// By place in the catalogue; made once, so that a prediction costs no search by name.
const std::vector<Formula>& formulas() {
  // Never destroyed: static objects of the program may call MPI until the process has ended.
  static const auto& all = *new const std::vector<Formula>([] {
    std::vector<Formula> found;
    for (const Algorithm& algorithm : coll::catalogue()) {
      const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) {
        return r.collective == algorithm.collective && r.name == algorithm.name;
      });
      TUTTI_CHECK(row != std::end(kRows), "no prediction for " + std::string(algorithm.name));
      found.push_back(row->predict);
    }
    return found;
  }());
  return all;
}

}  // namespace

double predict_us(const Algorithm& algorithm, const Question& question, const TeamFacts& team,
                  std::int64_t segment_bytes) {
  const auto index = static_cast<std::size_t>(&algorithm - coll::catalogue().data());
  return formulas()[index](Model(team, segment_bytes), static_cast<double>(question.bytes));
}

}  // namespace tutti::select
