// What Slurm says in variables of a job and of its steps.
//
//   SLURM_JOB_NODELIST=fz[1-2,7]  SLURM_TASKS_PER_NODE=2(x2),1
//
// A heterogeneous job has these once for each component, with _HET_GROUP_0, _HET_GROUP_1, ...
// behind their names; the variables without are then missing, or those of the first component.
#include <algorithm>

#include "base/text.h"
#include "hosts/batch.h"
#include "hosts/host_word.h"

namespace tutti::launch::hosts {
namespace {

constexpr std::int64_t kMostComponents = 128;  // as Slurm has it

// "2(x3),1" -> 2,2,2,1
Result<std::vector<int>> counts_of(const std::string& text) {
  std::vector<int> counts;
  for (const std::string& part : text::split(text, ',')) {
    const auto open = part.find("(x");
    const auto count = text::parse_int(part.substr(0, open));
    const auto times = open == std::string::npos
                           ? std::optional<std::int64_t>(1)
                           : text::parse_int(part.substr(open + 2, part.size() - open - 3));
    if (!count || *count < 1 || !times || *times < 1 || *count > kMostSlots ||
        *times + counts.size() > kMostHosts)
      return fail(Code::arg, "'" + text + "' gives no tasks by host");
    counts.insert(counts.end(), static_cast<std::size_t>(*times), static_cast<int>(*count));
  }
  return counts;
}

std::string given(const ReadVariable& variable, const std::string& name) {
  return variable(name).value_or("");
}

std::string suffix_of(std::int64_t component) {
  return "_HET_GROUP_" + std::to_string(component);
}

// `suffix`: of the component's variables; empty for a job of one.
std::string node_list(const ReadVariable& variable, const std::string& suffix) {
  const std::string list = given(variable, "SLURM_JOB_NODELIST" + suffix);
  return list.empty() ? given(variable, "SLURM_NODELIST" + suffix) : list;
}

Result<void> add_component(Allocation& allocation, const ReadVariable& variable,
                           const std::string& suffix, const std::string& source) {
  TUTTI_TRY(names, expand_ranges(node_list(variable, suffix)));
  std::string tasks = given(variable, "SLURM_TASKS_PER_NODE" + suffix);
  if (tasks.empty()) tasks = given(variable, "SLURM_JOB_CPUS_PER_NODE" + suffix);
  if (tasks.empty()) tasks = "1";
  TUTTI_TRY(counts, counts_of(tasks));
  for (std::size_t i = 0; i < names.size(); ++i)
    TUTTI_DO(add(allocation, names[i], counts[std::min(i, counts.size() - 1)], source));
  return {};
}

// 0: the job is not heterogeneous.
std::int64_t components(const ReadVariable& variable) {
  const auto count = text::parse_int(given(variable, "SLURM_HET_SIZE"));
  return count && *count > 0 && *count <= kMostComponents ? *count : 0;
}

}  // namespace

bool is_slurm_job(const ReadVariable& variable) {
  const std::string first = components(variable) > 0 ? suffix_of(0) : "";
  return !given(variable, "SLURM_JOB_ID").empty() &&
         !(node_list(variable, "") + node_list(variable, first)).empty();
}

Result<Allocation> from_slurm(const ReadVariable& variable) {
  Allocation allocation;
  allocation.given = true;
  allocation.batch = Batch::slurm;
  allocation.here = given(variable, "SLURMD_NODENAME");
  const std::string source = "Slurm job " + given(variable, "SLURM_JOB_ID");
  const std::int64_t count = components(variable);
  if (count == 0) TUTTI_DO(add_component(allocation, variable, "", source));
  for (std::int64_t i = 0; i < count; ++i)
    TUTTI_DO(add_component(allocation, variable, suffix_of(i),
                           source + ", component " + std::to_string(i)));
  return allocation;
}

SlurmTask slurm_task(const ReadVariable& variable) {
  SlurmTask task;
  if (given(variable, "SLURM_PROCID").empty() || given(variable, "SLURM_STEP_ID").empty())
    return task;  // a job script has the one, a shell of salloc neither
  task.in_step = true;
  task.node = static_cast<int>(text::parse_int(given(variable, "SLURM_NODEID")).value_or(0));
  // `srun --pty bash`: of the other tasks nothing is left when somebody types a command at the
  // first.
  if (!given(variable, "SLURM_PTY_PORT").empty() && given(variable, "SLURM_PROCID") == "0")
    return task;
  const auto tasks = text::parse_int(given(variable, "SLURM_STEP_NUM_TASKS"));
  task.tasks = static_cast<int>(std::clamp<std::int64_t>(tasks.value_or(1), 1, kMostSlots));
  return task;
}

}  // namespace tutti::launch::hosts
