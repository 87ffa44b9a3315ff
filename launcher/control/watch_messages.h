// Messages about what ranks are in: part of the table in messages.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::launch::control {

// down: look at the ranks' watch records; of these, also take the stacks.
struct Look {
  std::uint64_t number = 0;
  std::vector<int> stacks;
  bool all_calls = false;  // recent collectives of every rank, not only of those that stand still
  template <class F>
  void fields(F&& f) {
    f("number", number), f("stacks", stacks), f("all_calls", all_calls);
  }
};

// A collective that ranks of a host began, as their records say (wireup::CallRecord).
struct SeenCall {
  std::uint64_t birth = 0, number = 0, others = 0, bytes = 0;
  int first = 0, root = 0;
  std::uint32_t context = 0, fingerprint = 0, terms = 0, history = 0, function = 0, flags = 0;
  std::vector<int> ranks;
  template <class F>
  void fields(F&& f) {
    f("birth", birth), f("number", number), f("others", others), f("bytes", bytes);
    f("first", first), f("root", root), f("context", context), f("fingerprint", fingerprint);
    f("terms", terms), f("history", history), f("function", function), f("flags", flags);
    f("ranks", ranks);
  }
};

// What one rank is in, as its record says (wireup::WatchRecord).
struct SeenRank {
  int rank = 0;
  int pid = 0;
  bool joined = false, ended = false;
  // Of its process, as /proc shows it: R, S, D, T, t, Z; 0: not known; X: its MPI program is dead,
  // what started that one is not.
  int state = 0;
  std::uint64_t function = 0;  // index + 1; 0: not in MPI
  std::uint64_t calls = 0;
  bool detailed = false;  // what follows is about this call
  std::uint64_t context = 0;
  int peer = 0;
  int tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sequence = 0;
  std::uint64_t kept_messages = 0, kept_bytes = 0;  // that came and were not received yet
  std::uint64_t kept_waiting = 0;                   // of them whose senders wait for room
  // WatchRecord::asked: whether, and for what, it waits for a GPU's driver.
  std::uint64_t asked = 0;
  template <class F>
  void fields(F&& f) {
    f("kept_messages", kept_messages), f("kept_bytes", kept_bytes);
    f("kept_waiting", kept_waiting), f("asked", asked);
    f("rank", rank), f("pid", pid), f("joined", joined), f("ended", ended), f("state", state);
    f("function", function), f("calls", calls), f("detailed", detailed), f("context", context);
    f("peer", peer), f("tag", tag), f("bytes", bytes), f("sequence", sequence);
  }
};

// up: the answer to Look; number 0: nobody asked; ranks wait in MPI, or the last of
// the host's has ended.
struct Seen {
  std::uint64_t number = 0;
  std::vector<SeenRank> ranks;
  std::vector<SeenCall> calls;  // all that is known of the ranks in them, or nothing new
  template <class F>
  void fields(F&& f) {
    f("number", number), f("ranks", ranks), f("calls", calls);
  }
};

// up: what a rank said of its calls (wireup::RankSays: spent, events, sent, call), as it came.
struct Used {
  int rank = 0;
  int says = 0;
  std::string bytes;
  template <class F>
  void fields(F&& f) {
    f("rank", rank), f("says", says), f("bytes", bytes);
  }
};

// up: stacks of ranks that Look asked for, as soon as they are there.
struct Stack {
  int rank = 0;
  std::string text;  // a line for each frame; or why there is none
  template <class F>
  void fields(F&& f) {
    f("rank", rank), f("text", text);
  }
};

}  // namespace tutti::launch::control
