// The keepers that this process started, and the channels to their daemons.
//
// Each is waited for by its own number. No other child of this process is looked at: it may have
// been there before this was prun (exec keeps children).
#pragma once

#include <sys/types.h>

#include <map>
#include <string>

#include "base/unique_fd.h"
#include "control/control.h"

namespace tutti::launch::spawn {

class Keepers {
 public:
  Keepers() = default;
  Keepers(const Keepers&) = delete;
  Keepers& operator=(const Keepers&) = delete;
  // Waits until everything below has ended. All channels to the daemons must be closed by then.
  ~Keepers();

  // A keeper that leads a process group, and our end of the channel to its daemon.
  void add(int host, pid_t keeper, UniqueFd channel);
  // That channel, to be given on once.
  control::ChannelEnds channel_to(int host);
  // How the daemon of a host ended, once that channel has closed.
  std::string last_words(int host) const;

 private:
  struct Kept {
    pid_t keeper = 0;
    UniqueFd channel;
  };
  std::map<int, Kept> all_;
};

}  // namespace tutti::launch::spawn
