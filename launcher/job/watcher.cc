// From looks at watch records to sentences.
#include "job/watcher.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/contexts.h"
#include "base/silent_driver.h"
#include "base/text.h"
#include "job/fold.h"
#include "job/place.h"
#include "watch/watch.h"

namespace tutti::launch::job {
namespace {

constexpr std::uint64_t kManyKept = 100;  // messages that wait for a receive are worth a line
// Of ranks that wait for each other for less a message may be on its way.
constexpr std::int64_t kSurelyMs = 10'000;
constexpr std::size_t kMostNamed = 8;  // processes in a command to type
constexpr std::uint64_t kKeptBytes = 4 << 10;

bool is_flooded(const control::SeenRank& seen) {
  return seen.kept_messages >= kManyKept || seen.kept_bytes >= kManyKept * kKeptBytes;
}

// A process that cannot go on by itself, whatever its rank is in.
struct Halt {
  char state;  // as SeenRank says it
  const char *one, *several;
};
constexpr std::array kHalts{
    Halt{'T', "is stopped by a signal", "are stopped by a signal"},
    Halt{'t', "is stopped by a debugger", "are stopped by a debugger"},
    Halt{'D', "waits in the kernel for a disk or device",
         "wait in the kernel for a disk or device"},
    Halt{'Z', "has no main thread any more", "have no main thread any more"},
    Halt{'X', "has died, and what started it goes on", "have died, and what started them goes on"},
};

}  // namespace

bool Watcher::take(const control::SeenRank& seen, std::int64_t now_ms) {
  const auto [at, fresh] = ranks_.try_emplace(seen.rank);
  Place& place = at->second;
  const bool moved = fresh || place.seen.calls != seen.calls ||
                     place.seen.function != seen.function || place.seen.ended != seen.ended;
  if (moved) place.since_ms = fresh && seen.calls == 0 ? began_ms_ : now_ms;
  place.is_settled = !moved && place.seen.state == seen.state;
  if (!place.is_settled) place.state_since_ms = now_ms;
  // Who is stopped cannot hear an answer.
  if (fresh || place.seen.asked != seen.asked || looks_stopped(seen)) place.asked_since_ms = now_ms;
  place.seen = seen;
  return moved;
}

bool Watcher::is_stopped(const Place& place) {
  return place.is_settled && looks_stopped(place.seen);
}

const control::SeenRank* Watcher::find(int rank) const {
  const auto found = ranks_.find(rank);
  return found == ranks_.end() ? nullptr : &found->second.seen;
}

std::vector<int> Watcher::flooded() const {
  std::vector<int> found;
  for (const auto& [rank, place] : ranks_)
    if (!place.seen.ended && is_flooded(place.seen)) found.push_back(rank);
  return found;
}

bool Watcher::is_unanswered(const Place& place, std::int64_t now_ms, std::int64_t for_ms) {
  return (place.seen.asked & wireup::kAsks) != 0 && !place.seen.ended &&
         !looks_stopped(place.seen) && now_ms - place.asked_since_ms >= for_ms;
}

std::vector<int> Watcher::unanswered(std::int64_t now_ms) const {
  constexpr std::int64_t kLong_ms = 1000;
  std::vector<int> found;
  for (const auto& [rank, place] : ranks_)
    if (is_unanswered(place, now_ms, kLong_ms)) found.push_back(rank);
  return found;
}

std::string Watcher::words_of_unanswered(std::int64_t now_ms) const {
  const std::vector<int> ranks = unanswered(now_ms);
  if (ranks.empty()) return {};
  const bool are_barred = std::ranges::all_of(
      ranks, [this](int rank) { return (find(rank)->asked & wireup::kIsBarred) != 0; });
  return "    " + ranks_text(ranks) +
         " had no answer of the GPU's driver to what calls in a stream need" +
         (are_barred ? std::string(": ") + kSilentDriver : "") + "\n";
}

bool Watcher::is_still(std::int64_t now_ms, std::int64_t for_ms) const {
  bool waits = false;
  for (const auto& [rank, place] : ranks_) {
    if (place.seen.ended) continue;
    if (now_ms - place.since_ms < for_ms) return false;
    if (has_died(place.seen)) continue;  // nor does it wait
    waits = waits || place.seen.function != 0 || is_unanswered(place, now_ms, for_ms) ||
            (is_stopped(place) && now_ms - place.state_since_ms >= for_ms);
  }
  return waits;
}

void Watcher::go_on(std::int64_t now_ms) {
  began_ms_ = now_ms;
  for (auto& [rank, place] : ranks_)
    place.since_ms = place.state_since_ms = place.asked_since_ms = now_ms;
}

std::optional<int> Watcher::outlived() const {
  std::optional<int> first;
  for (const auto& [rank, place] : ranks_) {
    if (place.seen.ended) continue;
    if (has_died(place.seen) ? !place.is_settled
                             : !waits_in_mpi(place.seen) || looks_stopped(place.seen))
      return std::nullopt;
    if (!first && has_died(place.seen)) first = rank;
  }
  return first;
}

bool Watcher::all_wait(std::int64_t now_ms, std::int64_t for_ms) const {
  return is_still(now_ms, for_ms) &&
         std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) {
           const control::SeenRank& seen = rank.second.seen;
           return seen.ended || (waits_in_mpi(seen) && !looks_stopped(seen));
         });
}

std::vector<int> Watcher::outside_mpi() const {
  std::vector<int> outside;
  for (const auto& [rank, place] : ranks_)
    if (!place.seen.ended && (place.seen.function == 0 || is_opening(place.seen)))
      outside.push_back(rank);
  return outside;
}

std::optional<int> Watcher::waits_for(const control::SeenRank& seen) const {
  if (!waits_in_mpi(seen) || !seen.detailed || looks_stopped(seen)) return std::nullopt;
  if (!is_collective(seen)) return seen.peer < 0 ? std::nullopt : std::optional(seen.peer);
  for (const auto& [other, its] : ranks_)
    if (is_missed_in(seen, its.seen) && waits_in_mpi(its.seen)) return other;
  return std::nullopt;
}

// Each rank waits for one at most, so a walk that comes back to a rank of its own has gone round.
std::vector<int> Watcher::circle() const {
  std::set<int> walked;
  for (const auto& [start, place] : ranks_) {
    std::vector<int> way;
    for (int at = start; walked.insert(at).second;) {
      way.push_back(at);
      const control::SeenRank* const seen = find(at);
      const std::optional<int> next = seen == nullptr ? std::nullopt : waits_for(*seen);
      if (!next) break;
      at = *next;
      if (const auto begin = std::ranges::find(way, at); begin != way.end())
        return {begin, way.end()};
    }
  }
  return {};
}

std::string Watcher::words_of_circle(std::int64_t now_ms) const {
  const std::vector<int> ranks = circle();
  if (ranks.empty()) return {};
  const bool is_sure = std::ranges::all_of(
      ranks, [&](int rank) { return now_ms - ranks_.at(rank).since_ms >= kSurelyMs; });
  std::string text = is_sure ? "    a deadlock: " : "    perhaps a deadlock: ";
  if (ranks.size() == 1) {
    text += "rank " + std::to_string(ranks[0]) + " waits for itself";
  } else if (ranks.size() == 2) {
    text += "ranks " + rank_ranges(ranks) + " wait for each other";
  } else {
    text += "ranks " + rank_ranges(ranks) + " wait in a circle";
  }
  const bool all_send = std::ranges::all_of(ranks, [this](int rank) {
    const std::string function = function_of(*find(rank));
    return function == "MPI_Send" || function == "MPI_Ssend" || function == "MPI_Rsend";
  });
  if (all_send)
    text += "; such sends wait for their receives: post these first (MPI_Irecv), or MPI_Sendrecv";
  return text + "\n";
}

std::vector<int> Watcher::missing() const {
  std::set<int> awaited;
  for (const auto& [rank, place] : ranks_) {
    const control::SeenRank& seen = place.seen;
    if (!waits_in_mpi(seen)) continue;
    if (init_meets_ && is_starting(seen))
      for (const auto& [other, its] : ranks_)
        if (!its.seen.joined || its.seen.ended || is_opening(its.seen)) awaited.insert(other);
    if (!seen.detailed) continue;
    if (!is_collective(seen)) {
      if (seen.peer >= 0) awaited.insert(seen.peer);
      continue;
    }
    // Whoever is in the world's collective with it does, or will.
    if (is_stopped(place) && is_of_world(seen.context)) awaited.insert(rank);
    for (const auto& [other, its] : ranks_)
      if (is_missed_in(seen, its.seen)) awaited.insert(other);
  }
  // Those that wait for somebody themselves come last: they are links of a chain, not its end.
  std::vector<int> first, then, last;
  for (const int rank : awaited) {
    const auto found = ranks_.find(rank);
    if (found == ranks_.end()) continue;
    const Place& place = found->second;
    (is_stopped(place) ? first : waits_in_mpi(place.seen) ? last : then).push_back(rank);
  }
  for (const auto& more : {then, last}) first.insert(first.end(), more.begin(), more.end());
  return first;
}

std::string Watcher::report(std::int64_t now_ms, const HostOf& host_of) const {
  struct Group {
    std::vector<int> ranks;
    std::int64_t since_ms = 0;
  };
  std::vector<std::string> order;
  std::map<std::string, Group> groups;
  for (const auto& [rank, place] : ranks_) {
    const std::string text = place_of(place.seen);
    Group& group = groups[text];
    if (group.ranks.empty()) order.push_back(text);
    group.ranks.push_back(rank);
    group.since_ms = std::max(group.since_ms, place.since_ms);
  }
  std::string report;
  for (const std::string& text : order) {
    const Group& group = groups[text];
    const bool one = group.ranks.size() == 1;
    report += "    " + ranks_text(group.ranks);
    if (one) report += " on host " + host_of(group.ranks[0]);
    report +=
        ": " + text + ", for " + std::to_string((now_ms - group.since_ms + 500) / 1000) + " s\n";
  }
  for (const auto& [rank, place] : ranks_)
    if (is_flooded(place.seen))
      report += "    rank " + std::to_string(rank) + " on host " + host_of(rank) + " has " +
                std::to_string(place.seen.kept_messages) + " messages (" +
                text::format_bytes(place.seen.kept_bytes) + ") that it has not received" +
                (place.seen.kept_waiting == 0
                     ? std::string("\n")
                     : "; there is no room for more, and the senders of " +
                           std::to_string(place.seen.kept_waiting) +
                           " wait for that (a larger TUTTI_UNEXPECTED_BYTES lets them go on)\n");
  return report + words_of_halts(host_of) + words_of_missing() + words_of_circle(now_ms) +
         words_of_unanswered(now_ms);
}

// A line for each host, where what to do about it is a command there.
std::string Watcher::words_of_halts(const HostOf& host_of) const {
  std::string text;
  for (const Halt& halt : kHalts) {
    std::map<std::string, std::vector<int>> ranks_on;
    for (const auto& [rank, place] : ranks_)
      if (!place.seen.ended && place.is_settled && place.seen.state == halt.state)
        ranks_on[host_of(rank)].push_back(rank);
    for (const auto& [host, ranks] : ranks_on)
      text += "    " + ranks_text(ranks) + " on host " + host + " " +
              (ranks.size() == 1 ? halt.one : halt.several) +
              (halt.state == 'T' ? way_on(ranks) : "") + "\n";
  }
  return text;
}

// " (kill -CONT 4711 there lets it go on)"
std::string Watcher::way_on(const std::vector<int>& ranks) const {
  if (ranks.size() > kMostNamed) return " (SIGCONT lets them go on)";
  std::string text = " (kill -CONT";
  for (const int rank : ranks) text += " " + std::to_string(ranks_.at(rank).seen.pid);
  return text + (ranks.size() == 1 ? " there lets it go on)" : " there lets them go on)");
}

std::string Watcher::words_of_missing() const {
  std::vector<int> stopped, others;
  for (const int rank : missing()) (is_stopped(ranks_.at(rank)) ? stopped : others).push_back(rank);
  std::string text;
  if (!stopped.empty())
    text +=
        ranks_text(stopped) + (stopped.size() == 1 ? ", which is stopped" : ", which are stopped");
  if (!others.empty()) text += (text.empty() ? "" : "; and ") + ranks_text(others);
  return text.empty() ? "" : "    waited for: " + text + "\n";
}

}  // namespace tutti::launch::job
