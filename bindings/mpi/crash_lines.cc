#include "mpi/crash_lines.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/clock.h"
#include "mpi/place.h"

namespace tutti::mpi {
namespace {

constexpr std::int64_t kLimitNs = std::int64_t{CrashLines::kLimitS} * 1'000'000'000;
constexpr std::int64_t kEndNs = 500'000'000;  // what was killed ends in much less

// The arguments of addr2line.
struct Addr2lineWords {
  std::array<std::array<char, 2 * sizeof(std::uintptr_t) + 1>, CrashLines::kMost> digits{};
  std::array<const char*, CrashLines::kMost + 5> words{"addr2line", "-Cfps", "-e"};
};

void write_question(const char* file, std::span<const SourcePlace> places, Addr2lineWords* out) {
  std::size_t word = 3;
  out->words[word++] = file;
  for (std::size_t i = 0; i < std::min(places.size(), out->digits.size()); ++i) {
    auto& digits = out->digits[i];
    std::to_chars(digits.data(), digits.data() + digits.size() - 1, places[i].address, 16);
    out->words[word++] = digits.data();
  }
}

[[noreturn]] void become_addr2line(const Addr2lineWords& question, int out, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it ended before it could be asked
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);  // a handler that we come from had blocked all
  // Where the program has closed its own, both may have the number of a standard stream.
  out = ::fcntl(out, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int nothing = ::open("/dev/null", O_RDWR);
  if (::dup2(nothing, STDIN_FILENO) >= 0 && ::dup2(nothing, STDERR_FILENO) >= 0 &&
      ::dup2(out, STDOUT_FILENO) >= 0)
    ::execvp("addr2line", const_cast<char* const*>(question.words.data()));
  ::_exit(127);
}

// All that comes until its end, the limit, or the room's.
std::size_t read_until(int from, std::int64_t until_ns, std::span<char> room) {
  std::size_t got = 0;
  while (got < room.size()) {
    pollfd in{from, POLLIN, 0};
    const std::int64_t left_ns = std::max<std::int64_t>(until_ns - now_ns(), 0);
    const auto left_ms = static_cast<int>((left_ns + 999'999) / 1'000'000);  // none is left behind
    const int ready = ::poll(&in, 1, left_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    const ssize_t more = ::read(from, room.data() + got, room.size() - got);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    got += static_cast<std::size_t>(more);
  }
  return got;
}

// In the kernel it may hear no signal, as long as a disk does not answer (state D): then it is
// left.
void end_child(pid_t child) {
  ::kill(child, SIGKILL);
  for (const std::int64_t until_ns = now_ns() + kEndNs; now_ns() < until_ns;) {
    if (::waitpid(child, nullptr, WNOHANG) != 0) return;
    ::poll(nullptr, 0, 1);
  }
}

}  // namespace

void CrashLines::ask(const char* file, std::span<SourcePlace> places) {
  if (until_ns_ == 0) until_ns_ = now_ns() + kLimitNs;
  is_late_ = now_ns() >= until_ns_;
  if (is_late_ || is_full()) return;
  Addr2lineWords question;
  write_question(file, places, &question);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  const pid_t parent = ::getpid();
  const pid_t child = ::_Fork();
  if (child == 0) become_addr2line(question, ends[1], parent);
  ::close(ends[1]);
  const std::span<char> room = std::span(said_).subspan(used_);
  const std::size_t got = child > 0 ? read_until(ends[0], until_ns_, room) : 0;
  ::close(ends[0]);
  is_late_ = now_ns() >= until_ns_;
  if (child > 0) end_child(child);
  used_ += got;
  std::string_view left(room.data(), got);
  for (SourcePlace& place : places) {
    const std::size_t end = left.find('\n');
    if (end == std::string_view::npos) return;
    place.line = known_place(left.substr(0, end));
    left.remove_prefix(end + 1);
  }
}

}  // namespace tutti::mpi
