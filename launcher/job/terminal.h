// prun's own stdin, stdout and stderr: shared with others, possibly slow, possibly closed.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "control/control.h"

namespace tutti::launch::job {

class Terminal {
 public:
  // `broken(stream, error)`: stdout or stderr takes no more; called once per stream.
  Terminal(control::Loop& loop, std::function<void(int stream, int error)> broken);
  ~Terminal();

  void write(int stream, std::string_view text);  // 1 or 2
  // One line of prun's own, on stderr, after what was written before.
  void say(std::string_view line);
  // A line that is replaced by the next and vanishes before other output; terminals only.
  void status(std::string_view line);
  std::size_t queued_bytes() const;
  void on_drained(std::function<void()> drained) { drained_ = std::move(drained); }

  // Reads stdin while there is room; `end` is true once, with the last of it.
  void read_input(std::function<void(std::string text, bool end)> take);
  void allow_input(std::size_t bytes);  // so many more
  void stop_input();

 private:
  struct Stream {
    int fd = 0;
    std::string queue;
    std::size_t written = 0;
    bool waiting = false, broken = false;
  };
  void drain(Stream& stream);
  void read_some();

  control::Loop& loop_;
  std::function<void(int, int)> broken_;
  std::function<void()> drained_;
  std::function<void(std::string, bool)> take_;
  Stream out_, err_;
  bool status_shown_ = false;
  bool reading_ = false;
  std::size_t room_ = 0;
};

}  // namespace tutti::launch::job
