// The user's terminal, while rank 0 has one of its own (--pty): every key goes there as it is
// typed, control-C and control-Z among them.
#pragma once

#include <termios.h>

#include <optional>

#include "control/messages.h"

namespace tutti::launch::control {

class RawTerminal {
 public:
  RawTerminal() = default;
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal() { give_back(); }

  // Nothing where standard input is no terminal, or another process group's just now.
  void take();
  bool give_back();  // as it was; false: it was not taken
  bool is_taken() const { return before_.has_value(); }

  static Window size();

 private:
  std::optional<termios> before_;
};

}  // namespace tutti::launch::control
