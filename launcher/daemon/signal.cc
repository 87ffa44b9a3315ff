// Signals for the ranks of a host, and the one that ends them all.
#include <sys/types.h>

#include <chrono>
#include <csignal>

#include "daemon/ranks.h"

namespace tutti::launch::daemon {

// A rank may have left the group it was given (setsid, an interactive shell).
void Ranks::send_signal(const RankProcess& rank, int number) {
  if (::kill(-rank.pid, number) != 0) ::kill(rank.pid, number);
}

// Those that do not run their programs yet get it when they do (hear_of_exec): until then a rank is
// the daemon's child and shares its memory. Nothing is kept for a job that is still to come, nor
// what stops and continues.
void Ranks::signal(int number) {
  const bool is_for_now = number == SIGTSTP || number == SIGCONT;
  for (RankProcess& rank : ranks_) {
    if (rank.ended) continue;
    if (rank.pid > 0 && (rank.program_runs || number == SIGKILL))
      send_signal(rank, number);
    else if (!is_for_now)
      rank.early_signals.push_back(number);
  }
}

void Ranks::end(int grace_ms) {
  if (!ending_) generations_.abort();
  ending_ = true;
  pause(false);  // who has not started is told of as one that will not
  if (grace_ms > 0) {
    signal(SIGTERM);
    signal(SIGCONT);
    loop_.cancel(end_timer_);
    end_timer_ = loop_.after(std::chrono::milliseconds(grace_ms), [this] { signal(SIGKILL); });
  } else {
    signal(SIGKILL);
  }
}

}  // namespace tutti::launch::daemon
