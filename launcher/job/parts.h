// From the plan to what each host is told: pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "control/messages.h"
#include "plan/plan.h"
#include "topo/topo.h"

namespace tutti::launch::job {

struct JobSecrets {
  std::uint64_t job_id = 0;
  std::string key;   // 32 bytes
  int restarts = 0;  // so far
  int round = 0;     // the first is 0
};

// What is the same on every host. `environment` is prun's own, "NAME=value"; `over_network`:
// ranks do not inherit it, so the knobs (TUTTI_*) travel by name.
control::Launch common_part(const cli::JobSpec& spec, const plan::Plan& plan,
                            const JobSecrets& secrets, const std::string& directory,
                            const std::vector<std::string>& environment, bool over_network);
// Adds what this host starts.
void add_ranks(control::Launch& launch, const cli::JobSpec& spec, const plan::Plan& plan, int host);

// The folder of a rank's output in this round of a job of so many hosts, as a pattern; empty: it
// gets none.
std::string output_folder(const cli::JobSpec& spec, const JobSecrets& secrets, std::size_t hosts);

bool takes_stdin(const cli::JobSpec& spec, int rank);
// The address by which the other hosts reach host `of`, as far as the start-up channels proved
// one; the host's name when they did not. Only one host: loopback.
std::string proven_address(const std::vector<control::Hello>& hellos,
                           const std::vector<std::string>& names, std::size_t of);

}  // namespace tutti::launch::job
