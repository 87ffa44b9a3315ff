// job: the life of one job at the head, from daemons starting to the exit status.
//
// A table of states (states.h) with single-threaded handlers on one loop; no handler blocks, and
// every state has a time limit and says where its failure leads. A job is one round, or several:
// ranks that restart (--max-restarts), hosts that come and go (rounds.cc).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "hosts/hosts.h"
#include "plan/plan.h"
#include "spawn/early.h"
#include "spawn/meet.h"
#include "topo/topo.h"

namespace tutti::launch::job {

struct JobRequest {
  cli::JobSpec spec;
  hosts::Allocation allocation;
  plan::Plan plan;                       // mapped; bound once the machines are known
  std::optional<topo::Machine> machine;  // this one, when it was read for the allocation
  std::vector<std::string> environment;  // of prun, "NAME=value"
  std::string directory = "/";           // prun's, by the name that its user knows it by
  std::shared_ptr<spawn::EarlyDaemon>
      early;  // the daemon of this machine, where it is there already
  // Where further hosts come to; null: nobody comes. Those who came are planned by run_job.
  std::shared_ptr<spawn::HostMeeting> meeting;
  std::string join_key;          // TUTTI_JOIN_KEY of prun, which is not in `environment`
  bool meeting_is_port = false;  // its port is the ranks' MASTER_PORT: closed while they run
};

// Runs the job to its end and returns prun's exit status. Prints to stderr what went wrong.
int run_job(JobRequest request);

// Where a running prun can be asked about its job (desk.h): an abstract Unix socket of this name
// and prun's process number.
inline constexpr const char* kDeskName = "tutti-prun-";

// Of a torchrun node that joined with `slots` for ranks: what its own command line starts, with the
// numbers and addresses that the node which leads has said, and the variables of a list (knobs).
// Errors: what was said makes no sense.
Result<control::Launch> own_launch(const JobRequest& request, int slots, int host,
                                   const control::Launch& said);

// Those of these remarks, that nothing depends on, which are shown: all, to a terminal or where
// words or the placement are wanted.
std::vector<std::string> shown_of(const std::vector<std::string>& notices,
                                  const cli::JobSpec& spec);

// True for names of the machine that prun runs on.
bool is_this_machine(const std::string& name);

}  // namespace tutti::launch::job
