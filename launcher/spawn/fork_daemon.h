// A forked copy of this process becomes a daemon: shared by local.cc and virtual.cc.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/daemon.h"

namespace tutti::launch::spawn {

// In a fresh copy: `fd` becomes `as`, every other descriptor above is closed but so many `files`
// that follow, stdin and stdout are /dev/null.
void keep_only(int fd, int as, int files = 0);
// In a fresh copy: keeps a daemon that serves on this channel; does not return. The place is made
// in the daemon's own process.
[[noreturn]] void become_daemon(int channel, const std::vector<std::string>& environment,
                                const std::function<daemon::DaemonPlace()>& make_place);

}  // namespace tutti::launch::spawn
