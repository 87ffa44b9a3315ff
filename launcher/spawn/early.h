// A daemon for this machine that starts before prun has read the machine: both take their time at
// the same time. It is told what prun has found.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace tutti::launch::spawn {

// Ends the daemon unless its channel was taken.
class EarlyDaemon {
 public:
  EarlyDaemon(UniqueFd channel, pid_t pid) : channel_(std::move(channel)), pid_(pid) {}
  EarlyDaemon(const EarlyDaemon&) = delete;
  EarlyDaemon& operator=(const EarlyDaemon&) = delete;
  ~EarlyDaemon();

  // Null: there is no room for a process.
  static std::shared_ptr<EarlyDaemon> start(const std::vector<std::string>& environment);
  UniqueFd take() { return std::move(channel_); }

 private:
  UniqueFd channel_;
  pid_t pid_;
};

}  // namespace tutti::launch::spawn
