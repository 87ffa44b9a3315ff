// What the ranks are in, seen again and again: does anything move, and if not, who waits for whom?
// Pure: time and looks come in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/messages.h"

namespace tutti::launch::job {

class Watcher {
 public:
  // Ranks that were never in MPI have been where they are since `began_ms`. MPI_Init meets all of
  // them where they are on several hosts.
  explicit Watcher(std::int64_t began_ms, bool init_meets = true)
      : began_ms_(began_ms), init_meets_(init_meets) {}
  // Whether this rank has moved since the look before.
  bool take(const control::SeenRank& seen, std::int64_t now_ms);
  // All were stopped until now, and prun, too: nothing could move before.
  void go_on(std::int64_t now_ms);
  // Every rank that lives has been in the same place for so long, and one is alive in MPI, or is
  // stopped, or has no answer of its GPU's driver.
  bool is_still(std::int64_t now_ms, std::int64_t for_ms) const;
  // The first rank whose MPI program ended inside MPI, behind something that goes on, where every
  // other one that lives waits in MPI: none computes, none is stopped.
  std::optional<int> outlived() const;
  // Every rank that lives has been in one call of MPI for so long: none computes, none is stopped.
  bool all_wait(std::int64_t now_ms, std::int64_t for_ms) const;
  // Ranks that others wait for: first those that are stopped, also in a collective of all, then
  // those that are not in the same call, the ones whose stacks help before the others.
  std::vector<int> missing() const;
  // Those that live and are in no call of MPI.
  std::vector<int> outside_mpi() const;
  // One line for each group of ranks that are in the same thing, and one for who is missing.
  using HostOf = std::function<std::string(int rank)>;
  std::string report(std::int64_t now_ms, const HostOf& host_of) const;
  const control::SeenRank* find(int rank) const;
  // Ranks whose GPU's driver has not answered them for a while.
  std::vector<int> unanswered(std::int64_t now_ms) const;
  // Ranks in which many messages wait for a receive.
  std::vector<int> flooded() const;

 private:
  struct Place {
    control::SeenRank seen;
    std::int64_t since_ms = 0, asked_since_ms = 0;
    std::int64_t state_since_ms = 0;
    bool is_settled = false;  // the look before saw the same state in the same call
  };
  static bool is_stopped(const Place& place);
  static bool is_unanswered(const Place& place, std::int64_t now_ms, std::int64_t for_ms);
  // Somebody whom this rank waits for; of several, one that waits itself. None: not known.
  std::optional<int> waits_for(const control::SeenRank& seen) const;
  // Ranks each of which waits for the next, and the last for the first; none.
  std::vector<int> circle() const;
  std::string words_of_halts(const HostOf& host_of) const;
  std::string way_on(const std::vector<int>& ranks) const;
  std::string words_of_missing() const;
  std::string words_of_circle(std::int64_t now_ms) const;
  std::string words_of_unanswered(std::int64_t now_ms) const;

  std::int64_t began_ms_;
  bool init_meets_;
  std::map<int, Place> ranks_;
};

// The frames of a debugger's output, shortened, the program's own before those of libraries; all of
// it where there are none.
std::string shorten_stack(const std::string& text);
// Who called the function of MPI's that a thread is in: "main at a.c:3", as far as the debugger
// knows it; else empty.
std::string caller_in_stack(const std::string& text);

}  // namespace tutti::launch::job
