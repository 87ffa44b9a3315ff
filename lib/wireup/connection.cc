// A text is its length in four bytes, and its bytes.
#include "wireup/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/clock.h"

namespace tutti::wireup {
namespace {

constexpr std::size_t kLengthBytes = 4;

}  // namespace

BoardConnection::BoardConnection(UniqueFd fd) : fd_(std::move(fd)) {
  ::fcntl(fd_.get(), F_SETFL, ::fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
}

void BoardConnection::seal(const secure::SessionKeys& keys) {
  stream_ = std::make_unique<secure::RecordStream>(keys);
  // What came behind the last plain text was sealed already.
  const std::string rest = arrived_.substr(taken_);
  arrived_.clear();
  taken_ = 0;
  if (!stream_->open(rest, arrived_)) close();
}

void BoardConnection::put(std::string_view text) {
  std::string whole;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    whole.push_back(static_cast<char>((text.size() >> (8 * i)) & 0xffU));
  whole.append(text);
  if (stream_)
    stream_->seal(whole, queued_);
  else
    queued_.append(whole);
}

bool BoardConnection::flush() {
  while (has_queued()) {
    const ssize_t put =
        ::send(fd_.get(), queued_.data() + written_, queued_.size() - written_, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno == EAGAIN;
    written_ += static_cast<std::size_t>(put);
  }
  queued_.clear();
  written_ = 0;
  return true;
}

bool BoardConnection::fill() {
  std::array<char, 16U << 10> piece;  // stacks may be small (ulimit -s)
  const ssize_t got = ::recv(fd_.get(), piece.data(), piece.size(), 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  const std::string_view fresh(piece.data(), static_cast<std::size_t>(got));
  if (got == 0) return false;
  if (stream_) return stream_->open(fresh, arrived_);
  arrived_.append(fresh);
  return true;
}

bool BoardConnection::move() {
  return is_open() && flush() && fill();
}

std::optional<std::string> BoardConnection::take(std::size_t most) {
  if (arrived_.size() - taken_ < kLengthBytes) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length |= static_cast<std::size_t>(static_cast<unsigned char>(arrived_[taken_ + i])) << (8 * i);
  if (length > most) {
    close();
    return std::nullopt;
  }
  if (arrived_.size() - taken_ - kLengthBytes < length) return std::nullopt;
  std::string text = arrived_.substr(taken_ + kLengthBytes, length);
  taken_ += kLengthBytes + length;
  if (taken_ == arrived_.size()) {
    arrived_.clear();
    taken_ = 0;
  }
  return text;
}

std::optional<std::string> BoardConnection::wait_for_text(std::size_t most, std::int64_t until_ns) {
  while (is_open()) {
    if (!has_queued())
      if (auto text = take(most)) return text;
    const std::int64_t left_ms = (until_ns - now_ns()) / 1'000'000;
    if (left_ms <= 0 || !is_open()) break;
    pollfd look{fd_.get(), static_cast<short>(has_queued() ? POLLIN | POLLOUT : POLLIN), 0};
    ::poll(&look, 1, static_cast<int>(std::min<std::int64_t>(left_ms, INT_MAX)));
    if (look.revents != 0 && !move()) {
      // Its last words may have come with its end.
      auto text = take(most);
      close();
      return text;
    }
  }
  return std::nullopt;
}

}  // namespace tutti::wireup
