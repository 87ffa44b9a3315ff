// Writing without ever blocking on a slow reader, and without making the shared descriptors
// non-blocking. A pipe or a terminal is opened once more, by /proc, as a descriptor of our own that
// does not block; where that is refused, what poll() calls writable takes PIPE_BUF bytes at once
// (a terminal that is stopped in the middle of these would block).
#include "control/terminal.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/file.h"
#include "base/numbers.h"
#include "base/printable.h"

namespace tutti::launch::control {
namespace {

constexpr std::size_t kReadText = 64U << 10;
constexpr std::size_t kCompactText = 128U << 10;

// Reading from a terminal whose foreground belongs to somebody else would stop us.
bool may_read(int fd) {
  return ::isatty(fd) == 0 || ::tcgetpgrp(fd) == ::getpgrp();
}

}  // namespace

StreamWriter::StreamWriter(Loop& loop, int fd, std::function<void(int)> broken)
    : loop_(loop), fd_(fd), broken_(std::move(broken)) {}

StreamWriter::~StreamWriter() {
  if (waiting_) loop_.forget(descriptor());
}

bool StreamWriter::is_file() const {
  struct stat status {};
  return ::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode);
}

StreamWriter::Kind StreamWriter::kind() {
  if (kind_ != Kind::unknown) return kind_;
  struct stat status {};
  ::fstat(fd_, &status);
  kind_ = S_ISREG(status.st_mode)    ? Kind::file
          : S_ISSOCK(status.st_mode) ? Kind::socket
                                     : Kind::others;
  if (!S_ISFIFO(status.st_mode) && ::isatty(fd_) == 0) return kind_;
  const std::string path = "/proc/self/fd/" + std::to_string(fd_);
  own_.reset(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  // Where this process has no standard streams, nothing else may stand there.
  if (own_.is_open() && own_.get() < 3) own_.reset(::fcntl(own_.get(), F_DUPFD_CLOEXEC, 3));
  if (own_.is_open()) kind_ = Kind::own;
  return kind_;
}

// As ::write; EAGAIN: it would block.
ssize_t StreamWriter::put(std::string_view text) {
  const int fd = descriptor();
  switch (kind()) {
    case Kind::socket:
      return ::send(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    case Kind::others: {
      pollfd look{fd, POLLOUT, 0};
      if (::poll(&look, 1, 0) > 0)
        return ::write(fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
      errno = EAGAIN;
      return -1;
    }
    default:
      return ::write(descriptor(), text.data(), text.size());
  }
}

void StreamWriter::write(std::string_view text) {
  if (loss_.error != 0) {
    loss_.bytes += text.size();
    return;
  }
  // What a file takes at once is not copied first.
  while (queue_.empty() && !text.empty() && kind() == Kind::file) {
    const ssize_t done = put(text);
    if (done <= 0) break;  // drain finds out why
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  if (written_ > kCompactText) queue_.erase(0, std::exchange(written_, 0));
  queue_.append(text);
  if (!waiting_) drain();
}

void StreamWriter::drain() {
  while (written_ < queue_.size()) {
    const ssize_t done = put(std::string_view(queue_).substr(written_));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EAGAIN) {
      if (!waiting_) loop_.on_writable(descriptor(), [this] { drain(); });
      waiting_ = true;
      return;
    }
    if (done < 0) {
      break_off(errno);
      break;
    }
    written_ += static_cast<std::size_t>(done);
  }
  queue_.clear();
  if (queue_.capacity() > 2 * kCompactText)
    std::string().swap(queue_);  // keeps no room for what was large
  written_ = 0;
  if (waiting_) loop_.forget(descriptor());
  waiting_ = false;
  if (drained_) drained_();
}

void StreamWriter::break_off(int error) {
  loss_ = {queued_bytes(), error};
  loop_.post([this, error] { broken_(error); });
}

std::string StreamWriter::take_rest() {
  std::string rest = queue_.substr(written_);
  queue_.clear();
  written_ = 0;
  return rest;
}

StreamWriter::Loss StreamWriter::loss() {
  if (loss_.error != 0) return loss_;
  if (queued_bytes() > 0) return {queued_bytes(), EAGAIN};
  if (kind_ != Kind::file) return {};
  loss_.error = error_of_closing(fd_);
  return loss_;
}

void last_words(std::string_view text, std::chrono::milliseconds patience) {
  Loop loop;
  StreamWriter out(loop, 2, [&loop](int) { loop.stop(); });
  out.write(text);
  if (out.queued_bytes() == 0) return;
  out.on_drained([&loop] { loop.stop(); });
  loop.on_signals({SIGINT, SIGTERM, SIGHUP, SIGQUIT}, [&loop](int) { loop.stop(); });
  loop.after(patience, [&loop] { loop.stop(); });
  loop.run();
}

std::string words_of(int stream, const StreamWriter::Loss& loss) {
  if (loss.error == 0 || loss.error == EPIPE) return "";
  const std::string name = stream == 2 ? "standard error" : "standard output";
  const std::string why = loss.error == EAGAIN  ? "its reader takes nothing"
                          : loss.error == EBADF ? "it is closed"
                                                : std::strerror(loss.error);
  if (loss.bytes == 0) return name + " could not be written to its end: " + why;
  return text::counted(loss.bytes, "byte") + " of " + name + " could not be written: " + why;
}

std::string own_line(std::string_view line) {
  return "prun: " + text::printable_lines(line) + "\n";
}

Terminal::Terminal(Loop& loop, const std::function<void(int, int)>& broken)
    : loop_(loop),
      out_(loop, 1, [broken](int error) { broken(1, error); }),
      err_(loop, 2, [broken](int error) { broken(2, error); }) {}

Terminal::~Terminal() {
  loop_.forget(0);
}

void Terminal::write(int number, std::string_view text) {
  if (text.empty()) return;
  if (std::exchange(status_shown_, false)) err_.write("\r\033[K");
  (number == 2 ? err_ : out_).write(text);
}

void Terminal::say(std::string_view line) {
  write(2, own_line(line));
}

void Terminal::status(std::string_view line) {
  if (::isatty(2) == 0 || queued_bytes() > 0) return;
  write(2, "\r\033[Kprun: " + text::printable(line));
  status_shown_ = true;
}

void Terminal::on_drained(const std::function<void()>& drained) {
  const auto both = [this, drained] {
    if (queued_bytes() == 0) drained();
  };
  out_.on_drained(both);
  err_.on_drained(both);
}

void Terminal::read_input(std::function<void(std::string, bool)> take) {
  take_ = std::move(take);
  allow_input(0);
}

void Terminal::allow_input(std::size_t bytes) {
  room_ += bytes;
  if (reading_ || !take_ || room_ == 0) return;
  reading_ = true;
  loop_.on_readable(0, [this] { read_some(); });
}

void Terminal::stop_input() {
  take_ = nullptr;
  reading_ = false;
  loop_.forget(0);
}

void Terminal::read_some() {
  if (!may_read(0)) {
    // In the background: look again later, as long as nobody gives us the terminal.
    loop_.forget(0);
    loop_.after(std::chrono::milliseconds(300), [this] {
      if (reading_ && take_) loop_.on_readable(0, [this] { read_some(); });
    });
    return;
  }
  std::string text(std::min(room_, kReadText), '\0');
  const ssize_t got = ::read(0, text.data(), text.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  const auto take = take_;
  if (got < 0 && errno != EIO)  // that one is a terminal that has gone
    say(std::string("standard input could not be read: ") + std::strerror(errno));
  if (got <= 0) {
    stop_input();
    return take({}, true);
  }
  room_ -= text.size();
  if (room_ == 0) {
    reading_ = false;
    loop_.on_readable(0, nullptr);
  }
  take(std::move(text), false);
}

}  // namespace tutti::launch::control
