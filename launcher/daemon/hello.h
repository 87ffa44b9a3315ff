// What a daemon says of itself first. Inside the room only.
#pragma once

#include <optional>

#include "daemon/daemon.h"

namespace tutti::launch::daemon {

control::Hello hello_from(const DaemonPlace& place, const std::optional<topo::Machine>& machine);

}  // namespace tutti::launch::daemon
