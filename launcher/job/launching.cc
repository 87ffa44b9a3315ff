// The plan is bound to the machines that the daemons have read, and told to each of them.
#include "job/launching.h"

#include <unistd.h>

#include <algorithm>

#include "base/check.h"
#include "base/environment.h"
#include "base/random_bytes.h"
#include "daemon/daemon.h"

namespace tutti::launch::job {
namespace {

JobSecrets make_secrets() {
  JobSecrets secrets;
  secrets.key.resize(32);
  TUTTI_CHECK(random_bytes(secrets.key.data(), secrets.key.size()) &&
                  random_bytes(&secrets.job_id, sizeof secrets.job_id),
              "no random numbers");
  secrets.job_id >>= 1;  // fits a signed number, for scripts
  return secrets;
}

}  // namespace

std::vector<std::string> shown_of(const std::vector<std::string>& notices,
                                  const cli::JobSpec& spec) {
  const bool asks = spec.verbose || spec.report_bindings || spec.display_map;
  return asks || ::isatty(STDERR_FILENO) != 0 ? notices : std::vector<std::string>{};
}

Result<Launching> Launching::bind(Round& round, const Hosts& hosts, control::Terminal& terminal) {
  plan::Plan& plan = round.request.plan;
  const cli::JobSpec& spec = round.request.spec;
  std::vector<topo::Machine> machines;
  for (int i = 0; i < static_cast<int>(hosts.count()); ++i)
    machines.push_back(daemon::machine_of(hosts[i].hello.machine));
  TUTTI_DO(plan::bind_ranks(plan, spec, machines));
  for (const std::string& note : shown_of(plan.notes, spec)) terminal.say(note);
  if (spec.display_topo) terminal.write(1, plan::print_topology(plan, machines));
  if (spec.report_bindings) terminal.write(2, plan::print_bindings(plan, spec, machines));
  return Launching(round, hosts, machines);
}

Launching::Launching(const Round& round, const Hosts& hosts,
                     const std::vector<topo::Machine>& machines)
    : round_(round),
      hosts_(hosts),
      secrets_(make_secrets()),
      shared_(plan::shared_machines(round.request.plan, machines)),
      directory_(round.request.directory) {
  secrets_.restarts = round.restarts;
  secrets_.round = round.number;
  std::vector<control::Hello> hellos;
  std::vector<std::string> names;
  for (int i = 0; i < static_cast<int>(hosts.count()); ++i) {
    hellos.push_back(hosts[i].hello);
    names.push_back(hosts.name_of(i));
  }
  const auto first = static_cast<std::size_t>(round.request.plan.ranks.at(0).host);
  const std::string& own = round.request.spec.local_address;
  const bool is_here = !hosts[static_cast<int>(first)].over_network;
  first_address_ = is_here && !own.empty() ? own : proven_address(hellos, names, first);
  first_port_ = hellos[first].free_port;
}

control::Launch Launching::launch(int host) const {
  const JobRequest& request = round_.request;
  control::Launch launch = common_part(request.spec, request.plan, secrets_, directory_,
                                       request.environment, hosts_[host].over_network);
  if (launch.spec.master_address.empty()) launch.spec.master_address = first_address_;
  if (launch.spec.master_port == 0) launch.spec.master_port = first_port_;
  launch.output.color = ::isatty(1) != 0 && value_in(request.environment, "NO_COLOR").empty();
  add_ranks(launch, request.spec, request.plan, host);
  if (request.spec.pty) launch.window = control::RawTerminal::size();
  for (const plan::SharedMachine& one : shared_) {
    const auto at = static_cast<std::size_t>(host);
    if (one.hosts.size() < 2 ||
        std::find(one.hosts.begin(), one.hosts.end(), at) == one.hosts.end())
      continue;
    launch.machine_ranks = one.ranks;
    launch.machine_cores = one.machine.usable_cores();
  }
  return launch;
}

}  // namespace tutti::launch::job
