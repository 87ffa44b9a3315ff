// From looks at watch records to sentences.
#include "job/watcher.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "watch/watch.h"

namespace tutti::launch::job {
namespace {

constexpr std::size_t kMostFrames = 16;   // of libraries
constexpr std::uint64_t kManyKept = 100;  // messages that wait for a receive are worth a line
constexpr std::uint64_t kKeptBytes = 4 << 10;
constexpr std::uint64_t kWorldContexts = 2;  // MPI_COMM_WORLD: messages and collectives

std::string function_of(const control::SeenRank& seen) {
  return watch::function_name(static_cast<std::uint32_t>(seen.function - 1));
}

// Collectives have odd contexts (comm/contexts.h).
bool is_collective(const control::SeenRank& seen) {
  return seen.function != 0 && seen.detailed && seen.context % 2 == 1;
}

std::string communicator_of(const control::SeenRank& seen) {
  if (seen.context < kWorldContexts) return "MPI_COMM_WORLD";
  return "communicator " + std::to_string(seen.context / 2);
}

// Of the world's collective call that `seen` is in. Members of other communicators are not known.
bool is_missed_in(const control::SeenRank& seen, const control::SeenRank& other) {
  return seen.context < kWorldContexts &&
         (other.ended || !is_collective(other) || other.context != seen.context ||
          other.sequence < seen.sequence);
}

std::vector<int> sorted(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

bool is_flooded(const control::SeenRank& seen) {
  return seen.kept_messages >= kManyKept || seen.kept_bytes >= kManyKept * kKeptBytes;
}

std::string place_of(const control::SeenRank& seen) {
  if (seen.ended) return "over";
  if (seen.function == 0)
    return seen.joined ? "not in MPI: computing, or waiting for something else"
                       : "not in MPI yet (before MPI_Init)";
  std::string text = function_of(seen);
  if (!seen.detailed) return text;
  text += " on " + communicator_of(seen);
  if (is_collective(seen)) {
    if (seen.sequence > 0) text += ", its collective number " + std::to_string(seen.sequence);
    if (seen.peer >= 0) text += ", root rank " + std::to_string(seen.peer);
  } else if (seen.peer != watch::kNoPeer) {
    text +=
        seen.peer == watch::kAnyPeer ? ", for any rank" : ", for rank " + std::to_string(seen.peer);
    text += seen.tag >= 0 ? ", tag " + std::to_string(seen.tag) : ", any tag";
  }
  if (seen.bytes > 0) text += ", " + text::format_bytes(seen.bytes);
  return text;
}

// The file that a frame's code is in: "#1 0xAB f () from FILE" of gdb, "#1 0xAB f - FILE" of
// eu-stack.
std::string_view file_of(std::string_view frame) {
  for (const std::string_view mark : {" from /", " - /"})
    if (const auto at = frame.rfind(mark); at != std::string_view::npos)
      return frame.substr(at + mark.size() - 1);
  return {};
}

// Where the C library's symbols are installed, gdb names its sources instead of its file.
bool is_of_libc(std::string_view frame) {
  for (const char* source : {" at ../sysdeps/", " at ./nptl/", " at ../csu/", " at ./csu/"})
    if (frame.find(source) != std::string_view::npos) return true;
  return false;
}

// Frames of one thread as a debugger prints them.
struct ThreadStack {
  std::string own, of_libraries;
  std::size_t count = 0;

  void add(std::string frame) {
    const bool has_no_name = frame.find("?? ()") != std::string::npos;
    const bool is_library =
        has_no_name || is_of_libc(frame) || file_of(frame).find(".so") != std::string_view::npos;
    if (is_library && ++count > kMostFrames) return;
    // "#0  0x00007f... name", "#0  0x00007f... in name ()": the address says nothing to a reader.
    const auto hex = frame.find_first_not_of(' ', frame.find(' '));
    const auto space = frame.find(' ', hex);
    if (space != std::string::npos && frame.compare(hex, 2, "0x") == 0) {
      const std::size_t in = frame.compare(space, 4, " in ") == 0 ? 3 : 0;
      frame.erase(hex, space + in + 1 - hex);
    }
    (is_library ? of_libraries : own) += "      " + frame + "\n";
  }
  std::string text() const { return own + of_libraries; }
};

}  // namespace

std::string fold_ranks(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(ranks[i]);
    if (last > i) text += "-" + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

std::string shorten_stack(const std::string& text) {
  std::string frames;
  ThreadStack thread;
  for (const std::string& line : text::split(text, '\n')) {
    const auto sharp = line.find_first_not_of(' ');
    if (sharp == std::string::npos) continue;
    if (line.starts_with("Thread ") || line.starts_with("TID "))
      frames += std::exchange(thread, {}).text() + "      " + line + "\n";
    if (line[sharp] == '#') thread.add(line.substr(sharp));
  }
  frames += thread.text();
  return frames.empty() ? "      " + std::string(text::trim(text)) + "\n" : frames;
}

// The frame behind the last of MPI's: "#3  0xAB in main (argc=1) at a.c:3", "#3 0xAB main - FILE".
std::string caller_in_stack(const std::string& text) {
  bool is_next = false;
  for (const std::string& line : text::split(text, '\n')) {
    const bool is_mpi = line.find("MPI_") != std::string::npos;
    if (is_next && !is_mpi && line.starts_with('#')) {
      const auto at = line.rfind(" at ");
      const std::string place =
          at == std::string::npos ? "" : line.substr(std::max(at + 4, line.rfind('/') + 1));
      std::string name = line.substr(0, line.find(" - "));
      name = text::trim(name.substr(0, name.find(" (")));
      name = name.substr(name.rfind(' ') + 1);
      return name == "??" ? "" : name + (place.empty() ? "" : " at " + place);
    }
    is_next = is_mpi && line.starts_with('#');
  }
  return {};
}

void Watcher::take(const control::SeenRank& seen, std::int64_t now_ms) {
  const auto [at, fresh] = ranks_.try_emplace(seen.rank);
  Place& place = at->second;
  const bool moved = fresh || place.seen.calls != seen.calls ||
                     place.seen.function != seen.function || place.seen.ended != seen.ended;
  if (moved) place.since_ms = fresh && seen.calls == 0 ? began_ms_ : now_ms;
  place.seen = seen;
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

bool Watcher::is_still(std::int64_t now_ms, std::int64_t for_ms) const {
  bool waits = false;
  for (const auto& [rank, place] : ranks_) {
    if (place.seen.ended) continue;
    if (now_ms - place.since_ms < for_ms) return false;
    waits = waits || place.seen.function != 0;
  }
  return waits;
}

bool Watcher::all_wait(std::int64_t now_ms, std::int64_t for_ms) const {
  return is_still(now_ms, for_ms) &&
         std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) {
           return rank.second.seen.ended || rank.second.seen.function != 0;
         });
}

std::vector<int> Watcher::never_in_mpi() const {
  std::vector<int> living;
  for (const auto& [rank, place] : ranks_) {
    if (place.seen.joined) return {};
    if (!place.seen.ended) living.push_back(rank);
  }
  return living;
}

std::optional<int> Watcher::waits_for(const control::SeenRank& seen) const {
  if (seen.ended || seen.function == 0 || !seen.detailed) return std::nullopt;
  if (!is_collective(seen)) return seen.peer < 0 ? std::nullopt : std::optional(seen.peer);
  for (const auto& [other, its] : ranks_)
    if (is_missed_in(seen, its.seen) && !its.seen.ended && its.seen.function != 0) return other;
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

std::string Watcher::words_of_circle() const {
  const std::vector<int> ranks = circle();
  if (ranks.empty()) return {};
  std::string text = "    a deadlock: ";
  if (ranks.size() == 1) {
    text += "rank " + std::to_string(ranks[0]) + " waits for itself";
  } else if (ranks.size() == 2) {
    text += "ranks " + fold_ranks(sorted(ranks)) + " wait for each other";
  } else {
    text += "ranks " + fold_ranks(sorted(ranks)) + " wait in a circle";
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
    if (seen.ended || seen.function == 0 || !seen.detailed) continue;
    if (!is_collective(seen)) {
      if (seen.peer >= 0) awaited.insert(seen.peer);
      continue;
    }
    for (const auto& [other, its] : ranks_)
      if (is_missed_in(seen, its.seen)) awaited.insert(other);
  }
  // Those that wait for somebody themselves come last: they are links of a chain, not its end.
  std::vector<int> first, then;
  for (const int rank : awaited) {
    const control::SeenRank* seen = find(rank);
    if (seen == nullptr) continue;
    (seen->function == 0 || seen->ended ? first : then).push_back(rank);
  }
  first.insert(first.end(), then.begin(), then.end());
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
    report += (one ? "    rank " : "    ranks ") + fold_ranks(group.ranks);
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
  const auto awaited = missing();
  if (!awaited.empty())
    report += (awaited.size() == 1 ? "    waited for: rank " : "    waited for: ranks ") +
              fold_ranks(sorted(awaited)) + "\n";
  return report + words_of_circle();
}

}  // namespace tutti::launch::job
