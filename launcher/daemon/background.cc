// Each piece of work has a child and a pipe. The daemon reaps the child as it reaps all its
// children.
#include "daemon/background.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/child_output.h"
#include "base/shortage.h"

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
                     Done done) {
  const auto refuse = [this, &done](std::string why) {
    loop_.post([done, why = std::move(why)] { done(fail(Code::other, why)); });
  };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return refuse(std::strerror(errno));
  UniqueFd out(ends[0]);
  const UniqueFd theirs(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) work_in_child(work, theirs.get());
  if (pid < 0) return refuse(no_process(errno));
  ::fcntl(out.get(), F_SETFL, O_NONBLOCK);
  Work& one = works_[pid];
  one.out = std::move(out);
  one.done = std::move(done);
  one.limit = loop_.after(limit, [this, pid, limit] {
    ::kill(pid, SIGKILL);
    finish(pid,
           fail(Code::other, "it took longer than " + std::to_string(limit.count() / 1000) + " s"));
  });
  loop_.on_readable(one.out.get(), [this, pid] { hear(pid); });
}

void Background::hear(pid_t pid) {
  char buffer[16384];
  Work& one = works_[pid];
  const ssize_t got = ::read(one.out.get(), buffer, sizeof buffer);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) {
    one.text.append(buffer, static_cast<std::size_t>(got));
  } else if (one.text.empty()) {
    finish(pid, fail(Code::other, "the process that was to do it was killed"));
  } else {
    finish(pid, std::exchange(one.text, {}));
  }
}

void Background::finish(pid_t pid, const Result<std::string>& answer) {
  auto node = works_.extract(pid);
  Work& one = node.mapped();
  loop_.forget(one.out.get());
  loop_.cancel(one.limit);
  one.done(answer);
}

}  // namespace tutti::launch::daemon
