// What a daemon says of itself first. Inside the room only.
#pragma once

#include <optional>

#include "daemon/daemon.h"

namespace tutti::launch::daemon {

// As the spawner or the head knows it, else as it is, where that is wanted. Errors: it cannot be
// read.
Result<std::optional<topo::Machine>> machine_to_tell(const DaemonPlace& place,
                                                     const control::Prepare& prepare);
// `interfaces`: TUTTI_INTERFACES, by which ranks reach it.
control::Hello hello_from(const DaemonPlace& place, const std::optional<topo::Machine>& machine,
                          const std::string& interfaces);

}  // namespace tutti::launch::daemon
