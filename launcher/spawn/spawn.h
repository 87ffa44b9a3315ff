// spawn: gets a daemon running on hosts. One way a file; nobody else knows how it is done.
//
// Every spawner works inside a Loop, starts all its hosts at once, and reports each host exactly
// once as ready or failed (control/spawner.h). Whatever it started ends with it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/control.h"
#include "daemon/daemon.h"
#include "spawn/early.h"

namespace tutti::launch::spawn {

// What daemons on this machine are given, as prun has it.
struct DaemonInputs {
  std::optional<topo::Machine> machine;
  std::vector<std::string> environment;
  std::shared_ptr<EarlyDaemon> early{};  // the first host's daemon, where it is there already
};

// This machine: the daemon is a forked copy of this process, so that nothing is loaded twice.
std::unique_ptr<control::Spawner> spawn_local(control::Loop& loop, control::SpawnReports reports,
                                              DaemonInputs given);

// By ssh, one connection a host: `how` names the program with its options and the prefix of this
// installation. A host without a daemon of this build gets it through the same connection. Where
// the program is srun, `environment` tells of the job.
std::unique_ptr<control::Spawner> spawn_ssh(control::Loop& loop, control::Grow how,
                                            control::SpawnReports reports,
                                            const std::vector<std::string>& environment);

struct VirtualPlan {
  std::string rate;   // "10gbit"; empty: unlimited
  std::string delay;  // "50us"; empty: none
};
std::unique_ptr<control::Spawner> spawn_virtual(control::Loop& loop, VirtualPlan plan,
                                                control::SpawnReports reports, DaemonInputs given);

}  // namespace tutti::launch::spawn
