// A daemon for this machine that starts before prun has read the machine: both take their time at
// the same time. It is told what prun has found.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace tutti::launch::spawn {

class Keepers;

// Ends the daemon unless it was given away.
class EarlyDaemon {
 public:
  EarlyDaemon(UniqueFd channel, pid_t keeper) : channel_(std::move(channel)), keeper_(keeper) {}
  EarlyDaemon(const EarlyDaemon&) = delete;
  EarlyDaemon& operator=(const EarlyDaemon&) = delete;
  ~EarlyDaemon();

  // Null: there is no room for a process.
  static std::shared_ptr<EarlyDaemon> start(const std::vector<std::string>& environment);
  // False: somebody has it already.
  bool give_to(Keepers& keepers, int host);

 private:
  UniqueFd channel_;
  pid_t keeper_;
};

}  // namespace tutti::launch::spawn
