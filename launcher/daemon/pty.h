// A pseudo terminal for a rank (--pty).
#pragma once

#include "base/unique_fd.h"
#include "control/messages.h"

namespace tutti::launch::daemon {

// What is written to `ours` is typed at `theirs`.
bool open_pty(const control::Window& size, UniqueFd* ours, UniqueFd* theirs);
void resize_pty(int fd, const control::Window& size);

}  // namespace tutti::launch::daemon
