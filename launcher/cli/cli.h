// cli: argv in any dialect -> JobSpec. Pure: no environment, no files; both come in.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "spec/spec.h"

namespace tutti::launch::cli {

struct EnvChange {
  std::string name;
  std::optional<std::string> value;  // empty: export the launcher's own value
  bool unset = false;
  char join = 0;  // not 0: the value is added to what is there, with this between
  bool in_front = false;
};

enum class MapBy {
  slot,
  node,
  core,
  numa,
  package,
  hwthread,
  l3cache,
  l2cache,
  l1cache,
  seq,
  rankfile,
  pe_list,
  gpu,    // near each GPU of a host in turn
  nic,    // near each network card
  device  // near the one of this name, then further away
};
// unset: in the order of mapping; object: in turn over the objects of a host, host by host.
enum class RankBy { unset, slot, node, fill, span, object };
enum class BindTo { unset, none, core, hwthread, numa, package, l3cache, l2cache, l1cache };

// One program of the job; `:` separates them.
struct AppSpec {
  int ranks = 0;  // 0: as many as there are slots
  std::vector<std::string> argv;
  std::string working_directory;  // empty: the launcher's
  std::vector<EnvChange> environment;
  bool clean_environment = false;  // nothing of the launcher's but PATH and HOME
  std::vector<std::string> hosts;  // "a:2", as written; per app
  std::vector<std::string> hostfiles;
  int local_rank_at = 0;  // argv index of "--local-rank=", which gets the number; 0: not wanted
  // srun's file of programs: %r, %l, %h, %n, %j and %o of the words are filled in; %o counts from
  // first_offset within the line.
  bool fills_words = false;
  int first_offset = 0;
};

inline constexpr int kMostGpusOfRank = 1024;

// How ranks are placed, numbered and bound.
struct Placement {
  MapBy map_by = MapBy::slot;
  RankBy rank_by = RankBy::unset;
  MapBy rank_object = MapBy::slot;  // whose objects fill, span and object count; slot: map_by's
  int ranks_per_node = 0;           // 0: no limit but the slots
  bool by_letter = false;           // given by -N, which srun has for hosts
  bool in_turns = false;     // Hydra's: more ranks than slots (or -ppn) go round the hosts again
  int ranks_per_object = 0;  // ppr:N:object
  MapBy per_object = MapBy::node;
  std::string per_node_word;  // torchrun's auto, cpu, gpu: turned into ranks_per_node by main
  int cpus_per_rank = 1;
  bool cpus_by_batch = false;  // counted by a batch system, in hardware threads, for bound ranks
  int gpus_per_rank = 0;       // its own; 0: it sees all
  std::string device;          // "mlx5_0", "0000:17:00.0"
  BindTo bind_to = BindTo::unset;
  bool bind_to_max = false;  // if-supported: no error where it cannot be
  bool oversubscribe = false;
  bool no_oversubscribe = false;
  bool use_hwthreads = false;
  bool span = false;                  // objects of all hosts in turn, as if they were one
  bool ordered = false;               // pe-list: one processor a rank, in this order
  bool no_local = false;              // none on the host prun runs on
  std::string cpu_set;                // "0-3,8": only these processors; for pe-list as well
  std::string rankfile;               // its text
  std::vector<int> rank_map;          // the host of each rank, in place of a rankfile
  int most_hosts = 0;                 // 0: all
  std::vector<std::string> excluded;  // hosts not to use
  bool bind_memory = false;
};

// What is done with what ranks write.
struct OutputSpec {
  spec::OutputTag tag = spec::OutputTag::none;
  std::string tag_pattern;  // Hydra's "%r: "
  bool timestamps = false;
  bool merge_stderr = false;
  bool fold = false;                   // equal lines of several ranks once: "[0-15] text"
  bool copy = false;                   // into files and to the terminal
  std::string directory;               // per-rank files below it; as the user wrote it
  bool job_folder = true;              // in a folder of its own, by the attempt's number
  std::string out_file, err_file;      // patterns: %r rank, %l local rank, %h host, %n host number
  std::vector<int> only_ranks;         // others are not shown
  std::vector<int> only_local_ranks;   // torchrun's filter
  std::map<int, int> redirects, tees;  // local rank (-1: all) -> 1 stdout, 2 stderr, 3 both
};

// What torchrun's words ask for. `used`: the job is torchrun's kind: nodes may meet at an
// endpoint, and the ranks restart together.
struct TorchSpec {
  bool used = false;
  int min_nodes = 1, max_nodes = 1;
  int node_rank = -1;
  std::string backend = "static";
  std::string endpoint;
  std::optional<bool> is_host;  // whether this node may lead at the endpoint; unset: by its address
  bool any_port = false;        // --master-port 0
  double join_timeout_s = 600;
  double last_call_s = 30;  // for more nodes, once the least number is there
  std::string log_folder;
  bool standalone = false, no_python = false, module = false, pass_local_rank = false;
  // Called by torchrun's name: of this node alone, whatever a batch system has given, unless hosts
  // are named.
  bool agent = false;
};

enum class Starter { ssh, local, virtual_hosts, slurm, joined };

struct JobSpec {
  std::vector<AppSpec> apps;
  Placement placement;
  OutputSpec output;
  TorchSpec torch;
  spec::RankSpec rank;
  std::string local_address;
  bool pty = false;                // rank 0's streams are a terminal of its own
  Starter starter = Starter::ssh;  // local is chosen by itself when every host is this one
  bool starter_given = false;
  std::string slurm_asked;   // "--launcher slurm": by which words
  std::string launch_agent;  // empty: ssh
  std::vector<std::string> agent_args;
  std::string remote_prefix;               // where Tutti is on the hosts; empty: as here
  std::string listen;                      // "[ADDRESS:]PORT" of prun --listen
  std::string key_file;                    // what both sides know
  std::string virtual_rate;                // "10gbit"; empty: unlimited
  std::string virtual_delay;               // "50us"; empty: none
  std::vector<std::string> stdin_to{"0"};  // "all", "none" or ranks
  double timeout_s = 0;                    // 0: none
  double hang_report_s = 60;               // 0: no report
  double start_timeout_s = 0;              // 0: as the table of states says
  bool whole_environment = false;          // prun's, also on hosts that do not inherit it
  bool keep_going = false;                 // a failed rank does not end the others
  bool report_exits = false;               // every rank's end is told
  bool report_bindings = false;
  bool stats = false;  // time per call, per rank, bytes per link, at the end
  std::string trace_file;
  bool dry_run = false;
  bool display_map = false, display_allocation = false, display_topo = false;
  bool verbose = false;
  std::string pid_file;               // "-": standard output, "+": standard error
  std::vector<std::string> warnings;  // said always, one line each
  std::vector<std::string> notes;     // options accepted and without effect, one line each
  Command command;
};

// What the command line may refer to.
struct CommandLineContext {
  std::function<Result<std::string>(const std::string& path)> read_file;
  std::function<std::optional<std::string>(const std::string& name)> variable;
  std::function<bool(const std::string& path)> is_file;
  std::function<bool(const std::string& name)> is_program;  // that could be run here by this name
  std::function<bool(const std::string& name)> is_in_path = {};
};

// argv[0] decides the dialect. Errors: one line, with the nearest option.
Result<JobSpec> parse_command_line(const std::vector<std::string>& argv,
                                   const CommandLineContext& around = {});
// From the table of options. topic: "" (all common options), a section, "exit", "all", an option.
// Errors: there is no help on that; which there is.
Result<std::string> help_text(const std::string& word);
// Other pages of the same table: "options" (the table of docs/options.md), "man", "bash", "zsh",
// "fish" (completion). Empty: no such page.
std::string page_text(const std::string& page);
// TUTTI_* variables of an environment ("NAME=value") that nobody reads, with the nearest name,
// and values that a knob does not take:
// what to say, and no error where there is none.
Result<void> check_variables(const std::vector<std::string>& environment);
// The same of what programs are given by -x and its like.
Result<void> check_given_variables(const std::vector<AppSpec>& apps);
// The costs that all ranks go by, as text: those that the programs are given (all the same), else
// prun's own. Errors: they cannot be read, or differ.
Result<std::string> costs_of(const std::vector<AppSpec>& apps, const std::string& own);

// The hosts and hostfiles of all apps, as `allocate` (hosts room) takes them.
std::vector<std::string> hosts_of(const JobSpec& job);
std::vector<std::string> hostfiles_of(const JobSpec& job);

}  // namespace tutti::launch::cli
