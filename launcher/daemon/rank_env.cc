// The one table of variables that a rank sees because prun started it.
//
// Ours, those that Open MPI's programs and scripts read, and those of torchrun. A variable that
// promises a server (PMI_FD, PMIX_*) is never set before there is one. Variables of a launcher
// further up (a prun in a Slurm step, or under another mpirun) are removed first: a rank must
// not take itself for somebody else's.
#include "daemon/rank_env.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/environment.h"
#include "base/own_folder.h"
#include "base/text.h"
#include "daemon/srun_env.h"
#include "topo/gpus.h"
#include "wireup/protocol.h"

namespace tutti::launch::daemon {
namespace {

using std::to_string;

struct VariableRow {
  const char* name;
  const char* meaning;
  std::string (*value)(const RankFacts&);  // empty: not set
  bool yields = false;                     // to what the environment says
};

// No variable may be longer than this, its name and the zero at its end included.
constexpr std::size_t kLongestVariable = 128U << 10;

// What does not fit is left out: the arguments themselves reach the program anyway.
std::string arguments(const RankFacts& f) {
  constexpr std::size_t most = kLongestVariable - sizeof "OMPI_ARGV=";
  std::string joined;
  bool first = true;
  for (std::size_t i = 1; f.program != nullptr && i < f.program->argv.size(); ++i) {
    const std::string& word = f.program->argv[i];
    if (joined.size() + (first ? 0 : 1) + word.size() > most) continue;
    joined.append(std::exchange(first, false) ? "" : " ").append(word);
  }
  return joined;
}

// One number for each program; empty for a job of one program, as Open MPI 5 does it.
std::string per_program(const RankFacts& f, int control::AppPart::*number) {
  std::string joined;
  if (f.programs == nullptr || f.programs->size() < 2) return joined;
  for (const control::AppPart& part : *f.programs)
    joined.append(joined.empty() ? "" : " ").append(to_string(part.*number));
  return joined;
}

constexpr auto kRank = [](const RankFacts& f) { return to_string(f.rank); };
constexpr auto kSize = [](const RankFacts& f) { return to_string(f.size); };
constexpr auto kLocalRank = [](const RankFacts& f) { return to_string(f.local_rank); };
constexpr auto kLocalSize = [](const RankFacts& f) { return to_string(f.local_size); };
constexpr auto kHost = [](const RankFacts& f) { return to_string(f.host); };
constexpr auto kHosts = [](const RankFacts& f) { return to_string(f.hosts); };

const std::array kRows{
    VariableRow{wireup::kSegmentFdVariable, "descriptor of the job segment",
                [](const RankFacts& f) { return to_string(f.segment_fd); }},
    VariableRow{wireup::kControlFdVariable, "descriptor of the socket to the daemon",
                [](const RankFacts& f) { return to_string(f.control_fd); }},
    VariableRow{wireup::kDoorVariable,
                "socket at which a rank asks for both, where a wrapper has closed them",
                [](const RankFacts& f) { return f.door; }},
    VariableRow{wireup::kDoorKeyVariable, "secret by which the rank proves itself there",
                [](const RankFacts& f) { return f.door_key; }},
    VariableRow{wireup::kLocalRankVariable, "rank among the ranks of this host", kLocalRank},
    VariableRow{wireup::kJobVariable, "number of the job",
                [](const RankFacts& f) { return to_string(f.job_id); }},
    VariableRow{"TUTTI_REPORT_LINKS",
                "1: tell the launcher which link joins which ranks (--report-links)",
                [](const RankFacts& f) { return std::string(f.spec.report_links ? "1" : ""); }},
    VariableRow{"TUTTI_RECORD",
                "calls or events: tell the launcher what MPI calls took (--stats, --trace)",
                [](const RankFacts& f) { return f.spec.record; }},
    VariableRow{"OMPI_COMM_WORLD_SIZE", "number of ranks", kSize},
    VariableRow{"OMPI_COMM_WORLD_RANK", "this rank", kRank},
    VariableRow{"OMPI_COMM_WORLD_LOCAL_RANK", "rank among the ranks of this host", kLocalRank},
    VariableRow{"OMPI_COMM_WORLD_LOCAL_SIZE", "ranks on this host", kLocalSize},
    VariableRow{"OMPI_COMM_WORLD_NODE_RANK", "rank among the ranks of this host", kLocalRank},
    VariableRow{"OMPI_WORLD_SIZE", "number of ranks", kSize},
    VariableRow{"OMPI_WORLD_LOCAL_SIZE", "ranks on this host", kLocalSize},
    VariableRow{"OMPI_UNIVERSE_SIZE", "slots of the job",
                [](const RankFacts& f) { return to_string(f.spec.universe); }},
    VariableRow{"OMPI_NUM_APP_CTX", "programs of the job",
                [](const RankFacts& f) { return to_string(f.apps); }},
    VariableRow{"OMPI_APP_CTX_NUM_PROCS", "ranks of each program, when there are several",
                [](const RankFacts& f) { return per_program(f, &control::AppPart::ranks); }},
    VariableRow{"OMPI_FIRST_RANKS", "first rank of each program, when there are several",
                [](const RankFacts& f) { return per_program(f, &control::AppPart::first_rank); }},
    VariableRow{
        "OMPI_COMMAND", "the program",
        [](const RankFacts& f) { return f.program != nullptr ? f.program->argv.at(0) : ""; }},
    VariableRow{"OMPI_ARGV", "its arguments", arguments},
    VariableRow{"MPI_LOCALRANKID", "rank among the ranks of this host", kLocalRank},
    VariableRow{"MPI_LOCALNRANKS", "ranks on this host", kLocalSize},
    VariableRow{"PMI_RANK", "this rank; PMI_FD is there where a program of MPICH's family needs it",
                kRank},
    VariableRow{"PMI_SIZE", "number of ranks", kSize},
    VariableRow{"RANK", "this rank", kRank},
    VariableRow{"WORLD_SIZE", "number of ranks", kSize},
    VariableRow{"LOCAL_RANK", "rank among the ranks of this host", kLocalRank},
    VariableRow{"LOCAL_WORLD_SIZE", "ranks on this host", kLocalSize},
    VariableRow{"GROUP_RANK", "number of this host", kHost},
    VariableRow{"GROUP_WORLD_SIZE", "number of hosts", kHosts},
    VariableRow{"ROLE_RANK", "this rank", kRank},
    VariableRow{"ROLE_WORLD_SIZE", "number of ranks", kSize},
    VariableRow{"ROLE_NAME", "role of this rank",
                [](const RankFacts& f) { return f.spec.role.empty() ? "default" : f.spec.role; }},
    VariableRow{"MASTER_ADDR", "address of rank 0's host, as the other hosts reach it",
                [](const RankFacts& f) { return f.spec.master_address; }},
    VariableRow{"MASTER_PORT", "a port found free on rank 0's host",
                [](const RankFacts& f) {
                  return f.spec.master_port > 0 ? to_string(f.spec.master_port) : "";
                }},
    VariableRow{"TORCHELASTIC_RESTART_COUNT", "restarts so far",
                [](const RankFacts& f) { return to_string(f.restarts); }},
    VariableRow{"TORCHELASTIC_MAX_RESTARTS", "restarts allowed",
                [](const RankFacts& f) { return to_string(f.spec.max_restarts); }},
    VariableRow{"TORCHELASTIC_RUN_ID", "name of the job (--rdzv-id), or its number",
                [](const RankFacts& f) {
                  return f.spec.run_id.empty() ? to_string(f.job_id) : f.spec.run_id;
                }},
    VariableRow{"TORCHELASTIC_USE_AGENT_STORE", "whether a store listens at MASTER_PORT already",
                [](const RankFacts&) { return std::string("False"); }},
    VariableRow{"TORCH_NCCL_ASYNC_ERROR_HANDLING",
                "1, unless it is set: an NCCL error ends the rank",
                [](const RankFacts&) { return std::string("1"); }, true},
};

// What launchers set in their children. SLURM_* stays: it tells programs where they are.
constexpr std::array<std::string_view, 11> kForeignPrefixes{"OMPI_COMM_WORLD_",
                                                            "OMPI_WORLD_",
                                                            "OMPI_MCA_ess_",
                                                            "OMPI_MCA_orte_",
                                                            "PMIX_",
                                                            "PMI_",
                                                            "PRTE_",
                                                            "HYDI_",
                                                            "HYDRA_",
                                                            "TORCHELASTIC_",
                                                            "MPI_LOCAL"};
// And the key by which nodes meet, which is no rank's business.
constexpr std::array<std::string_view, 14> kForeignNames{
    "SLURM_PROCID",   "SLURM_LOCALID",         "SLURM_NODEID",     "SLURM_GTIDS",
    "SLURM_TASK_PID", "SLURM_STEP_ID",         "SLURM_STEPID",     "OMPI_FILE_LOCATION",
    "OMPI_TOOL_NAME", "PALS_RANKID",           "I_MPI_HYDRA_UUID", "MASTER_ADDR",
    "MASTER_PORT",    wireup::kJoinKeyVariable};

std::string_view name_of(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

// Whether it says where files of Open MPI's shared memory lie.
bool names_memory_folder(std::string_view name) {
  return name.starts_with("OMPI_MCA_") && name.ends_with("_backing_directory");
}

bool is_foreign(std::string_view entry) {
  const std::string_view name = name_of(entry);
  if (names_memory_folder(name) && names_own_folder(entry)) return true;  // of another job
  const auto begins = [name](std::string_view prefix) { return name.starts_with(prefix); };
  return std::any_of(kForeignPrefixes.begin(), kForeignPrefixes.end(), begins) ||
         std::find(kForeignNames.begin(), kForeignNames.end(), name) != kForeignNames.end();
}

void set(std::vector<std::string>& environment, const std::string& name, const std::string& value,
         bool unset = false) {
  std::erase_if(environment, [&name](const std::string& entry) { return name_of(entry) == name; });
  if (!unset) environment.push_back(name + "=" + value);
}

void apply(std::vector<std::string>& environment, const control::Variable& change) {
  const std::string before = change.join.empty() ? "" : value_in(environment, change.name);
  if (before.empty()) return set(environment, change.name, change.value, change.unset);
  set(environment, change.name,
      change.in_front ? change.value + change.join + before : before + change.join + change.value);
}

// Two names may be one parameter of Open MPI, so a user who names one such folder chooses them all.
void add_server_variables(std::vector<std::string>& environment, const RankFacts& facts) {
  bool are_chosen =
      std::any_of(environment.begin(), environment.end(),
                  [](const std::string& entry) { return names_memory_folder(name_of(entry)); });
  if (facts.program != nullptr)
    for (const control::Variable& change : facts.program->environment)
      are_chosen = are_chosen || names_memory_folder(change.name);
  for (const std::string& entry : *facts.server_variables)
    if (!are_chosen || !names_memory_folder(name_of(entry))) environment.push_back(entry);
}

// The rank's own of the devices that the host's ranks may use: those it was planned to have, or,
// where the planner knew of none, in turn.
void share_gpus(std::vector<std::string>& environment, const RankFacts& facts) {
  std::vector<int> numbers = facts.gpus;
  std::erase_if(numbers, [](int number) { return number < 0; });
  for (int i = 0; numbers.size() < static_cast<std::size_t>(facts.spec.gpus_per_rank); ++i)
    numbers.push_back(facts.local_rank * facts.spec.gpus_per_rank + i);
  // The planner counts along the bus; CUDA does so where it is told.
  if (!facts.gpus.empty() && !find_in(environment, "CUDA_VISIBLE_DEVICES") &&
      value_in(environment, "CUDA_DEVICE_ORDER").empty())
    set(environment, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    const auto given = find_in(environment, name);
    if (given && topo::hides_all_gpus(*given)) continue;  // from all ranks
    const auto all = given ? text::split(*given, ',') : std::vector<std::string>{};
    std::string mine;
    for (const int number : numbers)
      mine +=
          (mine.empty() ? "" : ",") +
          (all.empty() ? to_string(number) : all[static_cast<std::size_t>(number) % all.size()]);
    set(environment, name, mine);
  }
}

}  // namespace

std::vector<std::string> rank_environment(const std::vector<std::string>& inherited,
                                          const RankFacts& facts) {
  std::vector<std::string> environment;
  environment.reserve(inherited.size() + kRows.size() + 8);
  std::vector<std::string_view> ours;
  for (const VariableRow& row : kRows)
    if (!row.yields) ours.emplace_back(row.name);
  std::sort(ours.begin(), ours.end());
  const bool clean = facts.program != nullptr && facts.program->clean_environment;
  for (const std::string& entry : inherited)
    if (!(clean && name_of(entry) != "PATH" && name_of(entry) != "HOME") && !is_foreign(entry) &&
        !std::binary_search(ours.begin(), ours.end(), name_of(entry)))
      environment.push_back(entry);
  for (const VariableRow& row : kRows)
    if (const std::string value = row.value(facts);
        !value.empty() && !(row.yields && find_in(environment, row.name)))
      environment.push_back(std::string(row.name) + "=" + value);
  if (facts.server_variables != nullptr) add_server_variables(environment, facts);
  if (value_in(environment, "OMP_NUM_THREADS").empty()) {
    // As many threads as cores it is bound to (or processors, when those are counted); unbound
    // ranks that share a host take one each.
    if (facts.cores > 0)
      set(environment, "OMP_NUM_THREADS", to_string(facts.cores));
    else if (facts.local_size > 1)
      set(environment, "OMP_NUM_THREADS", "1");
  }
  // NCCL's own sockets go where ours are proven to go, unless somebody says otherwise.
  if (!facts.interface.empty() && value_in(environment, "NCCL_SOCKET_IFNAME").empty())
    set(environment, "NCCL_SOCKET_IFNAME", "=" + facts.interface);
  if (facts.as_srun != nullptr) add_srun_variables(environment, facts);
  if (facts.spec.gpus_per_rank > 0) share_gpus(environment, facts);
  if (facts.program != nullptr)
    for (const control::Variable& change : facts.program->environment)
      if (change.name != wireup::kJoinKeyVariable) apply(environment, change);
  // Shells and Python ask it for the folder; the one of our own environment is another's.
  if (!facts.directory.empty()) set(environment, "PWD", facts.directory);
  // Behind whatever the user gives, by environment or -x: a library of theirs must win.
  if (!facts.library_folder.empty()) {
    const std::string before = value_in(environment, "LD_LIBRARY_PATH");
    set(environment, "LD_LIBRARY_PATH",
        before.empty() ? facts.library_folder : before + ":" + facts.library_folder);
  }
  return environment;
}

}  // namespace tutti::launch::daemon
