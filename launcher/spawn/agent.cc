// Starting ssh, srun or a wrapper.
#include "spawn/agent.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/environment.h"

namespace tutti::launch::spawn {
namespace {

// In the child. What cannot be started is told where the program would have spoken.
[[noreturn]] void become(char* const* argv, char* const* environment) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);
  ::execvpe(argv[0], argv, environment);
  const char* why = std::strerror(errno);
  (void)!::write(2, argv[0], std::strlen(argv[0]));
  (void)!::write(2, ": ", 2);
  (void)!::write(2, why, std::strlen(why));
  ::_exit(127);
}

}  // namespace

bool start_agent(const std::vector<std::string>& words, const std::vector<std::string>* environment,
                 Agent* started) {
  int to[2], from[2], errors[2];
  if (::pipe2(to, O_CLOEXEC) != 0) return false;
  started->in.reset(to[1]);
  const UniqueFd theirs_in(to[0]);
  if (::pipe2(from, O_CLOEXEC) != 0) return false;
  started->out.reset(from[0]);
  const UniqueFd theirs_out(from[1]);
  if (::pipe2(errors, O_CLOEXEC) != 0) return false;
  started->errors.reset(errors[0]);
  const UniqueFd theirs_errors(errors[1]);

  const std::vector<char*> argv = pointers_to(words);
  const std::vector<char*> own =
      environment != nullptr ? pointers_to(*environment) : std::vector<char*>{};
  const pid_t parent = ::getpid();
  started->pid = ::fork();
  if (started->pid < 0) return false;
  ::setpgid(started->pid, 0);  // on both sides: it is a group before anything is done with it
  if (started->pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(255);
    ::dup2(theirs_in.get(), 0);
    ::dup2(theirs_out.get(), 1);
    ::dup2(theirs_errors.get(), 2);
    become(argv.data(), environment != nullptr ? own.data() : environ);
  }
  started->process.reset(static_cast<int>(::syscall(SYS_pidfd_open, started->pid, 0)));
  return started->process.is_open();
}

}  // namespace tutti::launch::spawn
