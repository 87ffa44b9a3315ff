// Messages about what ranks are in: part of the table in messages.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::launch {

// down: look at the ranks' watch records; of these, also take the stacks.
struct Look {
  std::uint64_t number = 0;
  std::vector<int> stacks;
  template <class F>
  void fields(F&& f) {
    f("number", number), f("stacks", stacks);
  }
};

// What one rank is in, as its record says (wireup::WatchRecord).
struct SeenRank {
  int rank = 0;
  int pid = 0;
  bool joined = false, ended = false;
  std::uint64_t function = 0;  // index + 1; 0: not in MPI
  std::uint64_t calls = 0;
  bool detailed = false;  // what follows is about this call
  std::uint64_t context = 0;
  int peer = 0;
  int tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sequence = 0;
  template <class F>
  void fields(F&& f) {
    f("rank", rank), f("pid", pid), f("joined", joined), f("ended", ended);
    f("function", function), f("calls", calls), f("detailed", detailed), f("context", context);
    f("peer", peer), f("tag", tag), f("bytes", bytes), f("sequence", sequence);
  }
};

// up: the answer to Look.
struct Seen {
  std::uint64_t number = 0;
  std::vector<SeenRank> ranks;
  template <class F>
  void fields(F&& f) {
    f("number", number), f("ranks", ranks);
  }
};

// up: what a rank said of its calls (wireup::RankSays: spent, events, sent), as it came.
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

}  // namespace tutti::launch
