// Each piece of work has a child and a pipe. The daemon reaps the child as it reaps all its
// children.
#include "daemon/background.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/child_output.h"

namespace tutti::launch::daemon {
namespace {

[[noreturn]] void work_in_child(const std::function<std::string()>& work, int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::_exit(write_all(out, work()) ? 0 : 1);
}

}  // namespace

Background::~Background() {
  for (auto& [pid, work] : works_) {
    ::kill(pid, SIGKILL);
    loop_.forget(work.out.get());
    loop_.cancel(work.limit);
  }
}

void Background::run(std::function<std::string()> work, std::chrono::milliseconds limit,
                     std::function<void(std::string)> done) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return loop_.post([done] { done(""); });
  UniqueFd out(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) work_in_child(work, theirs.get());
  if (pid < 0) return loop_.post([done] { done(""); });
  ::fcntl(out.get(), F_SETFL, O_NONBLOCK);
  Work& one = works_[pid];
  one.out = std::move(out);
  one.done = std::move(done);
  one.limit = loop_.after(limit, [this, pid] {
    ::kill(pid, SIGKILL);
    works_[pid].text.clear();
    finish(pid);
  });
  loop_.on_readable(one.out.get(), [this, pid] { hear(pid); });
}

void Background::hear(pid_t pid) {
  char buffer[16384];
  Work& one = works_[pid];
  const ssize_t got = ::read(one.out.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return finish(pid);
  one.text.append(buffer, static_cast<std::size_t>(got));
}

void Background::finish(pid_t pid) {
  auto node = works_.extract(pid);
  Work& one = node.mapped();
  loop_.forget(one.out.get());
  loop_.cancel(one.limit);
  one.done(std::move(one.text));
}

}  // namespace tutti::launch::daemon
