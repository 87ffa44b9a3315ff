// What prun finds on this machine: files, variables, batch jobs.
#include "prun/surroundings.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "control/terminal.h"
#include "job/job.h"
#include "spawn/slurm.h"

namespace tutti::launch::prun {
namespace {

constexpr std::size_t kLongestFile = 64U << 20;  // of those that are read as text
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

bool can_run(const std::string& path) {
  return is_file(path) && ::access(path.c_str(), X_OK) == 0;
}

// Whether this prun takes no hosts of a batch system: those are its own, or who meets whom is said
// elsewhere. torchrun is the agent of one node, as torch's, unless hosts are named.
bool needs_no_batch(const cli::JobSpec& spec, const hosts::SlurmTask& task) {
  if (spec.starter == cli::Starter::local || spec.starter == cli::Starter::virtual_hosts ||
      std::holds_alternative<cli::JoinJob>(spec.command))
    return true;
  const bool names_hosts = !cli::hosts_of(spec).empty() || !cli::hostfiles_of(spec).empty() ||
                           (spec.starter_given && spec.starter == cli::Starter::slurm);
  const bool meets = spec.torch.used && !spec.torch.standalone && spec.torch.max_nodes > 1;
  return !names_hosts && (spec.torch.agent || (meets && task.tasks > 1));
}

// "2", "a100:2"
int count_in(const std::string& value) {
  const auto count = text::parse_int(value.substr(value.rfind(':') + 1));
  return count && *count > 0 && *count < (1 << 20) ? static_cast<int>(*count) : 0;
}

// What each task of a Slurm job was to have, as far as the command line does not say it.
void take_shares(cli::Placement& placement) {
  const auto given = [](const char* name) { return count_in(variable(name).value_or("")); };
  if (const int gpus = given("SLURM_GPUS_PER_TASK"); placement.gpus_per_rank == 0)
    placement.gpus_per_rank = gpus > 0 && gpus <= cli::kMostGpusOfRank ? gpus
                              : given("SLURM_NTASKS_PER_GPU") == 1     ? 1
                                                                       : 0;
  if (const int cpus = given("SLURM_CPUS_PER_TASK"); cpus > 1 && placement.cpus_per_rank == 1) {
    placement.cpus_per_rank = cpus;
    placement.cpus_by_batch = true;
  }
}

// Reads each file once, whoever asks: a pipe (`--hostfile <(...)`) has nothing more the second
// time.
hosts::ReadFile reader() {
  return [texts = std::map<std::string, std::string>()](
             const std::string& path) mutable -> Result<std::string> {
    const auto known = texts.find(path);
    if (known != texts.end()) return known->second;
    TUTTI_TRY(text, read_file(path));
    return texts[path] = text;
  };
}

// Whether this is a link to a prun, of whichever installation.
bool is_prun(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::canonical(path, ignored).filename().string().starts_with("prun");
}

// The srun that starts Slurm's steps: not a link in PATH by which a prun is called so, which would
// start daemons by srun, and so on. Empty: there is none.
std::string srun_of_slurm() {
  bool first = true;
  for (const std::string& path : places_of_program("srun", variable("PATH").value_or(""))) {
    if (!can_run(path)) continue;
    if (!is_prun(path)) return first ? "srun" : path;
    first = false;
  }
  return "";
}

}  // namespace

bool is_in_path(const std::string& name) {
  const auto places = places_of_program(name, variable("PATH").value_or(""));
  return name.find('/') == std::string::npos && std::any_of(places.begin(), places.end(), can_run);
}

void hold_standard_streams() {
  for (int fd = 0; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0)  // the lowest number that is free
      (void)!::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

void say(std::string_view line) {
  std::fputs(control::own_line(line).c_str(), stderr);
}

Result<std::string> read_file(const std::string& path) {
  const auto refused = [&path] {
    return fail(Code::arg, "cannot read " + path + ": " + std::strerror(errno));
  };
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return refused();
  std::string text;
  char piece[4096];
  for (;;) {
    const ssize_t bytes = ::read(file.get(), piece, sizeof piece);
    if (bytes == 0) {
      if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
      return text;
    }
    if (bytes > 0) text.append(piece, static_cast<std::size_t>(bytes));
    if (bytes < 0 && errno != EINTR) return refused();
    if (text.size() > kLongestFile)
      return fail(Code::arg, "cannot read " + path + ": more than " +
                                 text::format_bytes(kLongestFile) +
                                 " are in it; is it the file "
                                 "that was meant?");
  }
}

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

bool is_file(const std::string& path) {
  struct stat what {};
  return ::stat(path.c_str(), &what) == 0 && S_ISREG(what.st_mode);
}

bool is_program(const std::string& name) {
  return can_run(name) || is_in_path(name);
}

std::string this_host() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "localhost";
}

Result<std::string> this_folder() {
  if (auto folder = working_directory(variable("PWD").value_or(""))) return std::move(*folder);
  return fail(Code::arg, "the folder that prun was started in " +
                             std::string(errno == ENOENT ? "is gone"
                                                         : std::string("cannot be named (") +
                                                               std::strerror(errno) + ")") +
                             "; go to one that is there (cd)");
}

Result<void> check_environment(const std::vector<std::string>& environment) {
  if (!variable(spawn::kStartsDaemon)) return cli::check_variables(environment);
  return fail(Code::arg,
              "this prun was started in the place of the srun that another prun starts daemons by: "
              "the srun in PATH must be Slurm's (--launch-agent /PATH/OF/srun names it, --launcher "
              "ssh goes without)");
}

Result<void> check_alone(const cli::JobSpec& spec) {
  const hosts::SlurmTask task = hosts::slurm_task(variable);
  if (task.tasks == 1 || needs_no_batch(spec, task)) return {};
  const auto batch = hosts::batch_allocation(variable, read_file);
  if (!batch || !*batch) return {};
  return fail(
      Code::unsupported,
      "srun has started " + std::to_string(task.tasks) +
          " of this prun, and each would start the whole job: start it once, without srun "
          "(in the job script, or after salloc) or by srun -N1 -n1; --launcher fork starts a "
          "job of its own on the host of each");
}

Result<hosts::Allocation> find_hosts(cli::JobSpec& spec, int cores) {
  TUTTI_TRY(batch, hosts::batch_allocation(variable, read_file));
  const hosts::SlurmTask task = hosts::slurm_task(variable);
  if (needs_no_batch(spec, task)) batch.reset();
  if (batch) batch->is_open = spec.starter_given && spec.starter != cli::Starter::slurm;
  TUTTI_TRY(allocation,
            hosts::allocate(plan::wishes_of(spec), reader(), this_host(), cores, batch));
  const bool is_of_slurm = batch && allocation.batch == hosts::Batch::slurm;
  if (is_of_slurm) take_shares(spec.placement);
  const bool may_start = is_of_slurm && !spec.starter_given;
  const bool starts = spec.starter == cli::Starter::slurm;
  const std::string srun = may_start || starts ? srun_of_slurm() : "";
  if (may_start && !srun.empty()) spec.starter = cli::Starter::slurm;
  if (may_start && srun.empty())
    allocation.notes.emplace_back(
        "no srun of Slurm in PATH; the hosts of the Slurm job are reached by ssh");
  if (spec.starter == cli::Starter::slurm && spec.launch_agent.empty()) spec.launch_agent = srun;
  for (const std::string& note : allocation.notes) say(note);
  hosts::HostRules rules;
  rules.excluded = spec.placement.excluded;
  if (spec.listen.empty()) rules.most_hosts = spec.placement.most_hosts;
  if (!spec.torch.used) rules.least_hosts = rules.most_hosts;
  if (spec.placement.no_local)
    rules.not_this = [](const std::string& name) { return !job::is_this_machine(name); };
  TUTTI_DO(hosts::keep_wanted(allocation, rules));
  return allocation;
}

bool stays_here(const cli::JobSpec& spec) {
  if (!std::holds_alternative<cli::RunJob>(spec.command) || spec.dry_run || spec.torch.used ||
      spec.rank.max_restarts > 0)
    return false;
  if (!spec.listen.empty()) return false;
  if (!cli::hosts_of(spec).empty() || !cli::hostfiles_of(spec).empty()) return false;
  if (spec.placement.no_local || !spec.placement.excluded.empty()) return false;
  if (spec.starter == cli::Starter::local) return true;
  if (spec.starter == cli::Starter::virtual_hosts) return false;
  const auto batch = hosts::batch_allocation(variable, read_file);
  return batch && !*batch;
}

}  // namespace tutti::launch::prun
