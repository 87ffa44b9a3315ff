// Binding: which processors each rank may use.
//
// On each host ranks are located in turn on units (cores, or hardware threads when asked for),
// taken in order, or alternating over the objects that the mapping policy names (numa, package,
// l3cache). The rank is then bound to what --bind-to says around its units.
//
// Without --bind-to: to the mapped object or a core, when every host has a core for each of its
// ranks (quota included); a rank alone on its host stays free, because its threads will want
// the other cores; a crowded host binds nothing, because the kernel then balances better.
#include <algorithm>
#include <map>

#include "base/check.h"
#include "plan/plan.h"

namespace tutti::launch {
namespace {

using topo::Machine;
using topo::Thread;
using Units = std::vector<std::vector<Thread>>;  // a unit: the threads of a core, or one thread

Units units_of(const Machine& machine, bool by_thread) {
  Units units;
  for (const Thread& thread : machine.threads) {
    if (by_thread || units.empty() || units.back()[0].core != thread.core) units.emplace_back();
    units.back().push_back(thread);
  }
  return units;
}

int object_of(const Thread& thread, MapBy map_by) {
  switch (map_by) {
    case MapBy::numa:
      return thread.numa;
    case MapBy::package:
      return thread.package;
    case MapBy::l3cache:
      return thread.l3;
    case MapBy::slot:
    case MapBy::node:
    case MapBy::core:
    case MapBy::hwthread:
    case MapBy::l2cache:
    case MapBy::l1cache:
    case MapBy::seq:
    case MapBy::rankfile:
    case MapBy::pe_list:
    case MapBy::gpu:
      return 0;
  }
  return 0;
}

// Hands out units, `each` at a time, from the objects in turn; starts over when all are taken.
class Dealer {
 public:
  Dealer(Units units, MapBy map_by) {
    std::map<int, Units> groups;
    for (auto& unit : units) groups[object_of(unit[0], map_by)].push_back(std::move(unit));
    for (auto& [object, group] : groups) groups_.push_back({std::move(group), 0});
  }

  std::size_t largest() const {
    std::size_t most = 0;
    for (const Group& group : groups_) most = std::max(most, group.units.size());
    return most;
  }

  // Some group must hold `each` units (see largest).
  Units take(std::size_t each) {
    for (;;) {
      for (std::size_t tried = 0; tried < groups_.size(); ++tried) {
        Group& group = groups_[next_];
        next_ = (next_ + 1) % groups_.size();
        if (group.units.size() - group.taken < each) continue;
        const auto begin = group.units.begin() + static_cast<std::ptrdiff_t>(group.taken);
        group.taken += each;
        return Units(begin, begin + static_cast<std::ptrdiff_t>(each));
      }
      ++rounds_;
      next_ = 0;
      for (Group& group : groups_) group.taken = 0;
    }
  }

  int rounds() const { return rounds_; }  // how often all units were taken

 private:
  struct Group {
    Units units;
    std::size_t taken = 0;
  };
  std::vector<Group> groups_;
  std::size_t next_ = 0;
  int rounds_ = 0;
};

// The processors of `target` around the units.
std::vector<int> widen(const Machine& machine, const Units& units, BindTo target, int round) {
  std::vector<int> cpus;
  if (target == BindTo::hwthread) {
    for (const auto& unit : units)
      cpus.push_back(unit[static_cast<std::size_t>(round) % unit.size()].os_index);
  }
  for (const Thread& thread : machine.threads) {
    const bool inside = std::any_of(units.begin(), units.end(), [&](const auto& unit) {
      const Thread& at = unit[0];
      return (target == BindTo::core && thread.core == at.core) ||
             (target == BindTo::l3cache && thread.l3 == at.l3) ||
             (target == BindTo::numa && thread.numa == at.numa) ||
             (target == BindTo::package && thread.package == at.package);
    });
    if (inside) cpus.push_back(thread.os_index);
  }
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

bool counts_threads(const Placement& placement) {
  return placement.use_hwthreads || placement.map_by == MapBy::hwthread;
}

BindTo natural_target(const Placement& placement) {
  switch (placement.map_by) {
    case MapBy::numa:
      return BindTo::numa;
    case MapBy::package:
      return BindTo::package;
    case MapBy::l3cache:
      return BindTo::l3cache;
    default:
      break;
  }
  return counts_threads(placement) ? BindTo::hwthread : BindTo::core;
}

// The first host whose ranks want more processors than it has; -1: none.
int first_crowded(const Plan& plan, const Placement& placement,
                  const std::vector<Machine>& machines) {
  for (std::size_t h = 0; h < plan.hosts.size(); ++h) {
    const int usable = usable_slots(machines[h], placement);
    if (static_cast<long>(plan.hosts[h].local_ranks) * placement.cpus_per_rank > usable)
      return static_cast<int>(h);
  }
  return -1;
}

// Decides the target when the user did not, and says why nothing is bound, when that matters.
BindTo choose_target(Plan& plan, const JobSpec& job, const std::vector<Machine>& machines) {
  const Placement& placement = job.placement;
  if (placement.bind_to != BindTo::unset) return placement.bind_to;
  const BindTo natural = natural_target(placement);
  if (placement.cpus_per_rank > 1) return natural;
  const int crowded = first_crowded(plan, placement, machines);
  if (crowded >= 0) {
    const PlannedHost& host = plan.hosts[static_cast<std::size_t>(crowded)];
    const int usable = machines[static_cast<std::size_t>(crowded)].usable_cores();
    if (job.report_bindings)
      plan.notes.push_back("nothing is bound: host " + host.name + " has " +
                           std::to_string(usable) +
                           (usable == 1 ? " usable core for " : " usable cores for ") +
                           std::to_string(host.local_ranks) + " ranks");
    return BindTo::none;
  }
  const bool several = std::any_of(plan.hosts.begin(), plan.hosts.end(),
                                   [](const PlannedHost& host) { return host.local_ranks > 1; });
  return several ? natural : BindTo::none;
}

Result<void> bind_host(Plan& plan, std::size_t h, const Placement& placement,
                       const Machine& machine) {
  const PlannedHost& host = plan.hosts[h];
  Dealer dealer(units_of(machine, counts_threads(placement)), placement.map_by);
  const auto each = static_cast<std::size_t>(placement.cpus_per_rank);
  if (each > dealer.largest())
    return fail(Code::arg, "host " + host.name + ": " + std::to_string(each) +
                               " processors for each rank were asked for, but at most " +
                               std::to_string(dealer.largest()) + " are there together; lower PE=");
  for (PlannedRank& rank : plan.ranks) {
    if (rank.host != static_cast<int>(h)) continue;
    const Units units = dealer.take(each);
    rank.cpus = widen(machine, units, plan.bind_to, dealer.rounds());
  }
  // Going round on single hardware threads takes the cores' other threads first.
  const bool some_free = plan.bind_to == BindTo::hwthread &&
                         static_cast<std::size_t>(host.local_ranks) <= machine.threads.size();
  if (dealer.rounds() > 0 && !some_free)
    plan.notes.push_back("host " + host.name + ": " + std::to_string(host.local_ranks) +
                         " ranks are bound to " + std::to_string(machine.cores) +
                         (machine.cores == 1 ? " core" : " cores") + ", some to the same");
  return {};
}

}  // namespace

int usable_slots(const Machine& machine, const Placement& placement) {
  return counts_threads(placement) ? machine.usable_threads() : machine.usable_cores();
}

Result<void> bind_ranks(Plan& plan, const JobSpec& job, const std::vector<Machine>& machines) {
  TUTTI_CHECK(machines.size() == plan.hosts.size(), std::to_string(machines.size()) + " machines");
  plan.bind_to = choose_target(plan, job, machines);
  if (plan.bind_to == BindTo::none) return {};
  const bool by_itself = job.placement.bind_to == BindTo::unset && job.placement.cpus_per_rank == 1;
  for (std::size_t h = 0; h < plan.hosts.size(); ++h) {
    if (by_itself && plan.hosts[h].local_ranks == 1) continue;
    TUTTI_DO(bind_host(plan, h, job.placement, machines[h]));
  }
  return {};
}

}  // namespace tutti::launch
