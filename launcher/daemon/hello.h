// What a daemon says of itself first. Inside the room only.
#pragma once

#include <optional>

#include "daemon/daemon.h"

namespace tutti::launch::daemon {

// `interfaces`: TUTTI_INTERFACES, by which ranks reach it.
control::Hello hello_from(const DaemonPlace& place, const std::optional<topo::Machine>& machine,
                          const std::string& interfaces);

}  // namespace tutti::launch::daemon
