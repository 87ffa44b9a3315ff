// A channel: frames over two descriptors, with heartbeats. It is always read, since whoever sends
// much has a credit of his own (OutputTaken, InputTaken), except where frames are passed on to
// someone who does not take them (hold).
//
// Writing is tried at once and queued when the kernel is full. A failure is reported from the
// loop, never from inside send(), so that callers need not expect to lose what they stand on.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "control/control.h"

namespace tutti::launch::control {
namespace {
constexpr std::size_t kReadBytes = 128U << 10;
constexpr std::size_t kCompactBytes = 256U << 10;

// Whoever hears it would refuse it, and could say to nobody why.
std::string too_long(std::size_t bytes) {
  return "given up here: a message of " + text::format_bytes(bytes) + " is to be sent, and " +
         text::format_bytes(kMaxFrameBytes) +
         " are the most; fewer ranks, or a smaller environment, need less";
}
}  // namespace

StartupChannel::StartupChannel(Loop& loop, ChannelEnds ends)
    : loop_(loop),
      in_(std::move(ends.in)),
      out_(std::move(ends.out)),
      reader_(ends.most),
      stream_(std::move(ends.stream)) {
  reader_.feed(ends.already);
  for (const int fd : {in_.get(), out_.get()})
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

StartupChannel::~StartupChannel() {
  *alive_ = false;
  close();
}

void StartupChannel::open(OnFrame on_frame, OnClosed on_closed) {
  on_frame_ = std::move(on_frame);
  on_closed_ = std::move(on_closed);
  open_ = true;
  heard_ns_ = now_ns();
  loop_.on_readable(in_.get(), [this] { read_some(); });
  if (reader_.in_the_middle()) {
    loop_.post([this, alive = alive_] {
      if (*alive && open_) deliver_frames();
    });
  }
}

void StartupChannel::hold(bool on) {
  if (std::exchange(held_, on) == on || !open_) return;
  if (on)
    loop_.on_readable(in_.get(), nullptr);
  else
    loop_.on_readable(in_.get(), [this] { read_some(); });
  heard_ns_ = now_ns();
}

void StartupChannel::read_some() {
  static thread_local std::array<char, kReadBytes> buffer;
  const ssize_t got = ::read(in_.get(), buffer.data(), buffer.size());
  if (got < 0) {
    if (errno == EAGAIN || errno == EINTR) return;
    return fail_later(std::strerror(errno));
  }
  if (got == 0) return fail_later(reader_.in_the_middle() ? "cut off in a message" : "closed");
  heard_ns_ = now_ns();
  const std::string_view arrived(buffer.data(), static_cast<std::size_t>(got));
  if (!stream_) {
    reader_.feed(arrived);
  } else {
    plain_.clear();
    if (!stream_->open(arrived, plain_))
      return fail_later(
          "broken: what arrived is not what was sent; somebody or something on the "
          "network changes it");
    reader_.feed(plain_);
  }
  deliver_frames();
}

// False when the channel is gone or was closed by a callback.
bool StartupChannel::deliver_frames() {
  const auto alive = alive_;
  Frame one;
  for (;;) {
    const auto whole = reader_.next(&one);
    if (!whole) {
      fail_later(whole.error().text);
      return false;
    }
    if (!*whole) return true;
    on_frame_(std::move(one));
    if (!*alive || !open_) return false;
  }
}

bool StartupChannel::may_send() {
  if (written_ > kCompactBytes) {
    queued_.erase(0, written_);
    written_ = 0;
  }
  return open_ && !deaf_;
}

void StartupChannel::send(int host, const Message& message) {
  if (!may_send()) return;
  if (stream_) plain_.clear();
  std::string& out = stream_ ? plain_ : queued_;
  const std::size_t before = out.size();
  if (const std::size_t body = add_frame(out, host, message); body > kMaxFrameBytes) {
    out.resize(before);
    return fail_later(too_long(body));
  }
  if (stream_) stream_->seal(plain_, queued_);
  if (!writing_) write_some();
}

void StartupChannel::send_raw(int host, std::string_view body) {
  if (!may_send()) return;
  if (body.size() > kMaxFrameBytes) return fail_later(too_long(body.size()));
  if (stream_)
    stream_->seal(frame(host, body), queued_);
  else
    queued_.append(frame(host, body));
  if (!writing_) write_some();
}

void StartupChannel::write_some() {
  while (written_ < queued_.size()) {
    const ssize_t put = ::write(out_.get(), queued_.data() + written_, queued_.size() - written_);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) {
      if (!writing_) loop_.on_writable(out_.get(), [this] { write_some(); });
      writing_ = true;
      return;
    }
    if (put < 0) {
      // The peer is gone. What it said before is still to be read; the end of that is reported.
      queued_.clear();
      written_ = 0;
      deaf_ = true;
      break;
    }
    written_ += static_cast<std::size_t>(put);
  }
  queued_.clear();
  written_ = 0;
  if (writing_) loop_.on_writable(out_.get(), nullptr);
  writing_ = false;
  if (drained_) drained_();
}

void StartupChannel::settle() {
  if (queued_bytes() == 0) {
    std::string().swap(queued_);  // assignment would keep its memory
    written_ = 0;
  }
  reader_.settle();
  if (stream_) {
    std::string().swap(plain_);
    stream_->settle();
  }
}

void StartupChannel::fail_later(std::string why) {
  if (!open_) return;
  close();
  loop_.post([this, alive = alive_, why = std::move(why)] {
    if (*alive && on_closed_) on_closed_(why);
  });
}

void StartupChannel::close() {
  open_ = false;
  loop_.cancel(beat_timer_);
  for (UniqueFd* fd : {&in_, &out_}) {
    if (!fd->is_open()) continue;
    loop_.forget(fd->get());
    if (fd == &in_ && in_.get() == out_.get()) out_.release();
    fd->reset();
  }
}

void StartupChannel::keep_alive(std::chrono::milliseconds every, std::chrono::milliseconds silence,
                                std::function<bool()> lives_on) {
  every_ = every;
  lives_on_ = std::move(lives_on);
  silence_ = silence;
  heard_ns_ = beat_ns_ = now_ns();
  loop_.cancel(beat_timer_);
  if (every.count() > 0) beat();
}

void StartupChannel::beat() {
  if (!open_) return;
  const std::int64_t now = now_ns();
  // Who was stopped itself, or slept with its machine, has not listened: that is not silence.
  if (held_ || now - std::exchange(beat_ns_, now) > 3 * std::chrono::nanoseconds(every_).count())
    heard_ns_ = now;
  const std::int64_t silent_ms = (now - heard_ns_) / 1'000'000;
  if (silent_ms > silence_.count() && (!lives_on_ || !lives_on_()))
    return fail_later("silent for " + std::to_string(silent_ms / 1000) + " s");
  // A peer that does not read gets no pile of heartbeats.
  if (queued_bytes() == 0) send(kEveryHost, Heartbeat{});
  beat_timer_ = loop_.after(every_, [this] { beat(); });
}

}  // namespace tutti::launch::control
