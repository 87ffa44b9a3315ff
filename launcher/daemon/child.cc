// What the child does on the daemon's memory until it runs its program. It makes only
// async-signal-safe calls and changes nothing of the daemon's: its first deed is a table of
// descriptors of its own, without those of the other ranks. It dies with the daemon (parent-death
// signal) and leads a process group of its own, so that a signal reaches what it starts, too.
//
// Errno is one word for the daemon and all its children. What can fail is therefore asked of the
// kernel itself, whose answer is in a register.
#include "daemon/child.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>

namespace tutti::launch::daemon {
namespace {

long word(long value) {
  return value;
}
long word(const volatile void* pointer) {
  return reinterpret_cast<long>(pointer);
}

// A system call: what the kernel returns, a negative errno where it fails.
long by_registers(long number, long a, long b, long c, long d) {
#if defined(__x86_64__)
  long result = number;
  register long fourth asm("r10") = d;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a), "S"(b), "d"(c), "r"(fourth)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long which asm("x8") = number;
  register long result asm("x0") = a;
  register long second asm("x1") = b;
  register long third asm("x2") = c;
  register long fourth asm("x3") = d;
  asm volatile("svc 0"
               : "+r"(result)
               : "r"(which), "r"(second), "r"(third), "r"(fourth)
               : "memory");
  return result;
#else
  static_assert(!kSharesMemory);
  const long result = ::syscall(number, a, b, c, d);
  return result == -1 ? -errno : result;
#endif
}

template <class A = long, class B = long, class C = long, class D = long>
int kernel(long number, A a = {}, B b = {}, C c = {}, D d = {}) {
  return static_cast<int>(by_registers(number, word(a), word(b), word(c), word(d)));
}

[[noreturn]] void give_up(const Child& child, int result) {
  *child.error = -result;
  ::_exit(127);
}

void must(const Child& child, int result) {
  if (result < 0) give_up(child, result);
}

// From here on what happens to descriptors is the child's own matter.
void own_descriptors(const Child& child) {
  if (!kSharesMemory) return;
  const int last = std::max(
      {child.stdio[0], child.stdio[1], child.stdio[2], child.segment, child.control, child.server});
  constexpr long kUnshare = 2;  // CLOSE_RANGE_UNSHARE: the others are not even copied
  if (kernel(SYS_close_range, long{last} + 1, static_cast<long>(~0U), kUnshare) != 0)
    must(child, kernel(SYS_unshare, long{CLONE_FILES}));
}

void take_descriptor(const Child& child, int fd, int as) {
  // dup3 refuses what is there already; it then stays open over the exec all the same.
  must(child, fd == as ? kernel(SYS_fcntl, fd, F_SETFD, 0) : kernel(SYS_dup3, fd, as, 0));
}

// prun passes these signals on, so a rank must hear them even when the shell that started prun
// in the background made it ignore them. (Neither call can fail.)
void restore_signals() {
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGQUIT, SIGTERM})
    std::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// A kernel without the call, or a node that is not there, leaves the memory unbound.
void bind(const Child& child) {
  if (child.binds)
    must(child, kernel(SYS_sched_setaffinity, 0, sizeof child.processors, child.processors.data()));
  constexpr long kBind = 2;  // MPOL_BIND
  if (child.binds_memory)
    kernel(SYS_set_mempolicy, kBind, child.memory.data(), sizeof child.memory * CHAR_BIT);
}

}  // namespace

[[noreturn]] void become_rank(const Child& child) {
  own_descriptors(child);
  // Who has a terminal leads a session: its foreground group hears what control-C sends.
  if (child.on_pty) {
    must(child, kernel(SYS_setsid));
    must(child, kernel(SYS_ioctl, child.stdio[0], TIOCSCTTY, 0));
  } else {
    kernel(SYS_setpgid, 0, 0);
  }
  kernel(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != child.daemon) ::_exit(127);  // it died before the line above
  for (int i = 0; i < 3; ++i) take_descriptor(child, child.stdio[i], i);
  take_descriptor(child, child.segment, child.as.segment);
  take_descriptor(child, child.control, child.as.control);
  if (child.server >= 0) take_descriptor(child, child.server, child.as.server);
  kernel(SYS_prlimit64, 0, RLIMIT_NOFILE, child.open_files);
  must(child, kernel(SYS_chdir, child.directory));
  bind(child);
  restore_signals();
  const int refused = kernel(SYS_execve, child.path, child.argv, child.environment);
  // A script without its first line: the shell runs it, as everywhere.
  if (refused == -ENOEXEC && child.by_shell)
    kernel(SYS_execve, child.shell_argv[0], child.shell_argv, child.environment);
  give_up(child, refused);
}

}  // namespace tutti::launch::daemon
