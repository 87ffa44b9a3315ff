// The table of options: one row a flag, in the order help prints them.
//
// Where dialects disagree on a letter, Open MPI's meaning is taken (-N: ranks per node, -c:
// ranks), because its users are the most. One or two dashes, '-' or '_': all the same.
#include "cli/options.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace tutti::launch {
namespace {

constexpr Section kRanks = Section::ranks;
constexpr Section kPlacement = Section::placement;
constexpr Section kHosts = Section::hosts;
constexpr Section kEnvironment = Section::environment;
constexpr Section kOutput = Section::output;
constexpr Section kRunning = Section::running;
constexpr Section kAccepted = Section::accepted;

// clang-format off
constexpr std::array kRows{
    OptionRow{"np n c ntasks", "N", kRanks, "number of ranks of this program", "as many as slots", apply::ranks},
    OptionRow{"N npernode ppn perhost ntasks-per-node nproc-per-node", "N", kRanks, "ranks on each host", "", apply::ranks_per_node},
    OptionRow{"pernode", "", kRanks, "one rank on each host", "", apply::one_per_node},

    OptionRow{"map-by m distribution", "POLICY", kPlacement, "slot, node, core, hwthread, l3cache, numa, package or ppr:N:node; with modifiers, as in slot:OVERSUBSCRIBE,PE=2", "slot", apply::map_by},
    OptionRow{"bynode rr", "", kPlacement, "the same as --map-by node", "", apply::map_by_node},
    OptionRow{"byslot", "", kPlacement, "the same as --map-by slot", "", apply::map_by_slot},
    OptionRow{"bycore", "", kPlacement, "the same as --map-by core", "", apply::map_by_core},
    OptionRow{"rank-by", "ORDER", kPlacement, "slot: number the ranks host by host; node: in turn over the hosts", "as mapped", apply::rank_by},
    OptionRow{"bind-to binding cpu-bind", "TARGET", kPlacement, "none, hwthread, core, l3cache, numa or package", "core, where every rank can have one of its own", apply::bind_to},
    OptionRow{"bind-to-core", "", kPlacement, "the same as --bind-to core", "", apply::bind_to_core},
    OptionRow{"bind-to-none", "", kPlacement, "the same as --bind-to none", "", apply::bind_to_none},
    OptionRow{"cpus-per-rank cpus-per-proc cpus-per-task", "N", kPlacement, "cores a rank is bound to", "1", apply::cpus_per_rank},
    OptionRow{"use-hwthread-cpus", "", kPlacement, "a hardware thread counts as a core", "", apply::use_hwthreads},
    OptionRow{"oversubscribe O overcommit", "", kPlacement, "allow more ranks than slots", "", apply::oversubscribe},
    OptionRow{"nooversubscribe no-oversubscribe", "", kPlacement, "never more ranks than slots, on this machine neither", "", apply::no_oversubscribe},
    OptionRow{"report-bindings", "", kPlacement, "draw the cores each rank is bound to", "", apply::report_bindings},

    OptionRow{"host H hosts hostlist machines nodelist w", "HOSTS", kHosts, "a:2,b:2 names hosts and their slots; a name repeated adds up; picks from a hostfile when one is given", "this machine", apply::host},
    OptionRow{"hostfile machinefile f default-hostfile", "FILE", kHosts, "a file of hosts, one a line: 'a slots=2' or 'a:2'", "", apply::hostfile},
    OptionRow{"virtual", "", kHosts, "make the hosts on this machine, of namespaces; no root needed", "", apply::virtual_hosts},
    OptionRow{"link-rate virtual-rate", "RATE", kHosts, "rate of each virtual host's link, such as 10gbit", "unlimited", apply::link_rate},
    OptionRow{"link-delay virtual-delay", "TIME", kHosts, "delay of each virtual host's link, such as 50us", "none", apply::link_delay},
    OptionRow{"launch-agent launcher-exec bootstrap-exec", "COMMAND", kHosts, "command that reaches a host, instead of ssh", "ssh", apply::launch_agent},
    OptionRow{"launcher bootstrap", "NAME", kHosts, "ssh, rsh or fork (fork: this machine)", "ssh", apply::launcher},
    OptionRow{"report-links", "", kHosts, "print which link joins which ranks, and why", "", apply::report_links},

    OptionRow{"x", "NAME[=VALUE]", kEnvironment, "export a variable to the ranks", "", apply::export_variable},
    OptionRow{"env set-env", "NAME VALUE", kEnvironment, "set a variable for this program; NAME=VALUE as well", "", apply::set_variable},
    OptionRow{"genv", "NAME VALUE", kEnvironment, "set a variable for every program; NAME=VALUE as well", "", apply::set_shared_variable},
    OptionRow{"envlist", "NAMES", kEnvironment, "export A,B,... to this program", "", apply::list_variables},
    OptionRow{"genvlist", "NAMES", kEnvironment, "export A,B,... to every program", "", apply::list_shared_variables},
    OptionRow{"export", "LIST", kEnvironment, "srun's form: ALL,A,B=1", "", apply::export_list},
    OptionRow{"unset-env", "NAME", kEnvironment, "take a variable away from the ranks", "", apply::unset_variable},
    OptionRow{"wdir wd D chdir cwd", "FOLDER", kEnvironment, "working folder of the ranks of this program", "where prun was started", apply::working_directory},
    OptionRow{"gwdir", "FOLDER", kEnvironment, "working folder of every program", "", apply::shared_working_directory},
    OptionRow{"mca gmca omca prtemca pmixmca", "NAME VALUE", kEnvironment, "Open MPI's parameters: those known here take effect, the rest are noted once", "", apply::mca},

    OptionRow{"tag-output", "", kOutput, "each line starts with job, rank and stream: [1,3]<stdout>:", "", apply::tag_output},
    OptionRow{"label l prepend-rank", "", kOutput, "each line starts with its rank: [3]", "", apply::label},
    OptionRow{"timestamp-output", "", kOutput, "each line starts with the time it arrived", "", apply::timestamps},
    OptionRow{"merge-stderr-to-stdout", "", kOutput, "forward standard error as standard output", "", apply::merge_stderr},
    OptionRow{"output-directory output-filename log-dir", "FOLDER", kOutput, "a file for each rank and stream there", "", apply::output_directory},
    OptionRow{"output", "LIST", kOutput, "Open MPI's form: tag,timestamp,merge,dir=FOLDER", "", apply::output},

    OptionRow{"stdin i", "WHO", kRunning, "who reads standard input: all, none or ranks such as 0,2; others read end-of-file", "0", apply::stdin_to},
    OptionRow{"timeout", "SECONDS", kRunning, "end the job after this time", "none", apply::timeout},
    OptionRow{"dry-run do-not-launch test-only", "", kRunning, "print the plan and start nothing", "", apply::dry_run},
    OptionRow{"display", "LIST", kRunning, "map, allocation, bindings", "", apply::display},
    OptionRow{"display-map", "", kRunning, "print the plan before the job", "", apply::display_map},
    OptionRow{"display-allocation", "", kRunning, "print hosts and slots before the job", "", apply::display_allocation},
    OptionRow{"verbose v", "", kRunning, "say what is being done", "", apply::verbose},
    OptionRow{"check", "", kRunning, "prove that the hosts can run a job", "", apply::show_check},
    OptionRow{"version V info", "", kRunning, "print the version", "", apply::show_version},
    OptionRow{"help h ?", "[TOPIC]", kRunning, "print help; topics are the sections, exit, all, and any option", "", apply::show_help},

    OptionRow{"allow-run-as-root", "", kAccepted, "always allowed", "", apply::as_always},
    OptionRow{"envall genvall", "", kAccepted, "the environment is passed on anyway", "", apply::as_always},
    OptionRow{"kill-on-bad-exit K", "", kAccepted, "a failed rank ends the job anyway", "", apply::as_always},
    OptionRow{"unbuffered u", "", kAccepted, "lines are forwarded as they come", "", apply::as_always},
    OptionRow{"exitinfo print-all-exitcodes", "", kAccepted, "the failing rank is named anyway", "", apply::as_always},
    OptionRow{"q quiet show-progress", "", kAccepted, "no effect", "", apply::as_always},
    OptionRow{"personality", "NAME", kAccepted, "no effect", "", apply::no_effect},
    OptionRow{"prefix app-prefix path", "FOLDER", kAccepted, "hosts need no installation", "", apply::no_effect},
    OptionRow{"noprefix", "", kAccepted, "hosts need no installation", "", apply::no_effect},
    OptionRow{"tune am", "FILE", kAccepted, "no effect", "", apply::no_effect},
    OptionRow{"stream-buffering", "MODE", kAccepted, "no effect", "", apply::no_effect},
    OptionRow{"forward-signals", "LIST", kAccepted, "signals are forwarded anyway", "", apply::no_effect},
    OptionRow{"spawn-timeout", "SECONDS", kAccepted, "no effect", "", apply::no_effect},
    OptionRow{"get-stack-traces report-state-on-timeout", "", kAccepted, "no effect", "", apply::no_effect},
    OptionRow{"mpi rmk iface pmi-port usize initial-errhandler memory-alloc-kinds", "VALUE", kAccepted, "no effect", "", apply::no_effect},
    OptionRow{"with-ft max-restarts", "VALUE", kAccepted, "no effect", "", apply::no_effect},
    OptionRow{"enable-recovery disable-auto-cleanup", "", kAccepted, "no effect", "", apply::no_effect},
    OptionRow{"report-pid report-uri", "WHERE", kAccepted, "no effect", "", apply::no_effect},
    OptionRow{"gpus-per-proc g gpus-per-task", "N", kAccepted, "no effect", "", apply::no_effect},
    OptionRow{"preload-binary s", "", kAccepted, "no effect", "", apply::no_effect},
    OptionRow{"preload-files", "FILES", kAccepted, "no effect", "", apply::no_effect},
    OptionRow{"rankfile rf cpu-set cpu-list membind mem-bind", "VALUE", kAccepted, "not supported yet", "", apply::not_yet},
    OptionRow{"app configfile multi-prog", "FILE", kAccepted, "not supported yet; separate programs by ':'", "", apply::not_yet},
    OptionRow{"nolocal skip-launch-node envnone genvnone", "", kAccepted, "not supported yet", "", apply::not_yet},
    OptionRow{"outfile-pattern errfile-pattern prepend-pattern xterm", "VALUE", kAccepted, "not supported yet", "", apply::not_yet},
};
// clang-format on

}  // namespace

std::span<const OptionRow> option_rows() {
  return kRows;
}

std::vector<std::string> names_of(const OptionRow& row) {
  return text::split(row.names, ' ');
}

int words_of(const OptionRow& row) {
  const std::string words = row.words;
  if (words.empty() || words.front() == '[') return 0;
  return static_cast<int>(text::split(words, ' ').size());
}

const OptionRow* find_option(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  for (const OptionRow& row : kRows) {
    const auto names = names_of(row);
    if (std::find(names.begin(), names.end(), name) != names.end()) return &row;
  }
  return nullptr;
}

std::string dashed(const std::string& name) {
  return (name.size() == 1 ? "-" : "--") + name;
}

}  // namespace tutti::launch
