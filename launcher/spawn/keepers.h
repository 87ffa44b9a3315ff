// The keepers that this process started, and the channels to their daemons.
//
// Each is waited for by its own number. No other child of this process is looked at: it may have
// been there before this was prun (exec keeps children).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <vector>

#include "base/unique_fd.h"
#include "control/control.h"

namespace tutti::launch::spawn {

// False: this child has not ended by then (of now_ns). It is not reaped.
bool ends_by(pid_t child, std::int64_t until_ns);

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

 private:
  std::vector<pid_t> all_;
  std::map<int, UniqueFd> channels_;
};

}  // namespace tutti::launch::spawn
