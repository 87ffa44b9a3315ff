// spawn: gets a daemon running on hosts. One way a file; nobody else knows how it is done.
//
// Every spawner works inside a Loop, starts all its hosts at once, and reports each host exactly
// once as ready or failed (daemon/daemon.h). Whatever it started ends with it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/control.h"
#include "daemon/daemon.h"

namespace tutti::launch {

// This machine: the daemon is a forked copy of this process, so that nothing is loaded twice.
// `machine`: what this process knows already.
std::unique_ptr<Spawner> spawn_local(Loop& loop, SpawnReports reports,
                                     std::optional<topo::Machine> machine);

struct SshPlan {
  std::vector<std::string> agent{"ssh"};  // program and options
  std::string prefix;                     // where prun is installed: prefix/bin/prund
  std::string daemon_file;                // the prund to send to hosts that have none
  std::string library_file;               // libmpi_abi to send along; empty: none
};
std::unique_ptr<Spawner> spawn_ssh(Loop& loop, SshPlan plan, SpawnReports reports);

struct VirtualPlan {
  std::string rate;   // "10gbit"; empty: unlimited
  std::string delay;  // "50us"; empty: none
};
std::unique_ptr<Spawner> spawn_virtual(Loop& loop, VirtualPlan plan, SpawnReports reports,
                                       std::optional<topo::Machine> machine);

}  // namespace tutti::launch
