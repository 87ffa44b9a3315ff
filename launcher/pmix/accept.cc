// Whom OpenPMIx hears: only connections of this user and of root.
//
// The library listens at a port of the loopback interface, believes whoever says a job's name, and
// reads a visitor's first words on the thread that serves all ranks: one who says nothing, of any
// user, would stop them all. It offers no way to choose, but it calls accept(), and a program's own
// function comes before the C library's of that name.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"
#include "control/whose.h"

namespace {

// Who is refused never came, to the library (of EINTR, version 4.2 makes its end).
int accept_ours(int listener, sockaddr* address, socklen_t* length, int flags) {
  using tutti::launch::control::Whose;
  tutti::UniqueFd visitor(
      static_cast<int>(::syscall(SYS_accept4, listener, address, length, flags)));
  if (!visitor.is_open()) return -1;
  if (tutti::launch::control::whose_end(visitor.get()) == Whose::ours) return visitor.release();
  visitor.reset();
  errno = EAGAIN;
  return -1;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int accept(int listener, sockaddr* address, socklen_t* length) {
  return accept_ours(listener, address, length, 0);
}
[[gnu::visibility("default")]] int accept4(int listener, sockaddr* address, socklen_t* length,
                                           int flags) {
  return accept_ours(listener, address, length, flags);
}

}  // extern "C"
