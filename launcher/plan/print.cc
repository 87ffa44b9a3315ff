// The plan as text: for --dry-run and --display map, and the drawing of --report-bindings.
//
//   rank 1 on a: [../BB][../..]   a package in brackets, cores between slashes, one letter a
//                                 hardware thread, B where the rank may run
#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "base/numbers.h"
#include "base/printable.h"
#include "base/text.h"
#include "plan/deal.h"
#include "plan/gpus.h"
#include "plan/plan.h"

namespace tutti::launch::plan {

const char* name_of(cli::MapBy map_by) {
  switch (map_by) {
    case cli::MapBy::slot:
      return "slot";
    case cli::MapBy::node:
      return "node";
    case cli::MapBy::core:
      return "core";
    case cli::MapBy::numa:
      return "numa";
    case cli::MapBy::package:
      return "package";
    case cli::MapBy::hwthread:
      return "hwthread";
    case cli::MapBy::l3cache:
      return "l3cache";
    case cli::MapBy::l2cache:
      return "l2cache";
    case cli::MapBy::l1cache:
      return "l1cache";
    case cli::MapBy::seq:
      return "seq";
    case cli::MapBy::rankfile:
      return "rankfile";
    case cli::MapBy::pe_list:
      return "pe-list";
    case cli::MapBy::gpu:
      return "gpu";
    case cli::MapBy::nic:
      return "nic";
    case cli::MapBy::device:
      return "device";
  }
  return "?";
}

namespace {

// What the plan says about binding, as a clause.
std::string binding_of(const Plan& plan) {
  switch (plan.bind_to) {
    case cli::BindTo::unset:
      return "to be bound when the hosts are known";
    case cli::BindTo::none:
      return "not bound";
    case cli::BindTo::core:
      return "bound to core";
    case cli::BindTo::hwthread:
      return "bound to hwthread";
    case cli::BindTo::numa:
      return "bound to numa";
    case cli::BindTo::package:
      return "bound to package";
    case cli::BindTo::l3cache:
      return "bound to l3cache";
    case cli::BindTo::l2cache:
      return "bound to l2cache";
    case cli::BindTo::l1cache:
      return "bound to l1cache";
  }
  return "?";
}

using text::counted;
using text::ranges;

std::string draw(const topo::Machine& machine, const std::vector<int>& cpus) {
  std::string text;
  const topo::Thread* before = nullptr;
  for (const topo::Thread& thread : machine.threads) {
    if (before == nullptr || before->package != thread.package)
      text += before == nullptr ? "[" : "][";
    else if (before->core != thread.core)
      text += "/";
    text += std::find(cpus.begin(), cpus.end(), thread.os_index) != cpus.end() ? 'B' : '.';
    before = &thread;
  }
  return text + "]";
}

// "GPU cuda0 (0000:17:00.0) near cpus 0-3"
std::string told(const topo::PciDevice& device) {
  const std::string& bus = device.names.back();
  std::string names;
  for (const std::string& name : device.names)
    if (name != bus) names += (names.empty() ? "" : ", ") + name;
  std::string text = device.kind == topo::PciDevice::Kind::gpu ? "GPU " : "network card ";
  text += tutti::text::printable(names.empty() ? bus : names + " (" + bus + ")");  // a host's words
  return text + (device.near.empty() ? ", no allowed processor near"
                                     : " near cpus " + ranges(device.near));
}

// As CUDA_VISIBLE_DEVICES calls them on their host, so as the ranks will see them (rank_env.cc).
std::string numbers_of(const std::vector<int>& gpus, const topo::Machine& machine) {
  if (machine.visible_gpus.empty()) return ranges(gpus);
  const auto all = tutti::text::split(machine.visible_gpus, ',');
  std::string names;
  for (const int gpu : gpus)
    names += (names.empty() ? "" : ",") +
             tutti::text::printable(all[static_cast<std::size_t>(gpu) % all.size()]);
  return names;
}

// What the daemon gives a rank of a host whose GPUs nobody knows: ", GPUs 2-3 (by local rank)"
std::string gpus_by_number(const Plan& plan, const PlannedRank& rank,
                           const topo::Machine& machine) {
  std::vector<int> numbers;
  for (int i = 0; i < plan.own_gpus; ++i) numbers.push_back(rank.local_rank * plan.own_gpus + i);
  if (numbers.empty()) return "";
  return ", " + text::plural(numbers.size(), "GPU") + " " + numbers_of(numbers, machine) +
         " (by local rank)";
}

// One without a value is prun's own.
bool is_there(const cli::EnvChange& change) {
  return change.unset || change.value || std::getenv(change.name.c_str()) != nullptr;
}

// Where the user says by -x which GPUs the program sees, that has the last word (rank_env.cc):
// ", CUDA_VISIBLE_DEVICES=7 as given"
std::string gpus_given(const cli::AppSpec& app) {
  std::string text;
  for (const cli::EnvChange& change : app.environment)
    if (change.name == "CUDA_VISIBLE_DEVICES" && is_there(change))
      text = ", " + change.name +
             (change.value && change.join == 0 ? "=" + tutti::text::printable(*change.value)
              : change.unset                   ? " unset"
                                               : "") +
             " as given";
  return text;
}

// ", GPUs 0,1 (0000:41:00.0, 0000:85:00.0)"
std::string gpus_told(const Plan& plan, const cli::JobSpec& job, const PlannedRank& rank,
                      const topo::Machine& machine) {
  if (plan.own_gpus > 0)
    if (std::string given = gpus_given(job.apps[static_cast<std::size_t>(rank.app)]);
        !given.empty())
      return given;
  if (plan.own_gpus > 0 && machine.hides_gpus) return ", no GPU (" + what_hides_gpus(machine) + ")";
  if (rank.gpus.empty()) return gpus_by_number(plan, rank, machine);
  std::vector<std::string> buses;
  for (const topo::PciDevice& device : machine.devices)
    if (device.kind == topo::PciDevice::Kind::gpu)
      buses.push_back(tutti::text::printable(device.names.back()));
  std::string text = (plan.own_gpus > 0 ? ", " : ", near ") +
                     text::plural(rank.gpus.size(), "GPU") + " " + numbers_of(rank.gpus, machine) +
                     " (";
  for (std::size_t i = 0; i < rank.gpus.size(); ++i)
    text += (i == 0 ? "" : ", ") + buses.at(static_cast<std::size_t>(rank.gpus[i]));
  return text + ")";
}

}  // namespace

std::string print_allocation(const hosts::Allocation& allocation) {
  std::string text = "allocation: " + counted(allocation.hosts.size(), "host") + "\n";
  for (const hosts::HostSlots& host : allocation.hosts) {
    text += "host " + host.name + ": " + counted(host.slots, "slot");
    if (host.max_slots > 0) text += ", at most " + std::to_string(host.max_slots);
    text += ", by " + tutti::text::printable(host.source) + "\n";
  }
  return text;
}

std::string print_plan(const Plan& plan, const cli::JobSpec& job) {
  std::string text = "plan: " + counted(plan.ranks.size(), "rank") + " on " +
                     counted(plan.hosts.size(), "host") + ", mapped by " +
                     name_of(job.placement.map_by) + ", " + binding_of(plan) + "\n";
  for (std::size_t h = 0; h < plan.hosts.size(); ++h) {
    const PlannedHost& host = plan.hosts[h];
    text += "host " + host.name + ": " + counted(host.local_ranks, "rank") + ", " +
            counted(host.slots, "slot") + "\n";
    for (const PlannedRank& rank : plan.ranks) {
      if (rank.host != static_cast<int>(h)) continue;
      const cli::AppSpec& app = job.apps[static_cast<std::size_t>(rank.app)];
      text += "  rank " + std::to_string(rank.rank) + "  local " + std::to_string(rank.local_rank) +
              (rank.cpus.empty() ? "" : "  cpus " + ranges(rank.cpus)) + "  " +
              tutti::text::printable(app.argv[0]) + "\n";
    }
  }
  for (const std::string& note : plan.notes) text += "note: " + note + "\n";
  return text;
}

Result<std::string> dry_run(Plan plan, const cli::JobSpec& job, const topo::Machine* here) {
  if (here == nullptr) return print_plan(plan, job);
  const std::vector<topo::Machine> machines{*here};
  TUTTI_DO(bind_ranks(plan, job, machines));
  return print_plan(plan, job) + (job.display_topo ? print_topology(plan, machines) : "") +
         (job.report_bindings ? print_bindings(plan, job, machines) : "");
}

// Packages in brackets, cores between slashes, a dot for each hardware thread.
std::string print_topology(const Plan& plan, const std::vector<topo::Machine>& machines) {
  std::string text;
  for (std::size_t h = 0; h < plan.hosts.size() && h < machines.size(); ++h) {
    const topo::Machine& machine = machines[h];
    const auto count = [&machine](cli::MapBy what) {
      return static_cast<std::size_t>(objects_of(machine, what));
    };
    text += "host " + plan.hosts[h].name + ": " + counted(count(cli::MapBy::package), "package") +
            ", " + counted(count(cli::MapBy::numa), "NUMA node") + ", " +
            counted(count(cli::MapBy::l3cache), "L3 cache") + ", " +
            counted(machine.cores, "core") + ", " +
            counted(machine.threads.size(), "hardware thread");
    if (machine.cpu_quota > 0)
      text += ", a quota of " + std::to_string(machine.usable_cores()) + " processors";
    text += "\n  " + draw(machine, {}) + "\n";
    for (const topo::PciDevice& device : machine.devices) text += "  " + told(device) + "\n";
  }
  return text;
}

std::string print_bindings(const Plan& plan, const cli::JobSpec& job,
                           const std::vector<topo::Machine>& machines) {
  TUTTI_CHECK(machines.size() == plan.hosts.size(), std::to_string(machines.size()) + " machines");
  std::string text;
  for (const PlannedRank& rank : plan.ranks) {
    const auto h = static_cast<std::size_t>(rank.host);
    text += "rank " + std::to_string(rank.rank) + " on " + plan.hosts[h].name + ": " +
            (rank.cpus.empty() ? "not bound"
                               : draw(machines[h], rank.cpus) + " cpus " + ranges(rank.cpus)) +
            gpus_told(plan, job, rank, machines[h]) + "\n";
  }
  return text;
}

}  // namespace tutti::launch::plan
