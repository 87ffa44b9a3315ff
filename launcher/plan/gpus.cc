// With -g N the k-th turn has GPUs kN to kN + N - 1. Which turn a rank has follows from its
// mapping, else from its number on the machine.
#include "plan/gpus.h"

#include <algorithm>

#include "base/numbers.h"
#include "base/printable.h"
#include "plan/deal.h"
#include "plan/near.h"

namespace tutti::launch::plan {
namespace {

std::string hosts_of(const Plan& plan, const SharedMachine& shared) {
  std::string names = "host " + plan.hosts[shared.hosts.front()].name;
  for (std::size_t i = 1; i < shared.hosts.size(); ++i)
    names += ", " + plan.hosts[shared.hosts[i]].name;
  return names;
}

// Whose turn each rank of the machine is.
std::vector<int> turns_of(const SharedMachine& shared, const cli::Placement& placement) {
  if (placement.map_by == cli::MapBy::gpu)
    if (const auto dealt = deal(shared.machine, placement, shared.ranks)) return dealt->turns;
  std::vector<int> turns(static_cast<std::size_t>(shared.ranks));
  for (std::size_t i = 0; i < turns.size(); ++i) turns[i] = static_cast<int>(i);
  return turns;
}

}  // namespace

std::string what_hides_gpus(const topo::Machine& machine) {
  const std::string& named = machine.visible_gpus;
  return "CUDA_VISIBLE_DEVICES is " + (named.empty() ? "empty" : text::printable(named));
}

Result<void> assign_gpus(Plan& plan, const cli::Placement& placement,
                         const std::vector<SharedMachine>& machines) {
  if (placement.gpus_per_rank == 0 && placement.map_by != cli::MapBy::gpu) return {};
  plan.own_gpus = placement.gpus_per_rank;
  for (PlannedRank& rank : plan.ranks) rank.gpus.clear();  // of the round before
  const int each = std::max(1, placement.gpus_per_rank);
  for (const SharedMachine& shared : machines) {
    const std::string name = hosts_of(plan, shared);
    if (placement.gpus_per_rank > 0 && shared.machine.hides_gpus) {
      plan.notes.push_back(name + ": " + what_hides_gpus(shared.machine) +
                           ", which hides all GPUs; --gpus-per-rank changes nothing (unset the "
                           "variable to share them out)");
      continue;
    }
    const int all = devices_of(shared.machine, cli::MapBy::gpu);
    if (all == 0) continue;
    const std::string has = name + " has " + text::counted(all, "GPU");
    if (each > all)
      return fail(Code::arg, has + ", and " + std::to_string(each) +
                                 " were asked for each rank: lower --gpus-per-rank");
    const int shares = all / each;
    if (placement.gpus_per_rank > 0 && shared.ranks > shares)
      plan.notes.push_back(has + " for " + std::to_string(shared.ranks) + " ranks with " +
                           std::to_string(each) + " each: some have the same");
    const std::vector<int> turns = turns_of(shared, placement);
    std::size_t number = 0;
    for (const std::size_t h : shared.hosts)
      for (PlannedRank& rank : plan.ranks) {
        if (rank.host != static_cast<int>(h)) continue;
        const int first = turns[number++] % shares * each;
        for (int i = 0; i < each; ++i) rank.gpus.push_back(first + i);
      }
  }
  return {};
}

}  // namespace tutti::launch::plan
