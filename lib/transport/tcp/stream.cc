// Frames on a socket that never blocks.
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "base/clock.h"
#include "transport/tcp/sealed.h"

namespace tutti::transport::tcp {
namespace {

constexpr std::size_t kStagingKept = std::size_t{128} << 10;  // a frame of a rail
constexpr std::int64_t kStallNs = 45'000'000'000;             // daemons bear 30 s of silence
constexpr int kSmallPacket = 500;                             // bytes that pass everywhere

}  // namespace

Stream::Stream(UniqueFd fd, int peer, Poller& poller, Scratch& scratch, Sink& sink,
               const LinkSession& session)
    : fd_(std::move(fd)), peer_(peer), poller_(poller), scratch_(scratch), sink_(sink) {
  if (session.security != Security::none) sealed_ = std::make_unique<Sealed>(session);
}

Stream::~Stream() {
  poller_.remove(fd_.get());
  if (scratch_.whose == this) scratch_.whose = nullptr;
  finish_pending(false);
}

void Stream::tick(std::int64_t now) {
  if (ending_ != StreamEnd::open) return;
  if (sealed_) say_still(now);
  look_for_stall(now);
}

// A path on which small packets pass and large ones vanish keeps a connection alive for ever: the
// kernel sends again and again what nobody confirms. A peer that merely does not read is told
// apart: its kernel confirms, and closes its window.
void Stream::look_for_stall(std::int64_t now) {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (::getsockopt(fd_.get(), IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return;
  const bool has_window =
      bytes < offsetof(tcp_info, tcpi_snd_wnd) + sizeof info.tcpi_snd_wnd || info.tcpi_snd_wnd > 0;
  const bool stalls = info.tcpi_unacked > 0 && info.tcpi_retransmits > 0 && has_window;
  if (!stalls || info.tcpi_bytes_acked != acked_) {
    acked_ = info.tcpi_bytes_acked;
    stalled_since_ns_ = 0;
    return;
  }
  if (stalled_since_ns_ == 0) stalled_since_ns_ = now;
  if (now - stalled_since_ns_ < kStallNs) return;
  int waiting = 0;
  ::ioctl(fd_.get(), SIOCOUTQ, &waiting);
  const std::string what = std::to_string(waiting) + " bytes were sent again and again for " +
                           std::to_string(kStallNs / 1'000'000'000) + " s and never confirmed";
  fail_with(waiting > kSmallPacket
                ? what +
                      "; large packets do not arrive; MTU? ('ip link' on both hosts and on what "
                      "stands between; prun --check measures it)"
                : what + "; is there a firewall between? (prun --check)");
}

void Stream::fail_with(const std::string& why) {
  if (ending_ != StreamEnd::open) return;
  ending_ = StreamEnd::broken;
  reason_ = why;
  poller_.change(fd_.get(), 0);
}

// How much the socket took of head and payload behind `from`; 0: it is full or broken.
std::size_t Stream::send_some(const WireHead& head, const std::byte* payload, std::size_t from) {
  iovec parts[2];
  std::size_t count = 0;
  if (from < sizeof head)
    parts[count++] = {const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&head)) + from,
                      sizeof head - from};
  const std::size_t skip = from < sizeof head ? 0 : from - sizeof head;
  if (skip < head.bytes)
    parts[count++] = {const_cast<std::byte*>(payload) + skip, head.bytes - skip};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = count;
  const ssize_t sent = ::sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ENOBUFS)
    fail_with(std::string("writing: ") + std::strerror(errno));
  return 0;
}

bool Stream::try_send(const FrameView& frame) {
  if (waits_ || ending_ != StreamEnd::open) return false;
  if (sealed_) [[unlikely]]
    return send_sealed(WireKind::frame, frame);
  const WireHead head = head_for(WireKind::frame, *frame.header, frame.bytes);
  const std::size_t sent = send_some(head, frame.payload, 0);
  if (sent == sizeof head + frame.bytes) [[likely]] {
    if (frame.done != nullptr) frame.done->fire(frame.done, true);
    return true;
  }
  if (ending_ != StreamEnd::open) return false;
  listen_for(true);
  if (sent == 0) return false;
  keep_rest(frame, head, sent);
  return true;
}

void Stream::keep_rest(const FrameView& frame, const WireHead& head, std::size_t sent) {
  pending_.head = head;
  pending_.sent = sent;
  pending_.payload = frame.payload;
  pending_.done = frame.done;
  if (frame.done == nullptr) {
    try {
      pending_.copy.assign(frame.payload, frame.payload + frame.bytes);
    } catch (const std::bad_alloc&) {
      // Its beginning is under way: no other frame may follow.
      return fail_with("no memory for the rest of a frame that the socket did not take whole");
    }
    pending_.payload = pending_.copy.data();
  }
  waits_ = true;
}

void Stream::push() {
  if (sealed_) return push_sealed();
  if (!waits_) return listen_for(false);
  const std::size_t total = sizeof(WireHead) + pending_.head.bytes;
  const std::size_t sent = send_some(pending_.head, pending_.payload, pending_.sent);
  pending_.sent += sent;
  if (sent > 0) ++events_;
  if (pending_.sent < total) return;
  finish_pending(true);
  listen_for(false);
}

void Stream::finish_pending(bool ok) {
  if (!std::exchange(waits_, false)) return;
  ++events_;
  if (pending_.copy.capacity() > kStagingKept) pending_.copy = {};
  if (pending_.done != nullptr) pending_.done->fire(pending_.done, ok);
}

void Stream::listen_for(bool room) {
  if (room == listens_for_room_ || ending_ != StreamEnd::open) return;
  listens_for_room_ = room;
  poller_.change(fd_.get(), room ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void Stream::on_ready(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    ++events_;  // room again: whoever was refused may retry
    push();
  }
  if ((events & ~EPOLLOUT) != 0) events_ += pull();
}

int Stream::pull() {
  if (sealed_) [[unlikely]]
    return pull_sealed();
  const int before = events_;
  for (int reads = 0; reads < kReadsPerPull && ending_ == StreamEnd::open; ++reads) {
    std::size_t into_frame = 0;
    const std::size_t got = read_some(into_frame);
    if (got == 0) break;
    if (into_frame > 0) {
      into_got_ += std::min(got, into_frame);
      ++events_;
    }
    if (got >= into_frame) take({scratch_.bytes.data(), got - into_frame});
    if (got < into_frame + scratch_.bytes.size()) break;  // that was all
  }
  if (waits_ && ending_ == StreamEnd::open) push();
  return std::exchange(events_, before) - before;
}

// One read: first the rest of the payload under way, then what follows. 0: nothing, or the end.
std::size_t Stream::read_some(std::size_t& into_frame) {
  iovec parts[2];
  std::size_t count = 0;
  into_frame = into_ != nullptr ? head_.bytes - into_got_ : 0;
  if (into_frame > 0) parts[count++] = {into_ + into_got_, into_frame};
  parts[count++] = {scratch_.bytes.data(), scratch_.bytes.size()};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = count;
  const ssize_t got = count == 1
                          ? ::recv(fd_.get(), parts[0].iov_base, parts[0].iov_len, MSG_DONTWAIT)
                          : ::recvmsg(fd_.get(), &message, MSG_DONTWAIT);
  return note_read(got) ? static_cast<std::size_t>(got) : 0;
}

// What a read brought; where that is nothing, whether the stream is at its end.
bool Stream::note_read(ssize_t got) {
  if (got > 0) return true;
  if (got == 0)
    fail_with("it closed the connection without a goodbye");
  else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
    fail_with(std::string("reading: ") + std::strerror(errno));
  return false;
}

// The payload under way, if there is one, is whole; cuts the bytes behind it into frames.
void Stream::take(std::span<std::byte> bytes) {
  try {
    if (into_ != nullptr) deliver(into_);
    while ((!bytes.empty() || head_got_ == sizeof head_) && ending_ == StreamEnd::open) {
      bytes = take_head(bytes);
      if (head_got_ < sizeof head_ || ending_ != StreamEnd::open) return;
      if (bytes.size() < head_.bytes) return begin_payload(bytes);
      deliver(bytes.data());
      bytes = bytes.subspan(head_.bytes);
    }
  } catch (...) {
    scratch_.whose = this;
    scratch_.left = bytes;
    throw;
  }
}

int Stream::take_again() {
  const int before = events_;
  scratch_.whose = nullptr;
  if (sealed_)
    take_records();
  else
    take(scratch_.left);
  return std::exchange(events_, before) - before;
}

std::span<std::byte> Stream::take_head(std::span<std::byte> bytes) {
  const std::size_t missing = std::min(bytes.size(), sizeof head_ - head_got_);
  std::memcpy(reinterpret_cast<std::byte*>(&head_) + head_got_, bytes.data(), missing);
  head_got_ += missing;
  if (head_got_ < sizeof head_) return {};
  if (!is_sound(head_)) {
    fail_with("what arrives is no frame");
  } else if (head_.kind == static_cast<std::uint16_t>(WireKind::goodbye)) {
    ending_ = StreamEnd::goodbye;
    poller_.change(fd_.get(), 0);
  }
  return bytes.subspan(missing);
}

void Stream::begin_payload(std::span<std::byte> first) {
  into_ = head_.bytes >= kPlaceFrom ? sink_.place(peer_, head_.header, head_.bytes) : nullptr;
  if (into_ == nullptr) {
    if (staging_.size() < head_.bytes) staging_.resize(head_.bytes);
    into_ = staging_.data();
  }
  std::memcpy(into_, first.data(), first.size());
  into_got_ = first.size();
}

void Stream::deliver(std::byte* payload) {
  const bool is_believed = sink_.on_frame(peer_, head_.header, {payload, head_.bytes});
  head_got_ = 0;
  into_ = nullptr;
  ++events_;
  if (!is_believed) fail_with("what arrives is no frame");
  if (staging_.size() > kStagingKept) staging_ = {};
}

int Stream::wait_for(short what, int patience_ms) const {
  pollfd one{fd_.get(), what, 0};
  return ::poll(&one, 1, patience_ms) > 0 ? one.revents : 0;
}

void Stream::say_goodbye(std::int64_t limit_ns) {
  while (waits_ && ending_ == StreamEnd::open && now_ns() < limit_ns) {
    push();
    if (waits_) wait_for(POLLOUT, 10);
  }
  if (waits_ || ending_ == StreamEnd::broken || ending_ == StreamEnd::changed) return;
  // Alone and short: a socket that does not take it whole is one nobody reads from.
  if (sealed_) {
    const FrameHeader nothing;
    send_sealed(WireKind::goodbye, {&nothing, nullptr, 0, nullptr});
  } else {
    const WireHead head = head_for(WireKind::goodbye, {}, 0);
    ::send(fd_.get(), &head, sizeof head, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  ::shutdown(fd_.get(), SHUT_WR);
}

// Closing a socket with unread bytes resets it, and a reset may overtake what we sent: so read
// until the other kernel has everything.
void Stream::see_off(std::int64_t limit_ns) {
  int unsent = 0;
  do {
    while (::recv(fd_.get(), scratch_.bytes.data(), scratch_.bytes.size(), MSG_DONTWAIT) > 0) {
    }
    if (::ioctl(fd_.get(), SIOCOUTQ, &unsent) != 0 || unsent == 0) return;
    // HUP: the peer has closed, too; what we sent is the kernel's business then.
  } while ((wait_for(POLLIN, 1) & (POLLHUP | POLLERR)) == 0 && now_ns() < limit_ns);
}

}  // namespace tutti::transport::tcp
