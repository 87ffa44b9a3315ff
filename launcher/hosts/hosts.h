// hosts: hostfiles, -H, allocations of batch systems -> Allocation. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti::launch::hosts {

struct HostSlots {
  std::string name;  // as the user wrote it; what ssh is given
  int slots = 1;
  int max_slots = 0;  // 0: no limit
  bool slots_given = false;
  std::string source;   // "-H", "hostfiles/two-hosts:3", "this machine"
  std::string user;     // empty: ssh decides
  int port = 0;         // 0: ssh decides
  bool joined = false;  // it came by itself: its daemon is there
};

// Who gave the hosts, where that decides how they are reached.
enum class Batch { none, slurm, other };

struct Allocation {
  std::vector<HostSlots> hosts;
  Batch batch = Batch::none;
  std::string here{};    // which host of a batch job this one is, when it says so
  bool is_open = false;  // a batch job's user has chosen another way to hosts: others are welcome
  bool given = false;    // by the user or a batch system; false: this machine alone
  std::vector<std::string> sequence;  // names as listed, repeats and all: for --map-by seq
  // By program: its own hosts, with the slots that it may take there. Empty: all of them.
  std::vector<std::vector<HostSlots>> of_program{};
  std::vector<std::string> notes{};  // what was asked for and is not there, one line each
};

// What one program's command line says of hosts, as written.
struct HostWishes {
  std::vector<std::string> dash_hosts, hostfiles;
  bool bare_means_one = true;  // else nobody counted: srun's -w says where, -n how many
};

using ReadVariable = std::function<std::optional<std::string>(const std::string& name)>;
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// Both syntaxes: "host slots=2 max_slots=4" and "host:2". Errors name file, line and word.
Result<Allocation> parse_hostfile(const std::string& path, const std::string& text);
Result<Allocation> parse_dash_host(const std::vector<std::string>& words);
// Letters, digits, '.', '-' and '_' (common in aliases of ssh), and `others`; no dash in front.
bool is_host_name(std::string_view name, std::string_view others = "");
// "fz[1-3,7],b" -> fz1 fz2 fz3 fz7 b; zeros in front are kept.
Result<std::vector<std::string>> expand_ranges(const std::string& text);
// What Slurm, PBS, Grid Engine or LSF has given; empty: we are in no batch job.
Result<std::optional<Allocation>> batch_allocation(const ReadVariable& variable,
                                                   const ReadFile& read);

// Which task of which step of a Slurm job this process belongs to.
struct SlurmTask {
  bool in_step =
      false;      // else it is of a job script, of a shell on the submitting host, or of none
  int tasks = 1;  // of the step, where all of them run the same
  int node = 0;   // number of this host in the step
};
SlurmTask slurm_task(const ReadVariable& variable);

// Who may be on a host list besides what is written there.
struct HostRules {
  std::vector<std::string> excluded;
  int most_hosts = 0;                                     // 0: all
  std::function<bool(const std::string& name)> not_this;  // --nolocal; null: all are welcome
  int least_hosts = 0;                                    // so many are asked for
};
// Leaves out what the rules do not want. Errors: nobody is left, or an excluded name is not there.
Result<void> keep_wanted(Allocation& allocation, const HostRules& rules);

// -H filters a hostfile's hosts when both are given, as in Open MPI. Each program has its own; the
// job has those of all.
Result<Allocation> allocate(const std::vector<HostWishes>& programs, const ReadFile& read,
                            const std::string& this_host, int this_host_cores,
                            const std::optional<Allocation>& batch = {});

}  // namespace tutti::launch::hosts
