// Building the Launch message.
#include "job/parts.h"

#include <algorithm>

#include "base/knobs.h"

namespace tutti::launch {
namespace {

std::string_view name_of(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

const std::string* find(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment)
    if (name_of(entry) == name && entry.size() > name.size()) return &entry;
  return nullptr;
}

// Knobs of prun's environment: hosts that are reached by network do not inherit them.
std::vector<Variable> travelling_knobs(const std::vector<std::string>& environment) {
  std::vector<Variable> all;
  for (const KnobRow& row : Knobs::rows())
    if (const std::string* entry = find(environment, row.name))
      all.push_back({row.name, entry->substr(std::string_view(row.name).size() + 1), false});
  return all;
}

AppPart app_part(const AppSpec& app, const std::string& directory,
                 const std::vector<std::string>& environment) {
  AppPart part;
  part.argv = app.argv;
  part.directory_required = !app.working_directory.empty();
  part.working_directory = part.directory_required ? app.working_directory : directory;
  if (!part.working_directory.starts_with('/'))
    part.working_directory = directory + "/" + part.working_directory;
  for (const EnvChange& change : app.environment) {
    if (change.unset || change.value) {
      part.environment.push_back({change.name, change.value.value_or(""), change.unset});
    } else if (const std::string* entry = find(environment, change.name)) {
      part.environment.push_back({change.name, entry->substr(change.name.size() + 1), false});
    }
  }
  return part;
}

}  // namespace

Launch common_part(const JobSpec& spec, const Plan& plan, const JobSecrets& secrets,
                   const std::string& directory, const std::vector<std::string>& environment,
                   bool over_network) {
  Launch launch;
  launch.job_id = secrets.job_id;
  launch.job_key = secrets.key;
  for (const PlannedHost& host : plan.hosts) {
    launch.hosts.push_back(host.name);
    launch.universe += host.slots;
  }
  for (const PlannedRank& rank : plan.ranks) launch.host_of.push_back(rank.host);
  for (const AppSpec& app : spec.apps) {
    AppPart part = app_part(app, directory, environment);
    const int number = static_cast<int>(launch.apps.size());
    for (const PlannedRank& rank : plan.ranks) {
      if (rank.app != number) continue;
      if (part.ranks++ == 0) part.first_rank = rank.rank;
    }
    if (over_network) {
      const auto knobs = travelling_knobs(environment);
      part.environment.insert(part.environment.begin(), knobs.begin(), knobs.end());
    }
    launch.apps.push_back(std::move(part));
  }
  launch.output.tag = spec.output.tag;
  launch.output.timestamps = spec.output.timestamps;
  launch.output.label = spec.output.label;
  launch.output.merge_stderr = spec.output.merge_stderr;
  launch.output.directory = spec.output.directory;
  if (!launch.output.directory.empty() && !launch.output.directory.starts_with('/'))
    launch.output.directory = directory + "/" + launch.output.directory;
  launch.report_links = spec.report_links;
  return launch;
}

bool takes_stdin(const JobSpec& spec, int rank) {
  return std::any_of(spec.stdin_to.begin(), spec.stdin_to.end(), [rank](const std::string& word) {
    return word == "all" || word == std::to_string(rank);
  });
}

void add_ranks(Launch& launch, const JobSpec& spec, const Plan& plan, int host) {
  launch.ranks.clear();
  for (const PlannedRank& rank : plan.ranks) {
    if (rank.host != host) continue;
    RankPart part;
    part.rank = rank.rank;
    part.app = rank.app;
    part.takes_stdin = takes_stdin(spec, rank.rank);
    part.cpus = rank.cpus;
    launch.ranks.push_back(std::move(part));
  }
}

topo::Machine machine_of(const Hello& hello) {
  topo::Machine machine;
  for (std::size_t i = 0; i + 4 < hello.threads.size(); i += 5) {
    const int* at = &hello.threads[i];
    machine.threads.push_back({at[0], at[1], at[2], at[3], at[4]});
  }
  machine.cores = hello.machine_cores;
  machine.cpu_quota = hello.cpu_quota;
  return machine;
}

std::string proven_address(const std::vector<Hello>& hellos, const std::vector<std::string>& names,
                           std::size_t of) {
  if (hellos.size() == 1) return "127.0.0.1";
  if (!hellos[of].own_address.empty()) return hellos[of].own_address;
  // It runs beside prun: the others know from where prun reached them.
  for (const Hello& hello : hellos)
    if (!hello.head_address.empty()) return hello.head_address;
  return names[of];
}

}  // namespace tutti::launch
