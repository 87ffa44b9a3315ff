// Building the Launch message.
#include "job/parts.h"

#include <algorithm>

#include "base/knobs.h"
#include "daemon/output_file.h"
#include "job/files.h"
#include "job/travel.h"
#include "wireup/protocol.h"

namespace tutti::launch::job {
namespace {

const std::string* find(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment)
    if (entry.starts_with(name + "=")) return &entry;
  return nullptr;
}

// Knobs of prun's environment: hosts that are reached by network do not inherit them.
std::vector<control::Variable> travelling_knobs(const std::vector<std::string>& environment) {
  std::vector<control::Variable> all;
  for (const KnobRow& row : Knobs::rows())
    if (const std::string* entry = find(environment, row.name))
      all.push_back(
          {row.name, entry->substr(std::string_view(row.name).size() + 1), false, {}, false});
  return all;
}

// "-x FOO*" and "--unset-env FOO*": all variables of prun's that begin so.
void add_matching(control::AppPart& part, const cli::EnvChange& change,
                  const std::vector<std::string>& environment) {
  const std::string_view beginning(change.name.data(), change.name.size() - 1);
  for (const std::string& entry : environment) {
    const auto equals = entry.find('=');
    if (!entry.starts_with(beginning) || equals < beginning.size()) continue;
    const std::string name = entry.substr(0, equals);
    const auto& own = wireup::kLaunchersOwn;
    if (name != wireup::kJoinKeyVariable && std::find(own.begin(), own.end(), name) == own.end())
      part.environment.push_back(
          {name, change.unset ? "" : entry.substr(equals + 1), change.unset, {}, false});
  }
}

control::AppPart app_part(const cli::AppSpec& app, const std::string& directory,
                          const std::vector<std::string>& environment) {
  control::AppPart part;
  part.argv = app.argv;
  part.directory_required = !app.working_directory.empty();
  part.working_directory = part.directory_required ? app.working_directory : directory;
  if (!part.working_directory.starts_with('/'))
    part.working_directory = directory + "/" + part.working_directory;
  part.clean_environment = app.clean_environment;
  part.local_rank_at = app.local_rank_at;
  part.fills_words = app.fills_words;
  part.first_offset = app.first_offset;
  for (const cli::EnvChange& change : app.environment) {
    if (change.name == wireup::kJoinKeyVariable) continue;  // stays with prun, whatever is exported
    if (change.name.ends_with('*') && !change.value) {
      add_matching(part, change, environment);
    } else if (change.unset || change.value) {
      part.environment.push_back({change.name, change.value.value_or(""), change.unset,
                                  change.join == 0 ? "" : std::string(1, change.join),
                                  change.in_front});
    } else if (const std::string* entry = find(environment, change.name)) {
      part.environment.push_back(
          {change.name, entry->substr(change.name.size() + 1), false, {}, false});
    }
  }
  return part;
}

std::string absolute(const std::string& path, const std::string& directory) {
  return path.empty() || path.starts_with('/') ? path : directory + "/" + path;
}

control::OutputPart output_part(const cli::JobSpec& spec, const std::string& directory,
                                const JobSecrets& secrets, std::size_t hosts) {
  control::OutputPart part;
  const cli::OutputSpec& wanted = spec.output;
  part.tag = static_cast<int>(wanted.fold ? spec::OutputTag::none : wanted.tag);
  part.tag_pattern = wanted.tag_pattern;
  part.timestamps = wanted.timestamps && !wanted.fold;
  part.merge_stderr = wanted.merge_stderr;
  part.collected = wanted.fold;
  part.appends = secrets.round > 0;
  part.out_file = absolute(wanted.out_file, directory);
  part.err_file = absolute(wanted.err_file, directory);
  if (std::string folder = output_folder(spec, secrets, hosts); !folder.empty()) {
    folder = absolute(folder, directory);
    const std::string ending = wanted.directory.empty() ? ".log" : "";
    part.out_file = folder + "/stdout" + ending, part.err_file = folder + "/stderr" + ending;
  }
  return part;
}

// Whether torchrun's log files are written.
bool wants_logs(const cli::JobSpec& spec) {
  return !spec.torch.log_folder.empty() || !spec.output.redirects.empty() ||
         !spec.output.tees.empty();
}

bool holds(const std::vector<int>& numbers, int number) {
  return numbers.empty() || std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

int streams_of(const std::map<int, int>& streams, int local) {
  auto found = streams.find(local);
  if (found == streams.end()) found = streams.find(-1);
  return found == streams.end() ? 0 : found->second;
}

// Which streams of a rank go into files, and which are shown.
void direct_output(control::RankPart& part, const cli::JobSpec& spec, int local) {
  const cli::OutputSpec& wanted = spec.output;
  if (!wanted.out_file.empty()) part.to_file |= 1;
  if (!wanted.err_file.empty()) part.to_file |= 2;
  if (!wanted.directory.empty()) part.to_file = 3;
  if (!wanted.copy) part.to_terminal &= ~part.to_file;
  // A merged standard error goes where standard output goes: its bit means nothing.
  if (wants_logs(spec)) {
    const int tees =
        wanted.redirects.empty() && wanted.tees.empty() ? 3 : streams_of(wanted.tees, local);
    const int redirects = streams_of(wanted.redirects, local);
    part.to_file |= tees | redirects;
    part.to_terminal &= ~(redirects & ~tees);
  }
  if (!holds(wanted.only_ranks, part.rank) || !holds(wanted.only_local_ranks, local))
    part.to_terminal = 0;
}

// Files of several ranks, and those that no daemon can write alone.
void part_files(control::RankPart& part, const control::Launch& launch) {
  for (const int stream : {1, 2}) {
    const std::string& pattern = stream == 1 ? launch.output.out_file : launch.output.err_file;
    if ((part.to_file & stream) == 0) continue;
    if (is_written_here(pattern, launch.hosts.size())) part.through_head |= stream;
    if (launch.host_of.size() > 1 && is_shared(pattern, launch.hosts.size()))
      part.in_shared_file |= stream;
  }
  part.to_file &= ~part.through_head;
  part.in_shared_file &= ~part.to_terminal;
}

}  // namespace

std::string output_folder(const cli::JobSpec& spec, const JobSecrets& secrets, std::size_t hosts) {
  if (!spec.output.directory.empty())
    return spec.output.directory +
           (spec.output.job_folder || secrets.round > 0 ? "/" + std::to_string(secrets.round + 1)
                                                        : "") +
           "/rank.%r";
  if (!wants_logs(spec)) return "";
  // In a folder that all users share, nothing of ours lies below a name that others can make first.
  const std::string base = spec.torch.log_folder.empty() ? std::string(daemon::kSharedLogs)
                                                         : spec.torch.log_folder + "/";
  // Of nodes that may become several each has a place from the beginning.
  return base + spec.rank.run_id + "_" + std::to_string(secrets.job_id) +
         (spec.torch.max_nodes > 1 || hosts > 1 ? "/node_%n" : "") + "/attempt_" +
         std::to_string(secrets.restarts) + "/%l";
}

control::Launch common_part(const cli::JobSpec& spec, const plan::Plan& plan,
                            const JobSecrets& secrets, const std::string& directory,
                            const std::vector<std::string>& environment, bool over_network) {
  control::Launch launch;
  launch.job_id = secrets.job_id;
  launch.job_key = secrets.key;
  launch.spec = spec.rank;
  launch.spec.gpus_per_rank = spec.placement.gpus_per_rank;  // they say where a rank goes, too
  for (const plan::PlannedHost& host : plan.hosts) {
    launch.hosts.push_back(host.name);
    if (spec.rank.universe == 0) launch.spec.universe += host.slots;
  }
  for (const plan::PlannedRank& rank : plan.ranks) launch.host_of.push_back(rank.host);
  for (const cli::AppSpec& app : spec.apps) {
    control::AppPart part = app_part(app, directory, environment);
    const int number = static_cast<int>(launch.apps.size());
    for (const plan::PlannedRank& rank : plan.ranks) {
      if (rank.app != number) continue;
      if (part.ranks++ == 0) part.first_rank = rank.rank;
    }
    if (over_network) {
      const auto knobs = travelling_knobs(environment);
      part.environment.insert(part.environment.begin(), knobs.begin(), knobs.end());
    }
    launch.apps.push_back(std::move(part));
  }
  if (over_network) launch.environment = travelling(spec, environment);
  launch.output = output_part(spec, directory, secrets, plan.hosts.size());
  launch.restarts = secrets.restarts;
  return launch;
}

bool takes_stdin(const cli::JobSpec& spec, int rank) {
  if (spec.pty) return rank == 0;
  return std::any_of(spec.stdin_to.begin(), spec.stdin_to.end(), [rank](const std::string& word) {
    return word == "all" || word == std::to_string(rank);
  });
}

void add_ranks(control::Launch& launch, const cli::JobSpec& spec, const plan::Plan& plan,
               int host) {
  launch.ranks.clear();
  for (const plan::PlannedRank& rank : plan.ranks) {
    if (rank.host != host) continue;
    control::RankPart part;
    part.rank = rank.rank;
    part.app = rank.app;
    part.takes_stdin = takes_stdin(spec, rank.rank);
    part.cpus = rank.cpus;
    part.nodes = rank.nodes;
    if (spec.placement.gpus_per_rank > 0) part.gpus = rank.gpus;
    direct_output(part, spec, rank.local_rank);
    if (spec.pty) {  // as srun: of the others nothing is shown
      part.on_pty = rank.rank == 0;
      if (!part.on_pty) part.to_terminal = 0;
    }
    part_files(part, launch);
    launch.ranks.push_back(std::move(part));
  }
}

std::string proven_address(const std::vector<control::Hello>& hellos,
                           const std::vector<std::string>& names, std::size_t of) {
  if (hellos.size() == 1) return "127.0.0.1";
  if (!hellos[of].own_address.empty()) return hellos[of].own_address;
  // This host is prun's own: its address is the one from which the other hosts saw prun connect.
  for (const control::Hello& hello : hellos)
    if (!hello.head_address.empty()) return hello.head_address;
  return names[of];
}

}  // namespace tutti::launch::job
