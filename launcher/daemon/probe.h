// Probes between hosts for `prun --check`: the side that listens, and the side that sends.
//
//   TCP  token --> number of this host --> bytes until the sender has had enough --> how many
//   UDP  token, number, padding --> the same number back
//
// A stranger knows no token and is dropped, at the latest after a time that is enough for a probe.
#pragma once

#include <map>
#include <string>

#include "base/unique_fd.h"
#include "control/control.h"

namespace tutti::launch::daemon {

inline constexpr std::size_t kTokenBytes = 32;

// Hears probes in the daemon's loop. One for each host.
class ProbeListener {
 public:
  explicit ProbeListener(control::Loop& loop) : loop_(loop), door_(loop) {}
  ~ProbeListener();
  ProbeListener(const ProbeListener&) = delete;
  ProbeListener& operator=(const ProbeListener&) = delete;

  // Returns the port, or 0 when this host lets nobody listen.
  int listen(int host, const std::string& token);

 private:
  struct Caller {
    UniqueFd fd;
    control::Loop::TimerId limit = 0;
    std::string head;  // until the token is whole
    std::uint64_t bytes = 0;
  };
  void let_in(UniqueFd fd);
  bool make_room();
  void drop(int fd);
  void hear(int fd);
  void answer_packet();
  bool greet(Caller& caller);

  control::Loop& loop_;
  int host_ = 0;
  std::string token_;
  UniqueFd stream_, packets_;
  control::Listener door_;
  std::map<int, Caller> callers_;
};

// Sends to every address of the other host from every own one; blocks for seconds.
control::Probed send_probes(const control::Probe& wish);

}  // namespace tutti::launch::daemon
