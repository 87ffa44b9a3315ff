// The table of options, and what its rows act on. Inside the room only.
//
// A row is a flag: its spellings (first is the one help shows), the words it takes, its
// section, what it means, its default, and the action that applies it to the draft. The
// parser, help, completion and the nearest-name search all work from this one table.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/cli.h"
#include "wireup/protocol.h"

namespace tutti::launch::cli {

// Whose words a row speaks. A row of one dialect hides a common one of the same name when the
// program is called by that launcher's name; under other names it counts where no common row
// has the spelling.
enum Dialect : unsigned { kTorch = 1, kSlurm = 2, kHydra = 4, kEvery = 0xff };
Dialect dialect_of(const std::string& tool);

// The command line as far as it has been read.
struct Draft {
  JobSpec job;
  AppSpec app;                    // the one whose options are being read
  std::vector<EnvChange> shared;  // -genv, and -x of the first program: for every program
  bool shared_clean = false;
  bool lists_variables = false;  // so that not all of them go along
  std::string shared_directory;
  std::vector<std::string> ignored;  // options without effect, as written
  std::vector<std::string> ignored_mca;
  bool names_programs = false;         // --multi-prog: the program is a file of programs
  std::vector<std::string> more;       // words that an option stands for (--app), to be read next
  std::optional<double> time_limit_s;  // 0: none, whatever the environment says
  std::string starter;                 // the option that said how hosts are started, as written
  int app_files = 0;                   // read so far: lines of one may name another
  CommandLineContext around;
  Dialect dialect = kEvery;
};

// An option as found: its spelling as the user wrote it and its words.
struct Given {
  std::string spelling;
  std::vector<std::string> words;
};

using Apply = Result<void> (*)(Draft& draft, const Given& given);

// What becomes of an option: it acts, prun does so anyway, it is noted once that it has no effect,
// or it is refused: what it would do is not there, and the row's meaning says what to do instead.
enum class Effect { acts, as_always, noted, refused };
struct Action {
  constexpr Action(Apply how, Effect what = Effect::acts) : apply(how), effect(what) {}
  Apply apply;
  Effect effect;
};

// The options that something else than their own action asks about.
enum class Option {
  any,  // all others
  app_file,
  append_variable,
  bind_to,
  display,
  help,
  launcher,
  map_by,
  max_restarts,
  prepend_variable,
  rank_by,
  ranks_per_node,
  set_shared_variable,
  set_variable,
  stacks,
  stdin_to
};

enum class Section { ranks, placement, hosts, environment, output, running, torchrun, accepted };

struct OptionRow {
  const char* names;  // "np n c": separated by spaces, without dashes, '-' for '_'
  const char* words;  // "N", "NAME VALUE", "" for none, "[TOPIC]" for one after '=' only
  Section section;
  const char* meaning;
  const char* fallback;  // default as help shows it; "" for none
  Action action;
  unsigned dialect = kEvery;
  Option id = Option::any;
};

std::span<const OptionRow> option_rows();
std::vector<std::string> names_of(const OptionRow& row);
std::string meaning_of(const OptionRow& row);  // with its default
int words_of(const OptionRow& row);            // how many it takes; optional ones do not count
// `name` without dashes; '_' counts as '-'. nullptr: no such option.
const OptionRow* find_option(std::string name, Dialect dialect = kEvery);
// Whether a word that would go to the option of that row is an option itself; texts, commands and
// values of variables may look so.
bool is_option(const std::string& word, const OptionRow& before, Dialect dialect);
// "--np" and "-n": with the dashes help shows.
std::string dashed(const std::string& name);

struct SectionName {
  Section section;
  const char* topic;
  const char* title;
};
std::span<const SectionName> section_names();

// Shared by the functions that apply: a whole number from 1, or an error naming both.
inline constexpr int kMostSeconds = 1'000'000'000;  // of any wait or limit
// Of nothing there are more than ranks.
Result<int> positive(const Given& given, std::int64_t most = wireup::kMostRanks);
// "0-3,8" -> 0,1,2,3,8.
Result<std::vector<int>> number_list(const Given& given, const std::string& text);
Result<std::string> file_of(const Draft& draft, const Given& given);
// The one of `known` that `word` is, or that alone begins with it, in letters of either case;
// empty: none, or several.
std::string whole_word(const std::string& word, std::span<const char* const> known);

// The functions of the table, by file.
namespace apply {

// Rows that only set a member of the JobSpec, or of one of its parts.
template <auto Member>
Result<void> on(Draft& draft, const Given&) {
  draft.job.*Member = true;
  return {};
}
template <auto Part, auto Member>
Result<void> on_in(Draft& draft, const Given&) {
  (draft.job.*Part).*Member = true;
  return {};
}
template <auto Member>
Result<void> word(Draft& draft, const Given& given) {
  if (given.words[0].empty()) return fail(Code::arg, given.spelling + " needs a value");
  draft.job.*Member = given.words[0];
  return {};
}
template <auto Part, auto Member>
Result<void> word_in(Draft& draft, const Given& given) {
  if (given.words[0].empty()) return fail(Code::arg, given.spelling + " needs a value");
  (draft.job.*Part).*Member = given.words[0];
  return {};
}
template <auto Member>
Result<void> number(Draft& draft, const Given& given) {
  TUTTI_TRY(value, positive(given));
  draft.job.*Member = value;
  return {};
}
template <auto Part, auto Member>
Result<void> number_in(Draft& draft, const Given& given) {
  TUTTI_TRY(value, positive(given));
  (draft.job.*Part).*Member = value;
  return {};
}
template <MapBy Policy>
Result<void> map_as(Draft& draft, const Given&) {
  draft.job.placement.map_by = Policy;
  return {};
}
template <BindTo Target>
Result<void> bind_as(Draft& draft, const Given&) {
  draft.job.placement.bind_to = Target;
  return {};
}

// placement.cc
Result<void> map_by(Draft& draft, const Given& given);
Result<void> rank_by(Draft& draft, const Given& given);
Result<void> bind_to(Draft& draft, const Given& given);
// counts.cc
Result<void> ranks_per_object(Draft& draft, const Given& given);
Result<void> ranks(Draft& draft, const Given& given);
Result<void> ranks_per_node(Draft& draft, const Given& given);
Result<void> ranks_per_package(Draft& draft, const Given& given);
Result<void> one_per_node(Draft& draft, const Given& given);
Result<void> round_robin(Draft& draft, const Given& given);
Result<void> node_count(Draft& draft, const Given& given);
Result<void> slurm_job(Draft& draft, const Given& given);
Result<void> universe(Draft& draft, const Given& given);
Result<void> cpus_per_rank(Draft& draft, const Given& given);
Result<void> gpus_per_rank(Draft& draft, const Given& given);
Result<void> cpu_set(Draft& draft, const Given& given);
Result<void> rankfile(Draft& draft, const Given& given);
Result<void> rank_map(Draft& draft, const Given& given);
Result<void> memory_binding(Draft& draft, const Given& given);
Result<void> oversubscribe(Draft& draft, const Given& given);
Result<void> no_oversubscribe(Draft& draft, const Given& given);
// environment.cc
Result<void> export_variable(Draft& draft, const Given& given);
Result<void> set_variable(Draft& draft, const Given& given);
Result<void> list_variables(Draft& draft, const Given& given);
Result<void> set_shared_variable(Draft& draft, const Given& given);
Result<void> gpu_support(Draft& draft, const Given& given);
Result<void> memory_kinds(Draft& draft, const Given& given);
Result<void> interfaces(Draft& draft, const Given& given);
Result<void> other_interfaces(Draft& draft, const Given& given);  // all but these
Result<void> link_security(Draft& draft, const Given& given);
Result<void> list_shared_variables(Draft& draft, const Given& given);
Result<void> unset_variable(Draft& draft, const Given& given);
Result<void> append_variable(Draft& draft, const Given& given);
Result<void> prepend_variable(Draft& draft, const Given& given);
Result<void> export_list(Draft& draft, const Given& given);
Result<void> clean(Draft& draft, const Given& given);
Result<void> shared_clean(Draft& draft, const Given& given);
Result<void> search_path(Draft& draft, const Given& given);
Result<void> app_prefix(Draft& draft, const Given& given);
Result<void> working_directory(Draft& draft, const Given& given);
Result<void> shared_working_directory(Draft& draft, const Given& given);
Result<void> tcp_links(Draft& draft, const Given& given);
Result<void> costs(Draft& draft, const Given& given);
// mca.cc, files.cc
Result<void> mca(Draft& draft, const Given& given);
Result<void> runtime_options(Draft& draft, const Given& given);
Result<void> slurm_mpi(Draft& draft, const Given& given);
Result<void> tune(Draft& draft, const Given& given);
Result<void> app_file(Draft& draft, const Given& given);
Result<void> multi_prog(Draft& draft, const Given& given);
// outputs.cc
Result<void> tag_output(Draft& draft, const Given& given);
Result<void> label(Draft& draft, const Given& given);
Result<void> slurm_label(Draft& draft, const Given& given);
Result<void> tag_pattern(Draft& draft, const Given& given);
Result<void> output_directory(Draft& draft, const Given& given);
Result<void> output_filename(Draft& draft, const Given& given);
Result<void> output(Draft& draft, const Given& given);
Result<void> json(Draft& draft, const Given& given);
Result<void> xml(Draft& draft, const Given& given);
Result<void> out_file(Draft& draft, const Given& given);
Result<void> err_file(Draft& draft, const Given& given);
Result<void> slurm_out_file(Draft& draft, const Given& given);
Result<void> slurm_err_file(Draft& draft, const Given& given);
Result<void> only_ranks(Draft& draft, const Given& given);
Result<void> only_local_ranks(Draft& draft, const Given& given);
Result<void> redirects(Draft& draft, const Given& given);
Result<void> tees(Draft& draft, const Given& given);
Result<void> log_folder(Draft& draft, const Given& given);
// settings.cc
Result<void> host(Draft& draft, const Given& given);
Result<void> exclude(Draft& draft, const Given& given);
Result<void> hostfile(Draft& draft, const Given& given);
Result<void> virtual_hosts(Draft& draft, const Given& given);
Result<void> link_rate(Draft& draft, const Given& given);
Result<void> link_delay(Draft& draft, const Given& given);
Result<void> launch_agent(Draft& draft, const Given& given);
Result<void> agent_args(Draft& draft, const Given& given);
Result<void> launcher(Draft& draft, const Given& given);
Result<void> listen(Draft& draft, const Given& given);
Result<void> join(Draft& draft, const Given& given);
Result<void> stdin_to(Draft& draft, const Given& given);
Result<void> timeout(Draft& draft, const Given& given);
Result<void> hang_report(Draft& draft, const Given& given);
Result<void> start_timeout(Draft& draft, const Given& given);
Result<void> slurm_time(Draft& draft, const Given& given);
Result<void> display(Draft& draft, const Given& given);
Result<void> max_restarts(Draft& draft, const Given& given);
Result<void> kill_on_bad_exit(Draft& draft, const Given& given);
Result<void> no_recovery(Draft& draft, const Given& given);
Result<void> no_kill(Draft& draft, const Given& given);
Result<void> show_help(Draft& draft, const Given& given);
Result<void> show_page(Draft& draft, const Given& given);
Result<void> show_version(Draft& draft, const Given& given);
Result<void> show_check(Draft& draft, const Given& given);
Result<void> show_jobs(Draft& draft, const Given& given);
Result<void> show_stacks(Draft& draft, const Given& given);
Result<void> attach_debugger(Draft& draft, const Given& given);
Result<void> nothing(Draft& draft, const Given& given);
Result<void> note_only(Draft& draft, const Given& given);
// torch.cc
Result<void> standalone(Draft& draft, const Given& given);
Result<void> nnodes(Draft& draft, const Given& given);
Result<void> per_node_word(Draft& draft, const Given& given);
Result<void> node_rank(Draft& draft, const Given& given);
Result<void> run_id(Draft& draft, const Given& given);
Result<void> rendezvous_backend(Draft& draft, const Given& given);
Result<void> rendezvous_endpoint(Draft& draft, const Given& given);
Result<void> rendezvous_conf(Draft& draft, const Given& given);
Result<void> master_port(Draft& draft, const Given& given);
Result<void> module(Draft& draft, const Given& given);
Result<void> no_python(Draft& draft, const Given& given);
Result<void> run_path(Draft& draft, const Given& given);
Result<void> pass_local_rank(Draft& draft, const Given& given);
Result<void> use_environment(Draft& draft, const Given& given);
}  // namespace apply

inline constexpr Action kAsAlways{apply::nothing, Effect::as_always};
inline constexpr Action kNoted{apply::note_only, Effect::noted};
inline constexpr Action kRefused{apply::nothing, Effect::refused};

// mca.cc: variables of other launchers as defaults (OMPI_MCA_*, HYDRA_*); and the hostfile among
// them, for jobs that name no hosts.
Result<void> read_launcher_variables(Draft& draft);
std::string default_hostfile(const Draft& draft);
// torch.cc: PET_* variables as defaults; the end of a torchrun line: python before the script.
Result<void> read_torch_variables(Draft& draft);
Result<void> finish_torch(Draft& draft, const std::string& tool);
// files.cc: the file of programs that srun's --multi-prog names, for the program being read.
Result<void> read_programs(Draft& draft);
// outputs.cc: srun's letters to ours: %t rank, %n host number, %N host, %j and %J job, %s step.
std::string ours_of_slurm(const std::string& pattern);
// variables.cc: takes out what only the launcher can say (wireup::kLaunchersOwn); returns the
// names.
std::vector<std::string> drop_launchers_own(std::vector<EnvChange>& changes);

}  // namespace tutti::launch::cli
