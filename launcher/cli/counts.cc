// Options about counts: ranks, hosts, processors, slots.

#include "base/text.h"
#include "cli/options.h"

namespace tutti::launch::cli {

Result<int> positive(const Given& given, std::int64_t most) {
  const std::string& word = given.words[0];
  const auto value = text::parse_int(word);
  if (!value || *value < 1 || *value > most)
    return fail(Code::arg, given.spelling + " needs a whole number from 1 to " +
                               std::to_string(most) + ", not '" + word + "'");
  return static_cast<int>(*value);
}

Result<std::vector<int>> number_list(const Given& given, const std::string& list) {
  constexpr std::int64_t kMost = 1 << 20;
  std::vector<int> numbers;
  for (const std::string& word : text::split(list, ',')) {
    const auto dash = word.find('-', 1);
    const auto from = text::parse_int(word.substr(0, dash));
    const auto to = dash == std::string::npos ? from : text::parse_int(word.substr(dash + 1));
    if (!from || !to || *from < 0 || *to < *from || *to >= kMost)
      return fail(Code::arg, given.spelling + " needs numbers such as 0-3,8, not '" + list + "'");
    for (auto number = *from; number <= *to; ++number) numbers.push_back(static_cast<int>(number));
  }
  return numbers;
}

std::string whole_word(const std::string& word, std::span<const char* const> known) {
  const std::string lower = text::lower(word);
  std::string found;
  int fits = 0;
  for (const char* name : known) {
    if (lower == name) return lower;
    if (lower.empty() || !std::string_view(name).starts_with(lower)) continue;
    found = name;
    ++fits;
  }
  return fits == 1 ? found : "";
}

namespace apply {

Result<void> ranks(Draft& draft, const Given& given) {
  TUTTI_TRY(count, positive(given));
  draft.app.ranks = count;
  return {};
}

Result<void> ranks_per_node(Draft& draft, const Given& given) {
  TUTTI_TRY(ranks, positive(given));
  draft.job.placement.ranks_per_node = ranks;
  draft.job.placement.by_letter = given.spelling == "-N";
  draft.job.placement.in_turns = draft.dialect == kHydra;
  draft.job.placement.per_node_word.clear();
  return {};
}

// Open MPI 4's "--ppr 2:socket".
Result<void> ranks_per_object(Draft& draft, const Given& given) {
  return map_by(draft, Given{given.spelling, {"ppr:" + given.words[0]}});
}

Result<void> ranks_per_package(Draft& draft, const Given& given) {
  TUTTI_TRY(ranks, positive(given));
  draft.job.placement.ranks_per_object = ranks;
  draft.job.placement.per_object = MapBy::package;
  return {};
}

Result<void> one_per_node(Draft& draft, const Given&) {
  draft.job.placement.ranks_per_node = 1;
  return {};
}

Result<void> round_robin(Draft& draft, const Given& given) {
  draft.job.placement.in_turns = true;
  return one_per_node(draft, given);
}

// srun's "2-4" is taken at its least.
Result<void> node_count(Draft& draft, const Given& given) {
  const std::string& word = given.words[0];
  TUTTI_TRY(hosts, positive(Given{given.spelling, {word.substr(0, word.find('-', 1))}}));
  draft.job.placement.most_hosts = hosts;
  return {};
}

// The job is entered by Slurm's own tools; its number is no way into it.
Result<void> slurm_job(Draft& draft, const Given& given) {
  const std::string& wanted = given.words[0];
  const auto is_here = draft.around.variable ? draft.around.variable("SLURM_JOB_ID") : std::nullopt;
  if (is_here == wanted) return {};
  return fail(Code::unsupported,
              given.spelling + " " + wanted + ": this is not started in Slurm job " + wanted +
                  "; start it in the job's script or by Slurm's srun --jobid=" + wanted +
                  " -N1 -n1");
}

Result<void> universe(Draft& draft, const Given& given) {
  const std::string word = text::lower(given.words[0]);
  if (word == "system") return {};
  if (word == "infinite") {
    draft.ignored.push_back(given.spelling + " " + given.words[0]);
    return {};
  }
  TUTTI_TRY(slots, positive(given));
  draft.job.rank.universe = slots;
  return {};
}

Result<void> cpus_per_rank(Draft& draft, const Given& given) {
  TUTTI_TRY(cpus, positive(given));
  draft.job.placement.cpus_per_rank = cpus;
  return {};
}

// srun's "h100:2" names the kind of GPUs, too, which the allocation has settled.
Result<void> gpus_per_rank(Draft& draft, const Given& given) {
  const std::string& word = given.words[0];
  const std::size_t colon = draft.dialect == kSlurm ? word.find(':') : std::string::npos;
  if (colon == 0 || (draft.dialect == kSlurm && word.find(',') != std::string::npos))
    return fail(Code::arg, given.spelling + " " + word + ": give one number, or KIND:NUMBER");
  if (colon != std::string::npos)
    draft.ignored.push_back(given.spelling + " " + word.substr(0, colon));
  TUTTI_TRY(gpus, positive(Given{given.spelling, {word.substr(colon + 1)}}, kMostGpusOfRank));
  draft.job.placement.gpus_per_rank = gpus;
  return {};
}

Result<void> cpu_set(Draft& draft, const Given& given) {
  TUTTI_DO(number_list(given, given.words[0]));
  draft.job.placement.cpu_set = given.words[0];
  return {};
}

Result<void> rankfile(Draft& draft, const Given& given) {
  TUTTI_TRY(file, file_of(draft, given));
  draft.job.placement.rankfile = file + "\n";  // an empty file is one, too
  draft.job.placement.rank_map.clear();
  draft.job.placement.map_by = MapBy::rankfile;
  return {};
}

// Hydra's: which of the hosts each rank is on, "0,1,1,0"; or a word, as --rank-by takes it.
Result<void> rank_map(Draft& draft, const Given& given) {
  const std::string& list = given.words[0];
  if (list.empty() || list.find_first_not_of("0123456789,-") != std::string::npos)
    return rank_by(draft, given);
  TUTTI_TRY(hosts, number_list(given, list));
  draft.job.placement.rank_map = std::move(hosts);
  draft.job.placement.map_by = MapBy::rankfile;
  return {};
}

Result<void> memory_binding(Draft& draft, const Given& given) {
  const std::string& word = given.words[0];
  const std::string policy = word.substr(0, word.find_first_of(":="));
  if (policy == "none" || policy == "no")
    draft.job.placement.bind_memory = false;
  else if (policy == "local" || policy == "bind" || policy == "firsttouch" || policy == "numa")
    draft.job.placement.bind_memory = policy != "firsttouch";
  else
    draft.ignored.push_back(given.spelling + " " + word);
  return {};
}

Result<void> oversubscribe(Draft& draft, const Given&) {
  draft.job.placement.oversubscribe = true;
  draft.job.placement.no_oversubscribe = false;
  return {};
}

Result<void> no_oversubscribe(Draft& draft, const Given&) {
  draft.job.placement.no_oversubscribe = true;
  draft.job.placement.oversubscribe = false;
  return {};
}

}  // namespace apply
}  // namespace tutti::launch::cli
