// A pipe, a fork, and a wait with a limit.
#include "base/child_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace tutti {
namespace {

std::string read_until(int in, std::int64_t deadline_ns) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    pollfd one{in, POLLIN, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(time_left(deadline_ns).count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return "";
    const ssize_t got = ::read(in, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

bool write_all(int out, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(out, text.data(), text.size());
    if (put < 0 && errno != EINTR) return false;
    if (put > 0) text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

std::string child_output(const std::function<void(int out)>& work,
                         std::chrono::milliseconds limit) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "";
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  const std::int64_t deadline_ns = now_ns() + std::chrono::nanoseconds(limit).count();
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent) work(out.get());  // else it ended before it could be asked
    ::_exit(0);
  }
  out.reset();
  if (child < 0) return "";
  std::string text = read_until(in.get(), deadline_ns);
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return text;
}

}  // namespace tutti
