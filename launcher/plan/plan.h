// plan: JobSpec + Allocation + Machines -> Plan. Pure; printed by --dry-run.
//
// Three questions, three files: map.cc (which host), rank.cc (which number), bind.cc (which
// processors). The Plan is a value, computed once at the head and shipped to every daemon.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/cli.h"
#include "hosts/hosts.h"
#include "topo/topo.h"

namespace tutti::launch::plan {

struct PlannedRank {
  int rank = 0;
  int app = 0;
  int host = 0;  // index into Plan::hosts
  int local_rank = 0;
  std::vector<int> cpus;     // OS indices; empty: not bound
  std::vector<int> nodes{};  // NUMA nodes for its memory; empty: not bound
  std::string slot{};        // of a rankfile: cores by number; empty: any
  // GPUs of its host that it sees (--gpus-per-rank), or is mapped near; empty: none in particular.
  std::vector<int> gpus{};
};

struct PlannedHost {
  std::string name;
  int slots = 1;
  int local_ranks = 0;
};

struct Plan {
  std::vector<PlannedHost> hosts;            // only those with ranks
  std::vector<PlannedRank> ranks;            // by rank
  cli::BindTo bind_to = cli::BindTo::unset;  // until bind_ranks decides
  int own_gpus = 0;                // that each rank sees alone; 0: it is only near those it has
  std::vector<std::string> notes;  // one-line remarks for the user (more ranks than cores)
};

// Two steps, because binding needs each machine and mapping (by slot, node) does not:
// daemons report their machine first, then get their part of the plan.
// `like`: the machine that hosts are taken to be like, where a policy counts objects inside them
// (ppr:N:numa, SPAN); bind_ranks then says where they are not.
Result<Plan> map_ranks(const cli::JobSpec& job, const hosts::Allocation& allocation,
                       const topo::Machine* like = nullptr);
// Whether the ranks that --stdin and --output-from name are there.
Result<void> check_streams(const cli::JobSpec& job, const Plan& plan);
// The hosts of a plan that are one machine: two names of it, or virtual hosts on the same
// processors.
struct SharedMachine {
  std::vector<std::size_t> hosts;  // indices into Plan::hosts
  topo::Machine machine;           // with the processors of all of them
  int ranks = 0;                   // of all of them
  bool is_alike = true;            // each of these hosts has all of these processors
};
// machines[i] belongs to plan.hosts[i]. Each host is in one of them.
std::vector<SharedMachine> shared_machines(const Plan& plan,
                                           const std::vector<topo::Machine>& machines);

// machines[i] belongs to plan.hosts[i].
Result<void> bind_ranks(Plan& plan, const cli::JobSpec& job,
                        const std::vector<topo::Machine>& machines);

// What each program of a job says of hosts.
std::vector<hosts::HostWishes> wishes_of(const cli::JobSpec& job);

// Whether GPUs and network cards of the machines must be known.
bool wants_devices(const cli::JobSpec& job);

// Slots of a machine that was given none: its cores, or threads where those are asked for.
int usable_slots(const topo::Machine& machine, const cli::Placement& placement);

// What --cpu-set leaves of a machine.
Result<topo::Machine> restricted(const topo::Machine& machine, const cli::Placement& placement);

// What --dry-run prints. `here`: the machine, when the job runs on this one alone; else null.
Result<std::string> dry_run(Plan plan, const cli::JobSpec& job, const topo::Machine* here);
std::string print_allocation(const hosts::Allocation& allocation);
std::string print_plan(const Plan& plan, const cli::JobSpec& job);
std::string print_topology(const Plan& plan, const std::vector<topo::Machine>& machines);
std::string print_bindings(const Plan& plan, const cli::JobSpec& job,
                           const std::vector<topo::Machine>& machines);

}  // namespace tutti::launch::plan
