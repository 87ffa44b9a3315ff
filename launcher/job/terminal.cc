// Writing without ever blocking on a slow reader, and without making the shared descriptors
// non-blocking: what poll() calls writable takes at least PIPE_BUF bytes at once.
#include "job/terminal.h"

#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace tutti::launch::job {
namespace {

constexpr std::size_t kReadBytes = 64U << 10;
constexpr std::size_t kCompactBytes = 128U << 10;

bool is_writable_now(int fd) {
  pollfd look{fd, POLLOUT, 0};
  return ::poll(&look, 1, 0) > 0;
}

bool is_regular(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

// Reading from a terminal whose foreground belongs to somebody else would stop us.
bool may_read(int fd) {
  return ::isatty(fd) == 0 || ::tcgetpgrp(fd) == ::getpgrp();
}

}  // namespace

Terminal::Terminal(control::Loop& loop, std::function<void(int, int)> broken)
    : loop_(loop), broken_(std::move(broken)) {
  out_.fd = 1;
  err_.fd = 2;
}

Terminal::~Terminal() {
  for (const int fd : {0, 1, 2}) loop_.forget(fd);
}

void Terminal::write(int number, std::string_view text) {
  Stream& stream = number == 2 ? err_ : out_;
  if (stream.broken || text.empty()) return;
  if (status_shown_) {
    status_shown_ = false;
    err_.queue += "\r\033[K";
    if (&stream != &err_) drain(err_);
  }
  // What a file takes at once is not copied first.
  while (stream.queue.empty() && !text.empty() && is_regular(stream.fd)) {
    const ssize_t put = ::write(stream.fd, text.data(), text.size());
    if (put <= 0) break;  // drain finds out why
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  if (stream.written > kCompactBytes) stream.queue.erase(0, std::exchange(stream.written, 0));
  stream.queue.append(text);
  if (!stream.waiting) drain(stream);
}

void Terminal::say(std::string_view line) {
  write(2, "prun: " + std::string(line) + "\n");
}

void Terminal::status(std::string_view line) {
  if (::isatty(2) == 0 || queued_bytes() > 0) return;
  write(2, "\r\033[Kprun: " + std::string(line));
  status_shown_ = true;
}

std::size_t Terminal::queued_bytes() const {
  return out_.queue.size() - out_.written + err_.queue.size() - err_.written;
}

void Terminal::drain(Stream& stream) {
  const std::size_t most = is_regular(stream.fd) ? SIZE_MAX : PIPE_BUF;
  while (stream.written < stream.queue.size()) {
    if (!is_writable_now(stream.fd)) {
      if (!stream.waiting) loop_.on_writable(stream.fd, [this, &stream] { drain(stream); });
      stream.waiting = true;
      return;
    }
    const std::size_t rest = stream.queue.size() - stream.written;
    const ssize_t put =
        ::write(stream.fd, stream.queue.data() + stream.written, std::min(rest, most));
    if (put < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (put < 0) {
      stream.broken = true;
      const int error = errno;
      loop_.post([this, &stream, error] { broken_(stream.fd, error); });
      break;
    }
    stream.written += static_cast<std::size_t>(put);
  }
  stream.queue.clear();
  stream.written = 0;
  if (stream.waiting) loop_.forget(stream.fd);
  stream.waiting = false;
  if (queued_bytes() == 0 && drained_) drained_();
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
  std::string text(std::min(room_, kReadBytes), '\0');
  const ssize_t got = ::read(0, text.data(), text.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  const auto take = take_;
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

}  // namespace tutti::launch::job
