// What a node shows that joined by itself: words for who started it, and its own ranks' output
// (torchrun's); written as prun does it, never waiting for a slow reader.
#pragma once

#include <functional>
#include <string_view>

#include "control/control.h"
#include "control/terminal.h"

namespace tutti::launch::daemon {

class Shown {
 public:
  using Broken = std::function<void(const control::DaemonFailed& why)>;

  // `drained`: nothing is queued any more.
  Shown(control::Loop& loop, const Broken& broken, const std::function<void()>& drained);

  void write(int stream, std::string_view text);  // 0 stdout, 1 stderr
  void say(std::string_view line);                // of our own, on stderr
  // Words that a head of whom nothing is known does not get are for the user who started this node.
  void say_words_of(const control::Message& message);
  std::size_t queued_bytes() const {
    return streams_[0].queued_bytes() + streams_[1].queued_bytes();
  }
  // After the last write: says what was lost. A status for that, or 0.
  int tell_loss();

 private:
  void tell(int stream, int error, const Broken& broken);

  control::StreamWriter streams_[2];
};

}  // namespace tutti::launch::daemon
