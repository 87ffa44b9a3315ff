// Binding: which processors each rank may use.
//
// On each host ranks are located in turn on units (cores, or hardware threads when asked for;
// see deal.cc), and bound to what --bind-to says around their units. A rankfile names the units.
//
// Without --bind-to: to the mapped object or a core, when every host has a core for each of its
// ranks (quota included); a rank alone on its host stays free, because its threads will want
// the other cores; an oversubscribed host binds nothing, because the kernel then balances better.
#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/numbers.h"
#include "plan/deal.h"
#include "plan/gpus.h"
#include "plan/near.h"
#include "plan/plan.h"

namespace tutti::launch::plan {
namespace {

using topo::Machine;
using topo::Thread;

bool is_around(const Thread& thread, const Thread& at, cli::BindTo target) {
  switch (target) {
    case cli::BindTo::core:
      return thread.core == at.core;
    case cli::BindTo::l1cache:
      return thread.l1 == at.l1;
    case cli::BindTo::l2cache:
      return thread.l2 == at.l2;
    case cli::BindTo::l3cache:
      return thread.l3 == at.l3;
    case cli::BindTo::numa:
      return thread.numa == at.numa;
    case cli::BindTo::package:
      return thread.package == at.package;
    default:
      return false;
  }
}

// The processors of `target` around the units.
std::vector<int> widen(const Machine& machine, const Units& units, cli::BindTo target, int round) {
  std::vector<int> cpus;
  if (target == cli::BindTo::hwthread) {
    for (const auto& unit : units)
      cpus.push_back(unit[static_cast<std::size_t>(round) % unit.size()].os_index);
  }
  for (const Thread& thread : machine.threads)
    if (std::any_of(units.begin(), units.end(),
                    [&](const Unit& unit) { return is_around(thread, unit[0], target); }))
      cpus.push_back(thread.os_index);
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

cli::BindTo natural_target(const cli::Placement& placement) {
  // Processors counted for each rank are its own, not the object around them.
  if (placement.cpus_per_rank > 1)
    return counts_threads(placement) ? cli::BindTo::hwthread : cli::BindTo::core;
  // Libraries for GPUs have threads of their own (NCCL's, ours for streams), while the program
  // spins in the driver: on one core a call takes them slices of time, milliseconds (docs/gpu.md).
  const bool is_by_host =
      placement.map_by == cli::MapBy::slot || placement.map_by == cli::MapBy::node;
  if (placement.gpus_per_rank > 0 && is_by_host) return cli::BindTo::numa;
  switch (placement.map_by) {
    case cli::MapBy::numa:
    case cli::MapBy::gpu:
    case cli::MapBy::nic:
    case cli::MapBy::device:
      return cli::BindTo::numa;
    case cli::MapBy::package:
      return cli::BindTo::package;
    case cli::MapBy::l3cache:
      return cli::BindTo::l3cache;
    case cli::MapBy::l2cache:
      return cli::BindTo::l2cache;
    case cli::MapBy::l1cache:
      return cli::BindTo::l1cache;
    default:
      break;
  }
  return counts_threads(placement) ? cli::BindTo::hwthread : cli::BindTo::core;
}

bool has_processor(const Machine& machine, int os_index) {
  return std::any_of(machine.threads.begin(), machine.threads.end(),
                     [os_index](const Thread& thread) { return thread.os_index == os_index; });
}

bool is_same_machine(const Machine& one, const Machine& other) {
  return !one.boot_id.empty() && one.boot_id == other.boot_id &&
         std::any_of(one.threads.begin(), one.threads.end(), [&other](const Thread& thread) {
           return has_processor(other, thread.os_index);
         });
}

void add_processors(SharedMachine& to, const Machine& from) {
  const std::size_t before = to.machine.threads.size();
  for (const Thread& thread : from.threads)
    if (!has_processor(to.machine, thread.os_index)) to.machine.threads.push_back(thread);
  to.is_alike = to.is_alike && to.machine.threads.size() == before && from.threads.size() == before;
  std::set<int> cores;
  for (const Thread& thread : to.machine.threads) cores.insert(thread.core);
  to.machine.cores = static_cast<int>(cores.size());
}

// "host a", "hosts a and b (one machine)"
std::string names_of(const Plan& plan, const SharedMachine& shared) {
  std::string names = plan.hosts[shared.hosts.front()].name;
  if (shared.hosts.size() == 1) return "host " + names;
  for (std::size_t i = 1; i < shared.hosts.size(); ++i)
    names += (i + 1 == shared.hosts.size() ? " and " : ", ") + plan.hosts[shared.hosts[i]].name;
  return "hosts " + names + " (one machine)";
}

// Whether its ranks want more processors than it has.
bool is_oversubscribed(const SharedMachine& shared, const cli::Placement& placement) {
  return static_cast<long>(shared.ranks) * placement.cpus_per_rank >
         usable_slots(shared.machine, placement);
}

// The user said where ranks go: nothing about it is ours to decide.
bool is_explicit(const cli::Placement& placement) {
  return (placement.cpus_per_rank > 1 && !placement.cpus_by_batch) ||
         placement.map_by == cli::MapBy::pe_list || placement.map_by == cli::MapBy::rankfile;
}

// A batch system counts a rank's processors in hardware threads: as many cores as they take, or,
// where the ranks of a machine do not all get as many, one.
cli::Placement in_cores(cli::Placement placement, const std::vector<SharedMachine>& machines) {
  if (!placement.cpus_by_batch || counts_threads(placement)) return placement;
  const int threads = placement.cpus_per_rank;
  placement.cpus_per_rank = 1;
  for (const SharedMachine& shared : machines) {
    const int cores = std::max(1, shared.machine.cores);
    const int of_core = std::max(1, static_cast<int>(shared.machine.threads.size()) / cores);
    placement.cpus_per_rank = std::max(placement.cpus_per_rank, (threads + of_core - 1) / of_core);
  }
  if (std::any_of(machines.begin(), machines.end(), [&](const SharedMachine& shared) {
        return is_oversubscribed(shared, placement);
      }))
    placement.cpus_per_rank = 1;
  return placement;
}

// Decides the target when the user did not, and says why nothing is bound, when that matters.
cli::BindTo choose_target(Plan& plan, const cli::JobSpec& job, const cli::Placement& placement,
                          const std::vector<SharedMachine>& machines) {
  if (placement.bind_to != cli::BindTo::unset) return placement.bind_to;
  const cli::BindTo natural = natural_target(placement);
  if (is_explicit(placement)) return natural;
  for (const SharedMachine& shared : machines) {
    if (!is_oversubscribed(shared, placement)) continue;
    const int usable = shared.machine.usable_cores();
    if (job.report_bindings)
      plan.notes.push_back("nothing is bound: " + names_of(plan, shared) +
                           (shared.hosts.size() == 1 ? " has " : " have ") +
                           text::counted(usable, "usable core") + " for " +
                           std::to_string(shared.ranks) + " ranks");
    return cli::BindTo::none;
  }
  const bool several = std::any_of(machines.begin(), machines.end(),
                                   [](const SharedMachine& shared) { return shared.ranks > 1; });
  return several ? natural : cli::BindTo::none;
}

// All ranks of a machine, by whichever of its names they were placed.
Result<void> bind_machine(Plan& plan, const SharedMachine& shared,
                          const cli::Placement& placement) {
  const Machine& machine = shared.machine;
  const std::string name = names_of(plan, shared);
  if (!shared.is_alike) {
    plan.notes.push_back(name + " share some processors and are not bound");
    return {};
  }
  auto dealt = deal(machine, placement, shared.ranks);
  if (!dealt && placement.bind_to_max) {
    plan.notes.push_back(name + " is not bound: " + dealt.error().text);
    return {};
  }
  if (!dealt) return fail(dealt.error().code, name + ": " + dealt.error().text);
  int number = 0;
  const auto units = units_of(machine, counts_threads(placement)).size();
  for (const std::size_t h : shared.hosts)
    for (PlannedRank& rank : plan.ranks) {
      if (rank.host != static_cast<int>(h)) continue;
      // Going round on single hardware threads takes the cores' other threads first.
      const int round =
          number * placement.cpus_per_rank / static_cast<int>(std::max<std::size_t>(1, units));
      rank.cpus =
          widen(machine, dealt->units[static_cast<std::size_t>(number++)], plan.bind_to, round);
    }
  const bool some_free = plan.bind_to == cli::BindTo::hwthread &&
                         static_cast<std::size_t>(shared.ranks) <= machine.threads.size();
  if (dealt->rounds > 0 && !some_free)
    plan.notes.push_back(name + ": " + std::to_string(shared.ranks) + " ranks are bound to " +
                         text::counted(machine.cores, "core") + ", some to the same");
  return {};
}

Result<void> bind_by_file(Plan& plan, const cli::Placement& placement,
                          const std::vector<Machine>& machines) {
  for (PlannedRank& rank : plan.ranks) {
    if (rank.slot.empty()) continue;
    const auto h = static_cast<std::size_t>(rank.host);
    auto units = units_named(machines[h], rank.slot, counts_threads(placement));
    if (!units)
      return fail(Code::arg, "rankfile: rank " + std::to_string(rank.rank) + " on host " +
                                 plan.hosts[h].name + ": " + units.error().text);
    rank.cpus = widen(machines[h], *units, plan.bind_to, 0);
  }
  return {};
}

// ppr counted objects before the hosts were known.
Result<void> check_objects(const Plan& plan, const cli::Placement& placement,
                           const std::vector<Machine>& machines) {
  if (placement.ranks_per_object == 0) return {};
  for (std::size_t h = 0; h < plan.hosts.size(); ++h) {
    const int objects = objects_of(machines[h], placement.per_object);
    if (plan.hosts[h].local_ranks <= objects * placement.ranks_per_object) continue;
    return fail(Code::arg, "host " + plan.hosts[h].name + " has " +
                               text::counted(objects, name_of(placement.per_object)) + " for " +
                               std::to_string(plan.hosts[h].local_ranks) +
                               " ranks, which were counted on this machine: give -np, or use "
                               "ppr:N:node");
  }
  return {};
}

// Without GPUs or cards ranks go by NUMA nodes, which is told; a named device must be there.
Result<void> check_devices(Plan& plan, const cli::Placement& placement,
                           const std::vector<Machine>& machines) {
  if (!is_by_device(placement.map_by)) return {};
  for (std::size_t h = 0; h < plan.hosts.size(); ++h) {
    const std::string host = "host " + plan.hosts[h].name;
    if (const auto groups = near_groups(machines[h], placement); !groups)
      return fail(groups.error().code, host + ": " + groups.error().text);
    if (const std::string without = without_devices(machines[h], placement); !without.empty())
      plan.notes.push_back(host + " " + without);
  }
  return {};
}

void bind_memory(Plan& plan, const std::vector<Machine>& machines) {
  for (PlannedRank& rank : plan.ranks) {
    std::set<int> nodes;
    for (const Thread& thread : machines[static_cast<std::size_t>(rank.host)].threads)
      if (std::find(rank.cpus.begin(), rank.cpus.end(), thread.os_index) != rank.cpus.end())
        nodes.insert(thread.numa);
    rank.nodes.assign(nodes.begin(), nodes.end());
  }
}

}  // namespace

std::vector<SharedMachine> shared_machines(const Plan& plan, const std::vector<Machine>& machines) {
  std::vector<SharedMachine> all;
  for (std::size_t h = 0; h < plan.hosts.size(); ++h) {
    auto known = std::find_if(all.begin(), all.end(), [&](const SharedMachine& one) {
      return is_same_machine(one.machine, machines[h]);
    });
    if (known == all.end())
      known = all.insert(all.end(), SharedMachine{{}, machines[h]});
    else
      add_processors(*known, machines[h]);
    known->hosts.push_back(h);
    known->ranks += plan.hosts[h].local_ranks;
  }
  return all;
}

bool wants_devices(const cli::JobSpec& job) {
  return job.display_topo || is_by_device(job.placement.map_by) || job.placement.gpus_per_rank > 0;
}

int usable_slots(const Machine& machine, const cli::Placement& placement) {
  return counts_threads(placement) ? machine.usable_threads() : machine.usable_cores();
}

Result<Machine> restricted(const Machine& machine, const cli::Placement& placement) {
  if (placement.cpu_set.empty() || placement.map_by == cli::MapBy::pe_list) return machine;
  TUTTI_TRY(units, units_named(machine, placement.cpu_set, counts_threads(placement)));
  Machine part = machine;
  std::set<int> cores;
  std::set<int> kept;
  for (const Unit& unit : units)
    for (const Thread& thread : unit) kept.insert(thread.os_index);
  for (topo::PciDevice& device : part.devices)
    std::erase_if(device.near, [&](int cpu) { return kept.count(cpu) == 0; });
  std::erase_if(part.threads,
                [&](const Thread& thread) { return kept.count(thread.os_index) == 0; });
  for (const Thread& thread : part.threads) cores.insert(thread.core);
  part.cores = static_cast<int>(cores.size());
  return part;
}

Result<void> bind_ranks(Plan& plan, const cli::JobSpec& job, const std::vector<Machine>& all) {
  TUTTI_CHECK(all.size() == plan.hosts.size(), std::to_string(all.size()) + " machines");
  cli::Placement placement = job.placement;
  std::vector<Machine> machines;
  for (std::size_t h = 0; h < all.size(); ++h) {
    auto part = restricted(all[h], placement);
    if (!part)
      return fail(Code::arg, "host " + plan.hosts[h].name + ": --cpu-set " + part.error().text);
    machines.push_back(std::move(*part));
  }
  TUTTI_DO(check_objects(plan, placement, machines));
  TUTTI_DO(check_devices(plan, placement, machines));
  const std::vector<SharedMachine> shared = shared_machines(plan, machines);
  TUTTI_DO(assign_gpus(plan, placement, shared));
  placement = in_cores(placement, shared);
  plan.bind_to = choose_target(plan, job, placement, shared);
  if (plan.bind_to == cli::BindTo::none && !placement.cpu_set.empty() &&
      placement.map_by != cli::MapBy::pe_list) {
    // Not bound one by one, but all of them to the set.
    for (PlannedRank& rank : plan.ranks)
      for (const Thread& thread : machines[static_cast<std::size_t>(rank.host)].threads)
        rank.cpus.push_back(thread.os_index);
    for (PlannedRank& rank : plan.ranks) std::sort(rank.cpus.begin(), rank.cpus.end());
    return {};
  }
  if (plan.bind_to == cli::BindTo::none) return {};
  if (placement.map_by == cli::MapBy::rankfile) {
    TUTTI_DO(bind_by_file(plan, placement, machines));
  } else {
    const bool by_itself = placement.bind_to == cli::BindTo::unset && !is_explicit(placement);
    for (const SharedMachine& one : shared) {
      if (by_itself && one.ranks == 1 && placement.cpu_set.empty()) continue;
      TUTTI_DO(bind_machine(plan, one, placement));
    }
  }
  if (placement.bind_memory) bind_memory(plan, machines);
  return {};
}

}  // namespace tutti::launch::plan
