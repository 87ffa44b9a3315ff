// argv -> JobSpec: programs separated by ':', each with its options in front of it.
//
// One pass over the words. An option is looked up in the table without its dashes; its words
// are what follows '=' and then the next words. The first word that is no option is the
// program; everything from there to ':' or the end belongs to it, whatever it looks like.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/options.h"
#include "wireup/protocol.h"

namespace tutti::launch::cli {
namespace {

class Parser {
 public:
  Parser(const std::vector<std::string>& argv, const CommandLineContext& around)
      : argv_(argv), tool_(argv.empty() ? "prun" : argv[0].substr(argv[0].rfind('/') + 1)) {
    draft_.around = around;
    draft_.dialect = dialect_of(tool_);
    draft_.job.torch.used = draft_.job.torch.agent = draft_.dialect == kTorch;
    draft_.job.rank.as_srun = draft_.dialect == kSlurm;
    draft_.job.torch.pass_local_rank = tool_ == "torch.distributed.launch";
  }

  Result<JobSpec> run() {
    TUTTI_DO(read_launcher_variables(draft_));
    if (draft_.job.torch.used) TUTTI_DO(read_torch_variables(draft_));
    while (at_ < argv_.size()) {
      const std::string& word = argv_[at_];
      if (word == ":") {
        TUTTI_DO(end_app());
        ++at_;
      } else if (word.size() > 1 && word.front() == '-' && word != "--") {
        TUTTI_DO(option());
        if (asks_instead()) return std::move(draft_.job);
      } else {
        TUTTI_DO(program());
      }
    }
    if (!runs_job()) {
      draft_.job.apps.push_back(std::move(draft_.app));
    } else {
      TUTTI_DO(end_app());
    }
    TUTTI_DO(finish());
    return std::move(draft_.job);
  }

 private:
  bool runs_job() const { return std::holds_alternative<RunJob>(draft_.job.command); }
  // --help and --version need no program and no further reading.
  bool asks_instead() const {
    return !runs_job() && !std::holds_alternative<CheckHosts>(draft_.job.command) &&
           !std::holds_alternative<JoinJob>(draft_.job.command);
  }

  Result<void> program() {
    if (argv_[at_] == "--") ++at_;
    while (at_ < argv_.size() && argv_[at_] != ":") draft_.app.argv.push_back(argv_[at_++]);
    return std::exchange(draft_.names_programs, false) ? read_programs(draft_) : Result<void>{};
  }

  // ": ./app is the FILE of -trace", where the last option's word is a program; else nothing.
  std::string swallowed() const {
    if (last_.words.empty() || !draft_.around.is_program ||
        !draft_.around.is_program(last_.words.back()))
      return "";
    return ": " + last_.words.back() + " is the " + last_row_->words + " of " + last_.spelling;
  }

  Result<void> end_app() {
    if (draft_.app.argv.empty() || draft_.app.argv[0].empty())
      return fail(Code::arg,
                  draft_.job.apps.empty() && at_ >= argv_.size()
                      ? "no program to run" + swallowed() + "; '" + tool_ + " --help' shows how"
                      : std::string("no program beside ':'; write PROGRAM : PROGRAM"));
    draft_.job.apps.push_back(std::move(draft_.app));
    draft_.app = AppSpec{};
    return {};
  }

  Result<void> option() {
    Given given;
    given.spelling = argv_[at_].substr(0, argv_[at_].find('='));
    const bool has_value = given.spelling.size() < argv_[at_].size();
    if (has_value) given.words.push_back(argv_[at_].substr(given.spelling.size() + 1));
    const std::string name = given.spelling.substr(given.spelling.compare(0, 2, "--") == 0 ? 2 : 1);
    const OptionRow* row = find_option(name, draft_.dialect);
    if (row == nullptr) row = find_with_number(given);
    if (row == nullptr && draft_.dialect == kTorch) row = find_by_beginning(name);
    if (row == nullptr) row = find_by_letter(given);
    if (row == nullptr) return unknown(given.spelling, name);
    ++at_;
    TUTTI_DO(take_words(*row, given));
    last_row_ = row;
    last_ = given;
    if (row->action.effect == Effect::refused)
      return fail(Code::unsupported, given.spelling + " is not supported: " + row->meaning);
    TUTTI_DO(row->action.apply(draft_, given));
    if (row->id == Option::app_file && at_ < argv_.size() && argv_[at_] != ":")
      return fail(Code::arg, (argv_[at_].empty() ? "''" : argv_[at_]) + " stands behind " +
                                 given.spelling +
                                 ", whose lines are whole programs; options go before it");
    argv_.insert(argv_.begin() + static_cast<std::ptrdiff_t>(at_), draft_.more.begin(),
                 draft_.more.end());
    draft_.more.clear();
    return {};
  }

  // torchrun takes any unmistakable beginning of a name.
  static const OptionRow* find_by_beginning(std::string name) {
    std::replace(name.begin(), name.end(), '_', '-');
    const OptionRow* found = nullptr;
    for (const OptionRow& row : option_rows()) {
      const auto names = names_of(row);
      const bool fits = (row.dialect == kTorch || row.id == Option::ranks_per_node) &&
                        name.size() > 1 && names[0].starts_with(name);
      if (fits && found != nullptr) return nullptr;
      if (fits) found = &row;
    }
    return found;
  }

  // "-pdebug": a letter with its word, where the launcher reads its line so; "-lu" is "-l -u".
  const OptionRow* find_by_letter(Given& given) {
    const std::string word = argv_[at_];
    const bool reads_so = draft_.dialect == kSlurm || draft_.dialect == kTorch;
    if (!reads_so || word.size() < 3 || word[1] == '-') return nullptr;
    const OptionRow* row = find_option(word.substr(1, 1), draft_.dialect);
    const bool is_number = text::parse_int(word.substr(2)).has_value();  // srun's "-I5"
    if (row == nullptr || (row->words[0] == '[' && !is_number)) return nullptr;
    given.spelling = word.substr(0, 2);
    given.words.clear();
    if (words_of(*row) > 0 || row->words[0] == '[')
      given.words.push_back(word.substr(2));
    else
      draft_.more.push_back("-" + word.substr(2));
    return row;
  }

  // srun's "-n4": a letter with its number.
  const OptionRow* find_with_number(Given& given) const {
    const std::string& word = given.spelling;
    const auto digits = word.find_first_of("0123456789");
    if (!given.words.empty() || digits == std::string::npos || word[1] == '-') return nullptr;
    const std::string name = word.substr(1, digits - 1);
    if (name != "n" && name != "np" && name != "N" && name != "c" && name != "ppn" && name != "K")
      return nullptr;
    given.words.push_back(word.substr(digits));
    given.spelling.resize(digits);
    return find_option(name, draft_.dialect);
  }

  Result<void> take_words(const OptionRow& row, Given& given) {
    const auto wanted = static_cast<std::size_t>(words_of(row));
    const bool optional = row.words[0] == '[';
    if (optional) {
      // "--help exit", "--stacks 4711": the next word counts when it is no option, or a number.
      const bool more = given.words.empty() && at_ < argv_.size();
      if (more && ((row.id == Option::help && !argv_[at_].starts_with('-')) ||
                   (row.id == Option::stacks && text::parse_int(argv_[at_]))))
        given.words.push_back(argv_[at_++]);
      return {};
    }
    if (given.words.size() > wanted)
      return fail(Code::arg,
                  given.spelling + " takes no value; leave out '=" + given.words[0] + "'");
    while (given.words.size() < wanted && at_ < argv_.size()) {
      if (pair_is_complete(row, given)) return {};
      if (is_option(argv_[at_], row, draft_.dialect))
        return fail(Code::arg, given.spelling + " needs " + row.words + " after it, not " +
                                   argv_[at_] + "; write " + given.spelling + "=" + argv_[at_] +
                                   " if that is meant");
      given.words.push_back(argv_[at_++]);
    }
    if (given.words.size() == wanted || pair_is_complete(row, given)) return {};
    return fail(Code::arg, given.spelling + " needs " + row.words + " after it");
  }

  // "-env NAME=VALUE" is as good as "-env NAME VALUE".
  static bool pair_is_complete(const OptionRow& row, const Given& given) {
    const bool is_variable =
        row.id == Option::set_variable || row.id == Option::set_shared_variable ||
        row.id == Option::append_variable || row.id == Option::prepend_variable;
    return is_variable && given.words.size() == 1 && given.words[0].find('=') != std::string::npos;
  }

  Result<void> unknown(const std::string& spelling, const std::string& name) const {
    std::string wanted = name;
    std::replace(wanted.begin(), wanted.end(), '_', '-');
    std::vector<std::string> names;
    for (const OptionRow& row : option_rows())
      for (const std::string& known : names_of(row))
        if (known.size() > 1) names.push_back(known);
    const std::string near = text::nearest(wanted, names);
    return fail(Code::arg, "unknown option " + spelling +
                               (near.empty() ? "" : "; did you mean " + dashed(near) + "?") +
                               (near.empty() ? "; '" + tool_ + " --help=all' lists all" : ""));
  }

  Result<void> finish() {
    const bool sends_all = draft_.dialect == kHydra || draft_.dialect == kSlurm;
    if (sends_all && !draft_.lists_variables) draft_.job.whole_environment = true;
    std::vector<std::string> launchers_own;
    for (AppSpec& app : draft_.job.apps) {
      std::vector<EnvChange> merged;
      for (const EnvChange& change : draft_.shared) {
        const bool own =
            std::any_of(app.environment.begin(), app.environment.end(),
                        [&](const EnvChange& mine) { return mine.name == change.name; });
        if (!own) merged.push_back(change);
      }
      merged.insert(merged.end(), app.environment.begin(), app.environment.end());
      app.environment = std::move(merged);
      for (std::string& name : drop_launchers_own(app.environment))
        launchers_own.push_back(std::move(name));
      if (app.working_directory.empty()) app.working_directory = draft_.shared_directory;
      app.clean_environment = app.clean_environment || draft_.shared_clean;
    }
    if (hosts_of(draft_.job).empty() && hostfiles_of(draft_.job).empty() &&
        !draft_.job.apps.empty() && !draft_.job.torch.agent)
      if (const std::string file = default_hostfile(draft_); !file.empty())
        draft_.job.apps[0].hostfiles.push_back(file);
    const Placement& placement = draft_.job.placement;
    const bool names_hosts = !hosts_of(draft_.job).empty() || !hostfiles_of(draft_.job).empty();
    if (draft_.dialect == kHydra && names_hosts && placement.map_by == MapBy::slot &&
        placement.ranks_per_object == 0 && !placement.no_oversubscribe)
      draft_.job.placement.in_turns = true;
    TUTTI_DO(finish_torch(draft_, tool_));
    TUTTI_DO(take_from_folder());
    if (placement.map_by == MapBy::pe_list && placement.cpu_set.empty())
      return fail(Code::arg, "--bind-to cpu-list needs the processors, by --cpu-list 0,2");
    draft_.job.rank.record = !draft_.job.trace_file.empty() ? "events"
                             : draft_.job.stats             ? "calls"
                                                            : "";
    TUTTI_DO(check_given_variables(draft_.job.apps));
    const auto own =
        draft_.around.variable ? draft_.around.variable(wireup::kCostsVariable) : std::nullopt;
    TUTTI_TRY(costs, costs_of(draft_.job.apps, own.value_or("")));
    draft_.job.rank.costs = std::move(costs);
    if (!draft_.time_limit_s && draft_.around.variable)
      if (const auto limit = draft_.around.variable("MPIEXEC_TIMEOUT"); limit && !limit->empty())
        TUTTI_DO(apply::timeout(draft_, Given{"MPIEXEC_TIMEOUT", {*limit}}));
    JobSpec& job = draft_.job;
    job.timeout_s = draft_.time_limit_s.value_or(0);
    tell(job.warnings, "not set here, so that ranks do not get it: ", exported_without_value());
    tell(job.warnings, "kept by the launcher, so that ranks do not get it: ", kept_back());
    tell(job.notes, "the launcher's own variables stay as they are: ", launchers_own);
    tell(job.notes, "without effect here: ", draft_.ignored);
    tell(job.notes, "MCA parameters without effect here: ", draft_.ignored_mca);
    return {};
  }

  // Open MPI's: a bare name that is not in PATH is a program of the working folder.
  Result<void> take_from_folder() {
    if (draft_.dialect != kEvery || !draft_.around.is_in_path || !draft_.around.is_program)
      return {};
    for (AppSpec& app : draft_.job.apps) {
      const bool has_own_path =
          std::any_of(app.environment.begin(), app.environment.end(),
                      [](const EnvChange& change) { return change.name == "PATH"; });
      if (has_own_path || app.argv.empty() || app.argv[0].find('/') != std::string::npos ||
          draft_.around.is_in_path(app.argv[0]))
        continue;
      const std::string& folder = app.working_directory;
      if (!draft_.around.is_program((folder.empty() ? "." : folder) + "/" + app.argv[0])) {
        if (last_.spelling == "-s" && (app.argv[0] == "all" || app.argv[0] == "none"))
          return fail(Code::arg, "'" + app.argv[0] + "' is no program; under the name " + tool_ +
                                     " -s is Open MPI's --preload-binary: for MPICH's and Intel "
                                     "MPI's say --stdin " +
                                     app.argv[0]);
        continue;
      }
      app.argv[0].insert(0, "./");
      draft_.job.notes.push_back(app.argv[0].substr(2) + " is not in PATH: " + app.argv[0] +
                                 " of the working folder is started");
    }
    return {};
  }

  std::vector<std::string> exported_without_value() const {
    std::vector<std::string> names;
    for (const AppSpec& app : draft_.job.apps)
      for (const EnvChange& change : app.environment)
        if (!change.unset && !change.value && !change.name.ends_with('*') &&
            change.name != wireup::kJoinKeyVariable && draft_.around.variable &&
            !draft_.around.variable(change.name))
          names.push_back(change.name);
    return names;
  }

  // job/parts.cc sends it to nobody.
  std::vector<std::string> kept_back() const {
    std::vector<std::string> names;
    for (const AppSpec& app : draft_.job.apps)
      for (const EnvChange& change : app.environment)
        if (!change.unset && change.name == wireup::kJoinKeyVariable) names.push_back(change.name);
    return names;
  }

  // One line for all of a kind, each name once.
  static void tell(std::vector<std::string>& lines, const std::string& prefix,
                   const std::vector<std::string>& names) {
    std::vector<std::string> seen;
    std::string line;
    for (const std::string& name : names) {
      if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
      seen.push_back(name);
      line += (line.empty() ? prefix : ", ") + name;
    }
    if (!line.empty()) lines.push_back(line);
  }

  std::vector<std::string> argv_;  // words that options stand for are put in
  const std::string tool_;
  std::size_t at_ = 1;
  const OptionRow* last_row_ = nullptr;  // the last option's, and how it was given
  Given last_;
  Draft draft_;
};

}  // namespace

Result<JobSpec> parse_command_line(const std::vector<std::string>& argv,
                                   const CommandLineContext& around) {
  return Parser(argv, around).run();
}

std::vector<std::string> hosts_of(const JobSpec& job) {
  std::vector<std::string> all;
  for (const AppSpec& app : job.apps) all.insert(all.end(), app.hosts.begin(), app.hosts.end());
  return all;
}

std::vector<std::string> hostfiles_of(const JobSpec& job) {
  std::vector<std::string> all;
  for (const AppSpec& app : job.apps)
    for (const std::string& file : app.hostfiles)
      if (std::find(all.begin(), all.end(), file) == all.end()) all.push_back(file);
  return all;
}

}  // namespace tutti::launch::cli
