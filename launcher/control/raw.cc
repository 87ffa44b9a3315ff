#include "control/raw.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace tutti::launch::control {

void RawTerminal::take() {
  termios now{};
  if (before_ || ::tcgetattr(STDIN_FILENO, &now) != 0 || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp())
    return;
  before_ = now;
  ::cfmakeraw(&now);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
}

bool RawTerminal::give_back() {
  if (!before_) return false;
  if (::tcgetpgrp(STDIN_FILENO) == ::getpgrp()) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &*before_);
  before_.reset();
  return true;
}

Window RawTerminal::size() {
  winsize size{};
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::ioctl(fd, TIOCGWINSZ, &size) == 0) return {size.ws_row, size.ws_col};
  return {};
}

}  // namespace tutti::launch::control
