// A pipe whose other end the child alone holds: its end, however it comes, ends the reading.
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

std::optional<std::string> heard_until(int in, std::int64_t end_ns) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const std::int64_t left = end_ns - now_ns();
    pollfd one{in, POLLIN, 0};
    const int ready = left > 0 ? ::poll(&one, 1, static_cast<int>(left / 1'000'000) + 1) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    const ssize_t got = ::read(in, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

std::optional<std::string> child_output(std::int64_t limit_ns,
                                        const std::function<void(int out)>& work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    work(out.get());
    ::_exit(127);
  }
  out.reset();
  const auto text = heard_until(in.get(), now_ns() + limit_ns);
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return text;
}

}  // namespace tutti
