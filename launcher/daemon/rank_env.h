// The environment of one rank, made from facts; pure. The table is in rank_env.cc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/messages.h"
#include "spec/spec.h"

namespace tutti::launch::daemon {

struct RankFacts {
  std::uint64_t job_id = 0;
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;
  int host = 0, hosts = 1;
  int app = 0, apps = 1;
  int segment_fd = -1, control_fd = -1;
  std::string door, door_key;  // empty: there is no door
  spec::RankSpec spec;
  std::string directory;  // where the rank works; empty: not known
  std::string library_folder;
  const std::vector<std::string>* server_variables = nullptr;  // "NAME=value"; see serve/
  int restarts = 0;                                            // so far
  int cpus = 0, cores = 0;                                     // that it is bound to; 0: not bound
  // By which this host reaches rank 0's, where there are several; empty: not known.
  std::string interface;
  std::vector<int> gpus;  // that it sees; empty: as many as it has, in turn by its local rank
  const control::AppPart* program = nullptr;
  const std::vector<control::AppPart>* programs = nullptr;  // all of the job
  const control::Launch* as_srun = nullptr;                 // not null: srun's variables, too
};

// `inherited`: the daemon's own environment, "NAME=value". A parent launcher's variables are
// left out, the table's are set, and what the user said (-x) wins over both.
std::vector<std::string> rank_environment(const std::vector<std::string>& inherited,
                                          const RankFacts& facts);

// The interface whose address this host takes to reach that one (of IPv4 or IPv6); empty: none.
std::string interface_towards(const std::string& address);

}  // namespace tutti::launch::daemon
