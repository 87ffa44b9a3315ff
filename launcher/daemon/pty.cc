#include "daemon/pty.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cstdlib>

namespace tutti::launch::daemon {

bool open_pty(const control::Window& size, UniqueFd* ours, UniqueFd* theirs) {
  ours->reset(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!ours->is_open() || ::unlockpt(ours->get()) != 0) return false;
  // Not by its name, which means something else where /dev/pts is another one.
  constexpr int kHow = O_RDWR | O_NOCTTY | O_CLOEXEC;
  theirs->reset(::ioctl(ours->get(), TIOCGPTPEER, kHow));
  resize_pty(ours->get(), size);
  return theirs->is_open();
}

// 0 by 0: prun has no terminal, and the rank's has no size.
void resize_pty(int fd, const control::Window& size) {
  constexpr int kMost = 32767;
  winsize as{};
  as.ws_row = static_cast<unsigned short>(std::clamp(size.rows, 0, kMost));
  as.ws_col = static_cast<unsigned short>(std::clamp(size.columns, 0, kMost));
  ::ioctl(fd, TIOCSWINSZ, &as);
}

}  // namespace tutti::launch::daemon
