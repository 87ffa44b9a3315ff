// The cases of the sweep.
#include "cases.h"

#include <algorithm>
#include <numeric>

namespace tutti::schedule_tests {
namespace {

using coll::Algorithm;
using coll::Collective;
using coll::Count;
using coll::RankCall;
using enum Collective;

bool is_one_of(Collective c, std::initializer_list<Collective> list) {
  return std::find(list.begin(), list.end(), c) != list.end();
}
bool has_root(Collective c) {
  return is_one_of(c, {bcast, reduce, gather, scatter, gatherv, scatterv});
}
bool has_counts(Collective c) {
  return is_one_of(c, {gatherv, scatterv, allgatherv, alltoallv, reduce_scatter});
}
bool may_be_in_place(Collective c) {
  return !is_one_of(c, {barrier, bcast, alltoall, alltoallv, reduce_scatter});
}
bool has_one_block_a_rank(Collective c) {
  return is_one_of(c, {gather, scatter, allgather, alltoall});
}

std::vector<int> roots(Collective c, int p, bool thorough) {
  if (!has_root(c)) return {0};
  std::vector<int> all;
  for (int root = 0; root < p; ++root)
    if (root == 0 || root == 1 || root == p / 2 || root == p - 1 || (thorough && p <= 17))
      all.push_back(root);
  return all;
}

// Length of the vector, or of each block.
std::vector<Count> lengths(Collective c, int p) {
  if (c == barrier || has_counts(c)) return {0};
  if (has_one_block_a_rank(c)) return {0, 1, 3};
  std::vector<Count> all{0, 1, p - 1, p, 2 * p + 3};
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<std::vector<Count>> count_lists(Collective c, int p) {
  if (!has_counts(c)) return {{}};
  const auto n = static_cast<std::size_t>(c == alltoallv ? p * p : p);
  std::vector<std::vector<Count>> lists(4, std::vector<Count>(n, 0));
  for (std::size_t i = 0; i < n; ++i) {
    lists[0][i] = 2;
    lists[1][i] = static_cast<Count>((i * 7 + 3) % 5);  // uneven, some empty
    lists[2][i] = i == n / 2 ? 5 : 0;                   // all in one place
  }
  return lists;  // and one of nothing at all
}

std::vector<std::vector<int>> layouts(const Algorithm& algorithm, int p, bool thorough) {
  if (!algorithm.needs_hosts) return {{}};
  std::vector<std::vector<int>> all;
  std::mt19937 random(static_cast<unsigned>(p));
  const auto add = [&](auto host_of) {
    std::vector<int> hosts;
    for (int rank = 0; rank < p; ++rank) hosts.push_back(host_of(rank));
    if (std::find(all.begin(), all.end(), hosts) == all.end()) all.push_back(hosts);
  };
  add([](int) { return 0; });
  add([](int rank) { return rank / 2; });
  add([](int rank) { return rank % 3; });
  if (!thorough) return all;
  add([](int rank) { return rank; });
  add([](int rank) { return rank / 5; });
  add([](int rank) { return rank == 0 ? 7 : 1; });
  add([&](int) { return static_cast<int>(random() % 4); });
  return all;
}

RankCall call_of(const Case& c, int rank) {
  RankCall call;
  call.collective = c.algorithm->collective;
  call.rank = rank;
  call.size = c.size;
  call.root = c.root;
  call.count = c.count;
  call.commutative = c.algorithm->needs_commutative;  // else rank order is demanded
  call.segment = c.segment;
  call.host_of = c.host_of;
  const bool only_root = is_one_of(call.collective, {reduce, gather, scatter, gatherv, scatterv});
  call.in_place = c.in_place && (!only_root || rank == c.root);
  return call;
}

}  // namespace

std::string text_of(const Case& c) {
  std::string text = std::string(coll::name_of(c.algorithm->collective)) + "/" + c.algorithm->name +
                     " p=" + std::to_string(c.size) + " root=" + std::to_string(c.root) +
                     " count=" + std::to_string(c.count) + " segment=" + std::to_string(c.segment) +
                     (c.in_place ? " in place" : "");
  const auto list = [&](const char* name, const auto& values) {
    if (values.empty()) return;
    text += name;
    for (const auto value : values) text += " " + std::to_string(value);
  };
  list(" counts", c.counts);
  list(" hosts", c.host_of);
  return text;
}

Result<Built> build(const Case& c) {
  Built built;
  const auto p = static_cast<std::size_t>(c.size);
  for (std::size_t rank = 0; rank < p; ++rank) {
    RankCall call = call_of(c, static_cast<int>(rank));
    std::vector<Count> column;
    if (call.collective == alltoallv) {
      for (std::size_t from = 0; from < p; ++from) column.push_back(c.counts[from * p + rank]);
      call.send_counts = std::span(c.counts).subspan(rank * p, p);
      call.counts = column;
    } else if (has_counts(call.collective)) {
      // Beside the root of gatherv and scatterv the counts are not known.
      const bool knows = !is_one_of(call.collective, {gatherv, scatterv}) || call.rank == call.root;
      call.count = c.counts[rank];
      if (knows) call.counts = c.counts;
    }
    TUTTI_TRY(schedule, coll::build(*c.algorithm, call));
    built.schedules.push_back(std::move(schedule));
    built.contracts.push_back(coll::contract(call));
  }
  return built;
}

std::vector<Case> cases(const Algorithm& algorithm, int size, bool thorough) {
  const Collective c = algorithm.collective;
  std::vector<Case> all;
  for (const int root : roots(c, size, thorough))
    for (const auto& hosts : layouts(algorithm, size, thorough))
      for (const auto& counts : count_lists(c, size))
        for (const Count count : lengths(c, size))
          for (const Count segment :
               algorithm.takes_segments ? std::vector<Count>{0, 1, 4} : std::vector<Count>{0})
            for (const bool in_place : {false, true}) {
              if (in_place && !may_be_in_place(c)) continue;
              all.push_back({&algorithm, size, root, count, segment, in_place, counts, hosts});
            }
  return all;
}

}  // namespace tutti::schedule_tests
