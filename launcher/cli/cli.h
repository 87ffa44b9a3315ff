// cli: argv in any dialect -> JobSpec. Pure: no environment, no files; both come in.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tutti::launch {

struct EnvChange {
  std::string name;
  std::optional<std::string> value;  // empty: export the launcher's own value
  bool unset = false;
};

enum class MapBy { slot, node, core, numa, package, hwthread, l3cache };
enum class RankBy { unset, slot, node };  // unset: in the order of mapping
enum class BindTo { unset, none, core, hwthread, numa, package, l3cache };

// One program of the job; `:` separates them.
struct AppSpec {
  int ranks = 0;  // 0: as many as there are slots
  std::vector<std::string> argv;
  std::string working_directory;  // empty: the launcher's
  std::vector<EnvChange> environment;
  std::vector<std::string> hosts;  // "a:2", as written; per app
  std::vector<std::string> hostfiles;
};

// How ranks are placed, numbered and bound.
struct Placement {
  MapBy map_by = MapBy::slot;
  RankBy rank_by = RankBy::unset;
  int ranks_per_node = 0;  // 0: no limit but the slots
  int cpus_per_rank = 1;
  BindTo bind_to = BindTo::unset;
  bool oversubscribe = false;
  bool no_oversubscribe = false;
  bool use_hwthreads = false;
};

struct OutputSpec {
  bool tag = false;  // "[1,3]<stdout>: " before each line
  bool timestamps = false;
  bool label = false;  // Hydra's -l: "[3] "
  bool merge_stderr = false;
  std::string directory;  // per-rank files
};

enum class Starter { ssh, local, virtual_hosts };

struct JobSpec {
  std::vector<AppSpec> apps;
  Placement placement;
  OutputSpec output;
  Starter starter = Starter::ssh;  // local is chosen by itself when every host is this one
  std::string launch_agent;        // empty: ssh
  std::vector<std::string> agent_args;
  std::string virtual_rate;                // "10gbit"; empty: unlimited
  std::string virtual_delay;               // "50us"; empty: none
  std::vector<std::string> stdin_to{"0"};  // "all", "none" or ranks
  double timeout_s = 0;                    // 0: none
  bool report_bindings = false;
  bool report_links = false;
  bool dry_run = false;
  bool display_map = false;
  bool display_allocation = false;
  bool verbose = false;
  bool allow_run_as_root = true;
  std::vector<std::string> notes;  // options accepted and without effect, one line each
  // What was asked instead of a job; empty: run it.
  std::string show;  // "help", "help=exit", "version", "check" ...
};

// argv[0] decides the dialect's name in messages. Errors: one line, with the nearest option.
Result<JobSpec> parse_command_line(const std::vector<std::string>& argv);
// From the table of options. topic: "" (all common options), a section, "exit", "all", an option.
std::string help_text(const std::string& topic);

// The hosts and hostfiles of all apps, as `allocate` (hosts room) takes them.
std::vector<std::string> hosts_of(const JobSpec& job);
std::vector<std::string> hostfiles_of(const JobSpec& job);

}  // namespace tutti::launch
