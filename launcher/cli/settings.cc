// Options about hosts and running, and those that are accepted for others' sake.
#include <array>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <span>

#include "base/text.h"
#include "cli/options.h"

namespace tutti::launch::cli {
namespace {

constexpr double kLeastSeconds = 1e-3;

Result<double> seconds_of(const Given& given) {
  const std::string& word = given.words[0];
  char* end = nullptr;
  const double seconds = std::strtod(word.c_str(), &end);
  const bool whole = !word.empty() && *end == '\0';
  if (!whole || !(seconds >= kLeastSeconds && seconds <= kMostSeconds))
    return fail(Code::arg,
                given.spelling + " needs seconds, from 0.001 to 1000000000, not '" + word + "'");
  return seconds;
}

Result<double> seconds_or_never(const Given& given) {
  return given.words[0] == "0" ? 0.0 : seconds_of(given);
}

// tc's units of rates, in bit/s, and of times, in seconds.
struct Unit {
  const char* name;
  double scale;
};
constexpr std::array kRateUnits{
    Unit{"", 1},           Unit{"bit", 1},        Unit{"kbit", 1e3},     Unit{"mbit", 1e6},
    Unit{"gbit", 1e9},     Unit{"tbit", 1e12},    Unit{"bps", 8},        Unit{"kbps", 8e3},
    Unit{"mbps", 8e6},     Unit{"gbps", 8e9},     Unit{"tbps", 8e12},    Unit{"kibit", 1024.0},
    Unit{"mibit", 0x1p20}, Unit{"gibit", 0x1p30}, Unit{"tibit", 0x1p40}, Unit{"kibps", 0x1p13},
    Unit{"mibps", 0x1p23}, Unit{"gibps", 0x1p33}, Unit{"tibps", 0x1p43}};
constexpr std::array kTimeUnits{Unit{"", 1e-6},      Unit{"s", 1},     Unit{"sec", 1},
                                Unit{"secs", 1},     Unit{"ms", 1e-3}, Unit{"msec", 1e-3},
                                Unit{"msecs", 1e-3}, Unit{"us", 1e-6}, Unit{"usec", 1e-6},
                                Unit{"usecs", 1e-6}};

// Nothing: it is no number with one of these units.
std::optional<double> measure(const std::string& word, std::span<const Unit> units) {
  char* end = nullptr;
  const double number = std::strtod(word.c_str(), &end);
  const std::string unit = text::lower(end);
  for (const Unit& row : units)
    if (end != word.c_str() && unit == row.name) return number * row.scale;
  return std::nullopt;
}

// "[ADDRESS:]PORT": the port is looked at here, the address where it is used.
Result<void> check_endpoint(const Given& given) {
  const std::string& word = given.words[0];
  const auto port = text::parse_int(word.substr(word.rfind(':') + 1));
  if (port && *port >= 0 && *port <= 65535) return {};
  return fail(Code::arg, given.spelling + " needs ADDRESS:PORT or PORT, not '" + word + "'");
}

// Hosts are made here or reached; of two options of one kind the later counts, and what a variable
// says gives way.
Result<void> start_by(Draft& draft, const Given& given, Starter starter) {
  const bool is_option = given.spelling.starts_with('-');
  const std::string written =
      given.spelling + (given.words.empty() ? "" : " " + given.words.front());
  const bool are_made = starter == Starter::virtual_hosts;
  const bool were_made = draft.job.starter == Starter::virtual_hosts;
  if (is_option && !draft.starter.empty() && are_made != were_made)
    return fail(Code::arg,
                written + " and " + draft.starter + " contradict each other; leave one out");
  if (is_option) draft.starter = written;
  draft.job.starter = starter;
  draft.job.starter_given = true;
  return {};
}

}  // namespace

namespace apply {

Result<void> host(Draft& draft, const Given& given) {
  if (given.words[0].empty())
    return fail(Code::arg, given.spelling + " needs hosts, such as a:2,b:2");
  draft.app.hosts.push_back(given.words[0]);
  return {};
}

Result<void> exclude(Draft& draft, const Given& given) {
  for (const std::string& name : text::split(given.words[0], ','))
    if (!name.empty()) draft.job.placement.excluded.push_back(name);
  return {};
}

Result<void> hostfile(Draft& draft, const Given& given) {
  if (given.words[0].empty()) return fail(Code::arg, given.spelling + " needs a file");
  draft.app.hostfiles.push_back(given.words[0]);
  return {};
}

Result<void> virtual_hosts(Draft& draft, const Given& given) {
  return start_by(draft, given, Starter::virtual_hosts);
}

Result<void> link_rate(Draft& draft, const Given& given) {
  const auto rate = measure(given.words[0], kRateUnits);
  if (!rate || !(*rate >= 1 && *rate <= 1e15))
    return fail(Code::arg, given.spelling + " needs a rate such as 10gbit or 500mbit, not '" +
                               given.words[0] + "'");
  draft.job.virtual_rate = given.words[0];
  return {};
}

Result<void> link_delay(Draft& draft, const Given& given) {
  const auto delay = measure(given.words[0], kTimeUnits);
  if (!delay || !(*delay >= 0 && *delay <= 100))
    return fail(Code::arg, given.spelling +
                               " needs a time such as 50us or 2ms, 100 s at most, not '" +
                               given.words[0] + "'");
  draft.job.virtual_delay = given.words[0];
  return {};
}

// The agent may bring its own arguments: --launch-agent "ssh -p 2222".
Result<void> launch_agent(Draft& draft, const Given& given) {
  std::vector<std::string> words;
  for (const std::string& word : text::split(given.words[0], ' '))
    if (!word.empty()) words.push_back(word);
  if (words.empty()) return fail(Code::arg, given.spelling + " needs a command");
  draft.job.launch_agent = words[0];
  draft.job.agent_args.insert(draft.job.agent_args.end(), words.begin() + 1, words.end());
  draft.job.starter_given = true;
  return {};
}

Result<void> agent_args(Draft& draft, const Given& given) {
  for (const std::string& word : text::split(given.words[0], ' '))
    if (!word.empty()) draft.job.agent_args.push_back(word);
  return {};
}

Result<void> launcher(Draft& draft, const Given& given) {
  const std::string& name = given.words[0];
  if (name == "rsh") draft.job.launch_agent = "rsh";
  if (name == "ssh" || name == "rsh") return start_by(draft, given, Starter::ssh);
  if (name == "fork") return start_by(draft, given, Starter::local);
  if (name == "slurm" || name == "srun") {
    draft.job.slurm_asked = given.spelling + " " + name;
    return start_by(draft, given, Starter::slurm);
  }
  if (name == "pbs" || name == "pbsdsh" || name == "lsf" || name == "sge" || name == "ll")
    draft.ignored.push_back(given.spelling + " " + name + " (ssh reaches the hosts)");
  else
    return fail(Code::unsupported,
                given.spelling + " " + name + " is not supported; known are ssh, rsh, slurm, fork");
  draft.job.starter_given = true;
  return {};
}

Result<void> listen(Draft& draft, const Given& given) {
  TUTTI_DO(check_endpoint(given));
  draft.job.listen = given.words[0];
  return {};
}

Result<void> join(Draft& draft, const Given& given) {
  TUTTI_DO(check_endpoint(given));
  if (given.words[0].find(':') == std::string::npos)
    return fail(Code::arg, given.spelling + " needs ADDRESS:PORT, as 'prun --listen' says it");
  draft.job.command = JoinJob{given.words[0]};
  return {};
}

Result<void> stdin_to(Draft& draft, const Given& given) {
  std::vector<std::string> who;
  for (const std::string& word : text::split(given.words[0], ',')) {
    const auto rank = text::parse_int(word);
    const bool alone = (word == "all" || word == "none") && given.words[0] == word;
    if (!alone && (!rank || *rank < 0))
      return fail(Code::arg, given.spelling + " needs all, none or ranks such as 0,2, not '" +
                                 given.words[0] + "'; a file is read by '< FILE'");
    who.push_back(word);
  }
  draft.job.stdin_to = std::move(who);
  return {};
}

Result<void> timeout(Draft& draft, const Given& given) {
  TUTTI_TRY(seconds, seconds_or_never(given));
  draft.time_limit_s = seconds;
  return {};
}

Result<void> hang_report(Draft& draft, const Given& given) {
  TUTTI_TRY(seconds, seconds_or_never(given));
  draft.job.hang_report_s = seconds;
  return {};
}

Result<void> start_timeout(Draft& draft, const Given& given) {
  TUTTI_TRY(seconds, seconds_of(given));
  draft.job.start_timeout_s = seconds;
  return {};
}

// minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]]; 0, UNLIMITED,
// INFINITE: no limit.
Result<void> slurm_time(Draft& draft, const Given& given) {
  const std::string& word = given.words[0];
  if (text::lower(word) == "unlimited" || text::lower(word) == "infinite") {
    draft.time_limit_s = 0;
    return {};
  }
  const auto dash = word.find('-');
  const auto parts = text::split(dash == std::string::npos ? word : word.substr(dash + 1), ':');
  const bool from_hours = dash != std::string::npos || parts.size() == 3;
  double unit = from_hours ? 3600 : 60;
  const auto days = dash == std::string::npos ? 0 : text::parse_int(word.substr(0, dash));
  double seconds = 86400.0 * static_cast<double>(days.value_or(0));
  bool good = days.has_value() && *days >= 0 && parts.size() <= 3;
  for (const std::string& part : parts) {
    const auto value = text::parse_int(part);
    good = good && value && *value >= 0;
    seconds += unit * static_cast<double>(value.value_or(0));
    unit /= 60;
  }
  if (!good)
    return fail(Code::arg,
                given.spelling + " needs minutes, M:S, H:M:S or D-H, not '" + word + "'");
  if (seconds > kMostSeconds)
    return fail(Code::arg, given.spelling + " " + word +
                               " is more than 1000000000 seconds; UNLIMITED sets no limit");
  draft.time_limit_s = seconds;
  return {};
}

Result<void> display(Draft& draft, const Given& given) {
  for (const std::string& written : text::split(given.words[0], ',')) {
    constexpr std::array kKnown{"map", "map-devel", "allocation", "bindings", "topology"};
    const std::string word = whole_word(written.substr(0, written.find_first_of(":=")), kKnown);
    if (word == "map" || word == "map-devel")
      draft.job.display_map = true;
    else if (word == "allocation")
      draft.job.display_allocation = true;
    else if (word == "bindings")
      draft.job.report_bindings = true;
    else if (word == "topology")
      draft.job.display_topo = true;
    else
      return fail(Code::arg, given.spelling + " '" + written +
                                 "' is not known; known are map, allocation, bindings, topo");
  }
  return {};
}

Result<void> max_restarts(Draft& draft, const Given& given) {
  const auto count = text::parse_int(given.words[0]);
  if (!count || *count < 0 || *count > (1 << 20))
    return fail(Code::arg, given.spelling + " needs a whole number, not '" + given.words[0] + "'");
  draft.job.rank.max_restarts = static_cast<int>(*count);
  return {};
}

Result<void> kill_on_bad_exit(Draft& draft, const Given& given) {
  draft.job.keep_going = !given.words.empty() && given.words[0] == "0";
  return {};
}

Result<void> no_kill(Draft& draft, const Given& given) {
  draft.job.keep_going = given.words.empty() || given.words[0] != "off";
  return {};
}

Result<void> no_recovery(Draft& draft, const Given&) {
  draft.job.keep_going = false;
  draft.job.rank.max_restarts = 0;
  return {};
}

Result<void> show_help(Draft& draft, const Given& given) {
  draft.job.command = PrintHelp{given.words.empty() ? "" : given.words[0]};
  return {};
}

Result<void> show_page(Draft& draft, const Given& given) {
  if (page_text(given.words[0]).empty())
    return fail(Code::arg, given.spelling + " " + given.words[0] +
                               ": no such page; there are man, bash, zsh, fish and options");
  draft.job.command = PrintPage{given.words[0]};
  return {};
}

Result<void> show_version(Draft& draft, const Given&) {
  draft.job.command = PrintVersion{};
  return {};
}

Result<void> show_jobs(Draft& draft, const Given&) {
  draft.job.command = ListJobs{};
  return {};
}

Result<void> show_stacks(Draft& draft, const Given& given) {
  draft.job.command = PrintStacks{given.words.empty() ? "" : given.words[0]};
  return {};
}

Result<void> attach_debugger(Draft& draft, const Given& given) {
  const std::string& wish = given.words[0];
  const std::size_t cut = wish.find('@');
  const auto rank = text::parse_int(wish.substr(0, cut));
  if (!rank || *rank < 0 || *rank > INT_MAX)
    return fail(Code::arg, given.spelling + " " + wish +
                               ": not a rank; write 3, or 3@JOB where several jobs run");
  draft.job.command =
      AttachDebugger{static_cast<int>(*rank), cut == std::string::npos ? "" : wish.substr(cut + 1)};
  return {};
}

Result<void> show_check(Draft& draft, const Given&) {
  draft.job.command = CheckHosts{};
  return {};
}

Result<void> nothing(Draft&, const Given&) {
  return {};
}

Result<void> note_only(Draft& draft, const Given& given) {
  draft.ignored.push_back(given.spelling);
  return {};
}

}  // namespace apply
}  // namespace tutti::launch::cli
