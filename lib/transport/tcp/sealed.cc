// The stream of a protected link: frames as sealed records (wire.h).
//
// A record is sealed straight from the user's memory into `out` and opened from `in` straight to
// where the sink wants it. Nothing is delivered, and no length believed, that did not open.
#include "transport/tcp/sealed.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.h"

namespace tutti::transport::tcp {
namespace {

constexpr std::size_t kLeastRoom = std::size_t{32} << 10;
constexpr std::int64_t kStillNs = 1'000'000'000;
constexpr std::size_t kStillBytes = std::size_t{16} << 10;
constexpr std::size_t kHeadBytes = sizeof(WireHead) + kTagBytes;

bool is_full_for_now() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOBUFS;
}

}  // namespace

Stream::Sealed::Sealed(const LinkSession& session)
    : seal(session.security, session.cipher, session.keys.send),
      opens(session.security, session.cipher, session.keys.receive),
      sent_ns(now_ns()) {}

// False: full, and nothing was done. Otherwise the record has its number and goes its way, at once
// or from the buffer.
bool Stream::send_sealed(WireKind kind, const FrameView& frame) {
  Sealed& own = *sealed_;
  const std::size_t body = frame.bytes > 0 ? frame.bytes + kTagBytes : 0;
  own.out_bytes = kHeadBytes + body;
  own.out_sent = 0;
  if (kind == WireKind::frame) own.stills = 0;
  if (own.out.size() < own.out_bytes) own.out.resize(own.out_bytes);
  const WireHead head = head_for(kind, *frame.header, frame.bytes);
  own.seal.close(reinterpret_cast<const std::byte*>(&head), sizeof head, own.out.data());
  if (body > 0) own.seal.close(frame.payload, frame.bytes, own.out.data() + kHeadBytes);
  if (frame.done != nullptr) frame.done->fire(frame.done, true);
  waits_ = true;
  const int before = events_;
  push_sealed();
  if (!waits_) events_ = before;  // it went at once: nobody has waited for that
  return true;
}

void Stream::push_sealed() {
  Sealed& own = *sealed_;
  while (waits_ && ending_ == StreamEnd::open) {
    const ssize_t sent = ::send(fd_.get(), own.out.data() + own.out_sent,
                                own.out_bytes - own.out_sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && is_full_for_now()) break;
    if (sent < 0) return fail_with(std::string("writing: ") + std::strerror(errno));
    own.sent_ns = now_ns();
    own.out_sent += static_cast<std::size_t>(sent);
    if (own.out_sent == own.out_bytes) finish_pending(true);
  }
  listen_for(waits_);
}

int Stream::pull_sealed() {
  Sealed& own = *sealed_;
  const int before = events_;
  for (int reads = 0; reads < kReadsPerPull && ending_ == StreamEnd::open; ++reads) {
    if (own.in.size() < kLeastRoom) own.in.resize(kLeastRoom);
    const std::size_t room = own.in.size() - own.end;
    const ssize_t got = ::recv(fd_.get(), own.in.data() + own.end, room, MSG_DONTWAIT);
    if (!note_read(got)) break;
    own.end += static_cast<std::size_t>(got);
    take_records();
    if (static_cast<std::size_t>(got) < room) break;  // that was all
  }
  return std::exchange(events_, before) - before;
}

void Stream::take_records() {
  try {
    if (sealed_->is_opened) end_record(sealed_->opened);
    while (ending_ == StreamEnd::open && take_sealed()) {
    }
  } catch (...) {
    scratch_.whose = this;
    throw;
  }
}

// A piece that is whole is opened; false: the next one is not, and there is room for it.
bool Stream::take_sealed() {
  Sealed& own = *sealed_;
  const bool has_head = head_got_ == sizeof head_;
  const std::size_t piece = has_head ? head_.bytes + kTagBytes : kHeadBytes;
  if (own.end - own.begin < piece) {
    std::memmove(own.in.data(), own.in.data() + own.begin, own.end - own.begin);
    own.end -= std::exchange(own.begin, 0);
    if (own.in.size() < piece) own.in.resize(piece + kLeastRoom);
    return false;
  }
  std::byte* const at = own.in.data() + own.begin;
  if (!has_head) {
    own.begin += piece;
    return open_head(at);
  }
  const bool is_frame = head_.kind == static_cast<std::uint16_t>(WireKind::frame);
  std::byte* into = nullptr;
  if (is_frame && head_.bytes >= kPlaceFrom) into = sink_.place(peer_, head_.header, head_.bytes);
  if (into == nullptr) into = at;
  own.begin += piece;
  if (!own.opens.open(at, head_.bytes, into)) return change_found();
  end_record(into);
  return true;
}

void Stream::end_record(std::byte* payload) {
  sealed_->is_opened = true;
  sealed_->opened = payload;
  if (head_.kind == static_cast<std::uint16_t>(WireKind::frame))
    deliver(payload);
  else
    head_got_ = 0;
  sealed_->is_opened = false;
}

bool Stream::open_head(const std::byte* at) {
  if (!sealed_->opens.open(at, sizeof head_, reinterpret_cast<std::byte*>(&head_)) ||
      !is_sound_sealed(head_))
    return change_found();
  switch (static_cast<WireKind>(head_.kind)) {
    case WireKind::goodbye:
      ending_ = StreamEnd::goodbye;
      poller_.change(fd_.get(), 0);
      return false;
    case WireKind::still:
    case WireKind::frame:
      break;
  }
  head_got_ = sizeof head_;
  if (head_.bytes == 0) end_record(nullptr);
  return true;
}

bool Stream::change_found() {
  fail_with("what arrived is not what was sent: changed, repeated or left out on the way");
  ending_ = StreamEnd::changed;
  return false;
}

// So that the loss of the last record is noticed.
void Stream::say_still(std::int64_t now) {
  if (waits_ || ending_ != StreamEnd::open || now - sealed_->sent_ns < kStillNs) return;
  static constexpr std::array<std::byte, kStillBytes> kFiller{};
  const FrameHeader nothing;
  const bool fills_up = sealed_->stills++ < kMaxSealedFrame / kStillBytes + 1;
  send_sealed(WireKind::still, {&nothing, kFiller.data(), fills_up ? kStillBytes : 0, nullptr});
}

}  // namespace tutti::transport::tcp
