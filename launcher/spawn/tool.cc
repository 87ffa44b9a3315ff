// Running ip and tc.
#include "spawn/tool.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/clock.h"
#include "base/environment.h"
#include "base/shortage.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "spawn/ending.h"

namespace tutti::launch::spawn {
namespace {

// An ordinary user who is master of a user namespace loses that at exec; ip and tc need the
// network part of it, and only they get it: an ambient capability of this child alone. Outside
// such a namespace both calls fail, which is right: then there is nothing to keep.
void keep_network_rights() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return;
  sets[0].inheritable = sets[0].permitted;
  sets[1].inheritable = sets[1].permitted;
  if (::syscall(SYS_capset, &header, sets.data()) != 0) return;
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_ADMIN, 0, 0);
}

// In the child, between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(char* const* argv, int input, int output) {
  keep_network_rights();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(input, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execvp(argv[0], argv);
  // ip and tc live in sbin, which an ordinary user's PATH may lack.
  for (const char* folder : {"/usr/sbin/", "/sbin/"}) {
    std::array<char, 64> path{};
    std::strncat(path.data(), folder, 16);
    std::strncat(path.data(), argv[0], 32);
    ::execv(path.data(), argv);
  }
  ::_exit(127);
}

// A child that runs it; -1: errno.
pid_t start(const std::vector<std::string>& argv, const UniqueFd& input, const UniqueFd& output) {
  const std::vector<char*> words = pointers_to(argv);
  const pid_t child = ::fork();
  if (child == 0) become(words.data(), input.get(), output.get());
  return child;
}

}  // namespace

Result<void> run_tool(const std::vector<std::string>& argv, const std::string& input) {
  const UniqueFd in(::memfd_create("tool-input", MFD_CLOEXEC));
  const UniqueFd out(::memfd_create("tool-output", MFD_CLOEXEC));
  if (!in.is_open() || !out.is_open() ||
      ::write(in.get(), input.data(), input.size()) != static_cast<ssize_t>(input.size()) ||
      ::lseek(in.get(), 0, SEEK_SET) != 0)
    return fail(Code::spawn, argv[0] + ": cannot pass its input: " + std::strerror(errno));
  const pid_t child = start(argv, in, out);
  if (child < 0) return fail(Code::spawn, no_process(errno));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return fail(Code::spawn, argv[0] + " is not installed (Debian package iproute2)");
  std::array<char, 512> said{};
  const ssize_t length = ::pread(out.get(), said.data(), said.size() - 1, 0);
  const auto lines =
      text::split({said.data(), static_cast<std::size_t>(length < 0 ? 0 : length)}, '\n');
  return fail(Code::spawn, argv[0] + " failed: " + std::string(text::trim(lines.front())));
}

Result<std::string> text_of_tool(const std::vector<std::string>& argv) {
  constexpr std::int64_t kPatienceNs = 10'000'000'000;
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd out(::memfd_create("tool-output", MFD_CLOEXEC));
  const pid_t child = start(argv, nothing, out);
  if (child < 0) return fail(Code::spawn, no_process(errno));
  const bool in_time = ends_by(child, now_ns() + kPatienceNs);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!in_time) return fail(Code::spawn, argv[0] + " does not answer");
  if (status != 0) return fail(Code::spawn, argv[0] + " failed");
  std::string text;
  std::array<char, 4096> piece{};
  for (ssize_t got = 1; got > 0;) {
    got = ::pread(out.get(), piece.data(), piece.size(), static_cast<off_t>(text.size()));
    if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

Result<void> shape_link(const std::string& device, const std::string& rate,
                        const std::string& delay) {
  std::vector<std::string> at{"root"};
  if (!delay.empty()) {
    auto done = run_tool({"tc", "qdisc", "add", "dev", device, "root", "handle", "1:", "netem",
                          "limit", "100000", "delay", delay},
                         "");
    if (!done)
      return fail(Code::spawn, "link delay " + delay + ": " + done.error().text +
                                   "; it needs the kernel's sch_netem");
    at = {"parent", "1:1"};
  }
  if (rate.empty()) return {};
  std::vector<std::string> words{"tc", "qdisc", "add", "dev", device};
  words.insert(words.end(), at.begin(), at.end());
  words.insert(words.end(), {"tbf", "rate", rate, "burst", "256kb", "latency", "100ms"});
  auto done = run_tool(words, "");
  if (!done) return fail(Code::spawn, "link rate " + rate + ": " + done.error().text);
  return {};
}

}  // namespace tutti::launch::spawn
