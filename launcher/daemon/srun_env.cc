// srun's variables: those of the step are of these ranks; those of the job only where this is none.
#include "daemon/srun_env.h"

#include <algorithm>

#include "base/environment.h"

namespace tutti::launch::daemon {
namespace {

using std::to_string;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

std::vector<int> ranks_by_host(const control::Launch& launch) {
  std::vector<int> counts(launch.hosts.size(), 0);
  for (const int host : launch.host_of)
    if (const auto at = static_cast<std::size_t>(host); at < counts.size()) ++counts[at];
  return counts;
}

// 2,2,1 -> "2(x2),1"
std::string in_short(const std::vector<int>& counts) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < counts.size();) {
    std::size_t same = i;
    while (same < counts.size() && counts[same] == counts[i]) ++same;
    words.push_back(to_string(counts[i]) +
                    (same - i > 1 ? "(x" + to_string(same - i) + ")" : std::string()));
    i = same;
  }
  return joined(words);
}

// Ranks of this host.
std::string ranks_here(const RankFacts& facts) {
  std::vector<std::string> words;
  const std::vector<int>& host_of = facts.as_srun->host_of;
  for (std::size_t rank = 0; rank < host_of.size(); ++rank)
    if (host_of[rank] == facts.host) words.push_back(to_string(rank));
  return joined(words);
}

}  // namespace

void add_srun_variables(std::vector<std::string>& environment, const RankFacts& facts) {
  const control::Launch& launch = *facts.as_srun;
  const std::string hosts = joined(launch.hosts), tasks = in_short(ranks_by_host(launch));
  const std::string here = static_cast<std::size_t>(facts.host) < launch.hosts.size()
                               ? launch.hosts[static_cast<std::size_t>(facts.host)]
                               : "";
  replace_in(
      environment,
      {"SLURM_PROCID=" + to_string(facts.rank), "SLURM_LOCALID=" + to_string(facts.local_rank),
       "SLURM_NODEID=" + to_string(facts.host), "SLURM_GTIDS=" + ranks_here(facts),
       "SLURM_NTASKS=" + to_string(facts.size), "SLURM_NPROCS=" + to_string(facts.size),
       "SLURM_NNODES=" + to_string(facts.hosts), "SLURM_TASKS_PER_NODE=" + tasks, "SLURM_STEP_ID=0",
       "SLURM_STEPID=0", "SLURM_STEP_NODELIST=" + hosts,
       "SLURM_STEP_NUM_NODES=" + to_string(facts.hosts),
       "SLURM_STEP_NUM_TASKS=" + to_string(facts.size), "SLURM_STEP_TASKS_PER_NODE=" + tasks});
  const std::string job = to_string(facts.job_id);
  for (const std::string& entry :
       {"SLURM_JOB_ID=" + job, "SLURM_JOBID=" + job,
        "SLURM_JOB_NUM_NODES=" + to_string(facts.hosts), "SLURM_JOB_NODELIST=" + hosts,
        "SLURM_NODELIST=" + hosts, "SLURMD_NODENAME=" + here})
    if (value_in(environment, entry.substr(0, entry.find('='))).empty())
      replace_in(environment, {entry});
}

}  // namespace tutti::launch::daemon
