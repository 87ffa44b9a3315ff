// Stopping and continuing all that the ranks of this host are, whatever process group or session it
// is in: a shell with job control puts each of its jobs into a group of its own.
//
// Parents are stopped before their children and continued after them. A shell that saw its job stop
// would take that for the user's wish, and go on with the next line.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <map>
#include <set>

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/processes.h"

namespace tutti::launch::daemon {
namespace {

constexpr int kMostLooks = 50;  // for new ones; a family that forks has no end
// One is waited for that sleeps in the kernel, and one that a busy machine has no turn for.
constexpr std::int64_t kSleepsNs = 300'000'000, kHasNoTurnNs = 5'000'000'000;

using Generation = std::vector<pid_t>;

// Children first, then theirs. Helpers of this process are in its group, but for some.
std::vector<Generation> generations(const std::function<bool(pid_t)>& spares) {
  std::multimap<pid_t, ProcessStat> by_parent;
  for (const ProcessStat& one : all_processes()) by_parent.emplace(one.parent, one);
  std::vector<Generation> found;
  for (Generation above{::getpid()}; !above.empty(); above = found.back()) {
    Generation& next = found.emplace_back();
    for (const pid_t parent : above) {
      const auto [first, last] = by_parent.equal_range(parent);
      for (auto child = first; child != last; ++child) {
        const ProcessStat& one = child->second;
        const bool is_helper =
            found.size() == 1 &&
            (one.group == ::getpgrp() || is_pmix_server(one.pid) || (spares && spares(one.pid)));
        if (!is_helper) next.push_back(one.pid);
      }
    }
    if (next.empty()) found.pop_back();
    if (next.empty()) break;
  }
  return found;
}

void await_stopped(const Generation& told, std::int64_t begun_ns) {
  for (const pid_t pid : told) {
    for (auto one = read_process(pid); one && std::strchr("TtZX", one->state) == nullptr;
         one = read_process(pid)) {
      if (now_ns() > begun_ns + (one->state == 'D' ? kSleepsNs : kHasNoTurnNs)) break;
      const timespec moment{0, 100'000};
      ::nanosleep(&moment, nullptr);
    }
  }
}

}  // namespace

void signal_descendants(int number, const std::function<bool(pid_t)>& spares) {
  const std::int64_t begun = now_ns();
  std::set<pid_t> told;
  for (int look = 0; look < kMostLooks; ++look) {
    const std::size_t before = told.size();
    auto found = generations(spares);
    if (number == SIGCONT) std::reverse(found.begin(), found.end());
    for (const Generation& generation : found) {
      Generation fresh;
      for (const pid_t pid : generation)
        if (told.insert(pid).second && ::kill(pid, number) == 0) fresh.push_back(pid);
      if (number == SIGSTOP) await_stopped(fresh, begun);
    }
    if (told.size() == before) return;
  }
}

}  // namespace tutti::launch::daemon
