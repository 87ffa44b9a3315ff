// The hosts below this one in the tree: their daemons are started from here, and what they and the
// head say to each other passes through.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "control/control.h"
#include "daemon/daemon.h"

namespace tutti::launch::daemon {

class Below {
 public:
  // `up`: where their frames go on to; `passed`: one has. `say`: reports of our own. `changed`: one
  // has left.
  struct Around {
    control::StartupChannel& up;
    std::function<void()> passed;
    std::function<void(const control::Message&)> say;
    std::function<void()> changed;
  };
  Below(control::Loop& loop, Around around) : loop_(loop), around_(std::move(around)) {}

  // Null `make`: this daemon starts no others.
  void grow(const control::MakeSpawner& make, const control::Grow& grow);
  void pass_down(const control::Frame& one);
  void hold(bool on);                // nothing more is passed up for now: it waits where it is said
  void leave() { leaving_ = true; }  // their ends are no losses from now on
  void end() { spawner_.reset(); }
  // This child of ours leads to a host: ssh.
  bool has_started(pid_t child) const { return spawner_ && spawner_->has_started(child); }
  void child_ended(pid_t child, int wait_status) {
    if (spawner_) spawner_->child_ended(child, wait_status);
  }
  bool empty() const { return children_.empty(); }

 private:
  void add(int host, control::ChannelEnds ends);
  void drop(int host);
  void failed(int host, int status, const std::string& reason);

  control::Loop& loop_;
  Around around_;
  std::unique_ptr<control::Spawner> spawner_;
  std::map<int, std::unique_ptr<control::StartupChannel>> children_;
  bool leaving_ = false;
};

}  // namespace tutti::launch::daemon
