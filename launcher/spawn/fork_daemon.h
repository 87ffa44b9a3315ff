// A forked copy of this process becomes a daemon: shared by local.cc and virtual.cc.
#pragma once

#include "daemon/daemon.h"

namespace tutti::launch::spawn {

// In a fresh copy: `fd` becomes `as`, every other descriptor above is closed but so many `files`
// that follow, stdin and stdout are /dev/null.
void keep_only(int fd, int as, int files = 0);
// In a fresh copy: serves as the daemon on this channel; does not return.
[[noreturn]] void become_daemon(int channel, daemon::DaemonPlace place);

}  // namespace tutti::launch::spawn
