// srun's words for daemons, and asking scontrol.
#include "spawn/slurm.h"

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/environment.h"
#include "base/text.h"
#include "hosts/hosts.h"
#include "spawn/tool.h"

namespace tutti::launch::spawn {
namespace {

// Variables by which srun would shape a step as the job is shaped, or treat its streams otherwise
// than a channel needs it.
constexpr std::array<std::string_view, 44> kShapes{"SLURM_GPUS",
                                                   "SLURM_GPUS_PER_NODE",
                                                   "SLURM_GPUS_PER_SOCKET",
                                                   "SLURM_GPUS_PER_TASK",
                                                   "SLURM_GPU_BIND",
                                                   "SLURM_GRES",
                                                   "SLURM_GRES_FLAGS",
                                                   "SLURM_TRES_BIND",
                                                   "SLURM_TRES_PER_TASK",
                                                   "SLURM_CPUS_PER_GPU",
                                                   "SLURM_CPUS_PER_TASK",
                                                   "SRUN_CPUS_PER_TASK",
                                                   "SLURM_CPU_BIND",
                                                   "SLURM_CPU_BIND_LIST",
                                                   "SLURM_CPU_BIND_TYPE",
                                                   "SLURM_CPU_BIND_VERBOSE",
                                                   "SLURM_MEM_BIND",
                                                   "SLURM_NTASKS_PER_CORE",
                                                   "SLURM_NTASKS_PER_GPU",
                                                   "SLURM_NTASKS_PER_NODE",
                                                   "SLURM_NTASKS_PER_SOCKET",
                                                   "SLURM_NTASKS_PER_TRES",
                                                   "SLURM_THREADS_PER_CORE",
                                                   "SLURM_HINT",
                                                   "SLURM_DISTRIBUTION",
                                                   "SLURM_HOSTFILE",
                                                   "SLURM_EXACT",
                                                   "SLURM_EXCLUSIVE",
                                                   "SLURM_WHOLE",
                                                   "SLURM_OVERCOMMIT",
                                                   "SLURM_SPREAD_JOB",
                                                   "SLURM_USE_MIN_NODES",
                                                   "SLURM_IMMEDIATE",
                                                   "SLURM_TEST_EXEC",
                                                   "SLURM_LABELIO",
                                                   "SLURM_STDINMODE",
                                                   "SLURM_STDOUTMODE",
                                                   "SLURM_STDERRMODE",
                                                   "SLURM_MULTI_PROG",
                                                   "SLURM_TIMELIMIT",
                                                   "SLURM_WAIT",
                                                   "SLURM_KILL_BAD_EXIT",
                                                   "SLURM_NETWORK",
                                                   "SLURM_NO_KILL"};

// Of those, the ones by which GPUs are counted over the job or by task, not by node.
constexpr std::array<std::string_view, 6> kCounts{
    "SLURM_GPUS",           "SLURM_GPUS_PER_TASK",   "SLURM_GPUS_PER_SOCKET",
    "SLURM_NTASKS_PER_GPU", "SLURM_NTASKS_PER_TRES", "SLURM_TRES_PER_TASK"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view entry) {
  return std::find(names.begin(), names.end(), entry.substr(0, entry.find('='))) != names.end();
}

std::string of_component(std::int64_t number) {
  return "_HET_GROUP_" + std::to_string(number);
}

// The numbers of a job's components, or its own number.
std::vector<std::string> job_numbers(const Environment& environment) {
  std::vector<std::string> numbers;
  for (std::int64_t i = 0;; ++i) {
    const std::string number = value_in(environment, "SLURM_JOB_ID" + of_component(i));
    if (number.empty()) break;
    numbers.push_back(number);
  }
  if (numbers.empty()) numbers.push_back(value_in(environment, "SLURM_JOB_ID"));
  return numbers;
}

Result<std::string> shown_of(const std::string& job) {
  return text_of_tool({"scontrol", "show", "job", "-d", job});
}

// "gpu:a100:2(IDX:0-1),nic:1(IDX:0)" without what is in brackets.
std::string counts_of(const std::string& shown) {
  std::string counts;
  int depth = 0;
  for (const char c : shown) {
    depth += c == '(' ? 1 : 0;
    if (depth == 0) counts += c;
    depth -= c == ')' ? 1 : 0;
  }
  return counts;
}

// GPUs over the step: by node Slurm refuses them in a job that has them by task or unequally.
void add_resources(std::vector<std::string>& words, const std::string& resources) {
  std::string gpus, others;
  for (const std::string& one : text::split(resources, ',')) {
    std::string& list = one.starts_with("gpu:") ? gpus : others;
    list += (list.empty() ? "" : ",") + (one.starts_with("gpu:") ? one.substr(4) : one);
  }
  if (!gpus.empty()) words.push_back("--gpus=" + gpus);
  if (!others.empty()) words.push_back("--gres=" + others);
}

}  // namespace

std::map<std::string, std::string> resources_by_host(const std::string& shown) {
  std::map<std::string, std::string> by_host;
  for (const std::string& line : text::split(shown, '\n')) {
    std::string nodes, resources;
    for (const std::string& word : text::split(line, ' ')) {
      if (word.starts_with("Nodes=")) nodes = word.substr(6);
      if (word.starts_with("GRES=")) resources = counts_of(word.substr(5));
    }
    const auto names = hosts::expand_ranges(nodes);
    if (nodes.empty() || resources.empty() || !names) continue;
    for (const std::string& name : *names) by_host[name] = resources;
  }
  return by_host;
}

SlurmSteps::SlurmSteps(const Environment& environment) {
  bool is_counted = false;
  for (const std::string& entry : environment) {
    (is_one_of(kShapes, entry) ? given_back_ : environment_).push_back(entry);
    is_counted = is_counted || is_one_of(kCounts, entry);
  }
  environment_.push_back(std::string(kStartsDaemon) + "=1");
  const auto numbers = job_numbers(environment);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    const auto names =
        hosts::expand_ranges(value_in(environment, "SLURM_JOB_NODELIST" + of_component(number)));
    for (const std::string& name : names.value_or(std::vector<std::string>{}))
      component_.emplace(name, static_cast<int>(i));
    if (!is_counted) continue;
    // Where it does not answer srun will not either, and says why.
    if (const auto shown = shown_of(numbers[i])) resources_.merge(resources_by_host(*shown));
  }
}

std::vector<std::string> SlurmSteps::words_for(const std::string& host,
                                               const std::string& line) const {
  // Unbuffered, else Slurm waits for line ends; our daemon does its own binding.
  std::vector<std::string> words{"--overlap",       "-Q",          "-u", "-N1", "-n1", "--mpi=none",
                                 "--cpu-bind=none", "--export=ALL"};
  if (const auto found = component_.find(host); found != component_.end())
    words.push_back("--het-group=" + std::to_string(found->second));
  if (const auto found = resources_.find(host); found != resources_.end())
    add_resources(words, found->second);
  words.insert(words.end(), {"-w", host});
  if (!given_back_.empty()) words.emplace_back("env");
  words.insert(words.end(), given_back_.begin(), given_back_.end());
  words.insert(words.end(), {"/bin/sh", "-c", line});
  return words;
}

std::string trial_line(const std::string& agent, const std::string& host) {
  const bool by_srun = agent.substr(agent.rfind('/') + 1) == "srun";
  return agent + (by_srun ? " --overlap -N1 -n1 -w " : " ") + host + " true";
}

Suspension::Suspension(const Environment& environment) : job_(job_numbers(environment)[0]) {}

bool Suspension::ask() {
  constexpr std::int64_t kMomentNs = 30'000'000'000;  // in which its daemons are heard again
  const auto shown = job_.empty() ? Result<std::string>(std::string()) : shown_of(job_);
  if (shown && shown->find("JobState=SUSPENDED") != std::string::npos) seen_ns_ = now_ns();
  return seen_ns_ != 0 && now_ns() - seen_ns_ < kMomentNs;
}

}  // namespace tutti::launch::spawn
