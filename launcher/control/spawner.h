// The interface of what starts daemons on hosts. It is asked by prun and, in a tree, by daemons;
// its implementations are in launcher/spawn.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/control.h"

namespace tutti::launch::control {

// What a spawner tells whoever asked for a host. `lost` may come after `ready`.
struct SpawnReports {
  // The daemon of this host answers on this channel.
  std::function<void(int host, ChannelEnds ends)> ready;
  // It does not, and never will. status: of the table in status/status.h.
  std::function<void(int host, int status, std::string reason)> failed;
  std::function<void(std::string text)> note = {};  // a remark for the user; may be null
  // Before `ready`: what a login shell printed, and whether the daemon had to be sent; may be null.
  std::function<void(int host, const std::string& noise, bool sent_daemon)> login = {};
};

// Starts daemons on hosts. No method blocks. Destruction ends what it started.
class Spawner {
 public:
  virtual ~Spawner() = default;
  virtual void start(const std::vector<HostPart>& hosts) = 0;
  // What is known about a daemon that went away: ssh's own words, or nothing.
  virtual std::string last_words(int host) = 0;
  // Whether it started this child, which leads a process group of its own.
  virtual bool has_started(pid_t) const { return false; }
  // A child of this process has ended, and was waited for; it may be one of those.
  virtual void child_ended(pid_t, int /*wait_status*/) {}
};
// Makes the spawner by which a daemon starts further daemons (the tree).
using MakeSpawner =
    std::function<std::unique_ptr<Spawner>(Loop&, const Grow& grow, SpawnReports reports)>;

}  // namespace tutti::launch::control
