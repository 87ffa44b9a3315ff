// What ranks write and read, on its way between them and prun: part of messages.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace tutti::launch::control {

// up: whole lines (or the last piece) a rank wrote.
struct Output {
  int rank = 0;
  int stream = 1;  // 1 or 2
  std::string text;
  bool more = false;  // the rest of these lines follows at once
  template <class F>
  void fields(F&& f) {
    f("rank", rank), f("stream", stream), f("text", text), f("more", more);
  }
};

// down: so many bytes of Output have reached the user's streams; the host may send as many more.
// Only output waits for a slow reader: what ranks say and how they end passes it by.
struct OutputTaken {
  std::uint64_t bytes = 0;
  template <class F>
  void fields(F&& f) {
    f("bytes", bytes);
  }
};

// Of one host, on their way to prun. A host that fills this reads its ranks' pipes no further;
// all hosts together fill little of prun's memory.
constexpr std::uint64_t output_room(std::size_t hosts) {
  constexpr std::uint64_t kAll = 4U << 20, kMost = 256U << 10, kLeast = 32U << 10;
  return std::clamp(kAll / std::max<std::uint64_t>(hosts, 1), kLeast, kMost);
}

// down: bytes for the ranks that take stdin; `end` closes it.
struct Input {
  std::string text;
  bool end = false;
  template <class F>
  void fields(F&& f) {
    f("text", text), f("end", end);
  }
};

// down: the size of prun's terminal, for a rank that has one of its own. 0: there is none.
struct Window {
  int rows = 0, columns = 0;
  template <class F>
  void fields(F&& f) {
    f("rows", rows), f("columns", columns);
  }
};

// up: so many bytes of Input are written; the head sends more, unless nobody there reads any more.
struct InputTaken {
  std::uint64_t bytes = 0;
  bool closed = false;
  template <class F>
  void fields(F&& f) {
    f("bytes", bytes), f("closed", closed);
  }
};

}  // namespace tutti::launch::control
