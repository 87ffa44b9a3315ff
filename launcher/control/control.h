// control: how prun and its daemons talk, and the event loop both of them live in.
//
// A StartupChannel carries Messages in frames over the start-up channel itself (ssh's stdin and
// stdout, or a socket pair); nothing listens anywhere. Every frame names a host: where it goes
// (down) or comes from (up), so that a daemon in the tree can pass it on unread. A peer's bytes
// are never trusted: lengths are bounded, and a malformed frame closes the channel with a reason.
// One thread: everything runs in callbacks of one Loop, and no callback blocks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "control/messages.h"
#include "secure/secure.h"

namespace tutti::launch::control {

inline constexpr std::size_t kMaxFrameBytes = 64U << 20;
inline constexpr std::size_t kMaxStrangersBytes = 16U << 20;  // of who has proved nothing
inline constexpr int kEveryHost = -1;

// Of this build, as both sides must have it.
std::string version();

std::string encode(const Message& message);
void encode_to(std::string& out, const Message& message);  // appends
// Errors: what is malformed. Unknown fields are skipped, missing ones keep their defaults.
Result<Message> decode(std::string_view bytes);

// One frame: length, host, body.
std::string frame(int host, std::string_view body);
// Appends it; returns the bytes of its body. More than kMaxFrameBytes: nobody will take it.
std::size_t add_frame(std::string& out, int host, const Message& message);
struct Frame {
  int host = kEveryHost;
  std::string body;
};
// Cuts a byte stream into frames.
class FrameReader {
 public:
  explicit FrameReader(std::size_t most = kMaxFrameBytes) : most_(most) {}
  void feed(std::string_view bytes);
  // A whole frame, nothing yet (false), or an error: a length that cannot be.
  Result<bool> next(Frame* out);
  bool in_the_middle() const { return at_ < buffer_.size(); }
  void settle();  // keeps no room for what was large

 private:
  std::size_t most_;  // bytes of a frame
  std::string buffer_;
  std::size_t at_ = 0;
};

// When everything runs, memory that only the start needed goes back to the kernel.
inline constexpr std::chrono::milliseconds kSettled{250};  // after the start
void settle();

// Descriptors, timers and signals on one thread. Callbacks may change any watch. Making one
// ignores SIGPIPE for the process.
class Loop {
 public:
  using Callback = std::function<void()>;
  using TimerId = std::uint64_t;

  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Called as long as the descriptor is ready; null stops. The descriptor stays the caller's,
  // who must forget() it before closing. Works for any kind, regular files included.
  void on_readable(int fd, Callback ready);
  void on_writable(int fd, Callback ready);
  void forget(int fd);
  TimerId after(std::chrono::milliseconds delay, Callback fire);
  void cancel(TimerId timer);
  // Blocks these signals for the process and delivers them here instead. Once per loop.
  void on_signals(std::initializer_list<int> signals, std::function<void(int)> deliver);
  void post(Callback work);
  void run();  // until stop()
  void stop();

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

// Who watches a listening socket. A socket that cannot be accepted from for want of descriptors
// stays readable, so a plain watch over it would spin. A listener asks whether somebody inside can
// be sent away, and else looks elsewhere for a moment; whoever comes meanwhile waits in the
// kernel's queue.
class Listener {
 public:
  explicit Listener(Loop& loop) : loop_(loop) {}
  ~Listener() { close(); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // `enter` is given who came; `make_room` sends somebody away, or says that there is nobody.
  // The listening socket stays the caller's, who closes this first.
  void open(int listener, std::function<void(UniqueFd)> enter, std::function<bool()> make_room);
  void close();

 private:
  void watch();
  void accept_one();

  Loop& loop_;
  int listener_ = -1;
  std::function<void(UniqueFd)> enter_;
  std::function<bool()> make_room_;
  Loop::TimerId rest_ = 0;
};

// A start-up channel on its way to whoever will own it.
struct ChannelEnds {
  UniqueFd in, out;
  std::string already{};  // read from it before, and unsealed
  // Of a channel over a network that nothing else seals; null: ssh does, or it stays on this host.
  std::unique_ptr<secure::RecordStream> stream{};
  std::size_t most = kMaxFrameBytes;  // of one that comes
};

// Both directions of one start-up channel. Owns its descriptors (in and out may be the same).
class StartupChannel {
 public:
  using OnFrame = std::function<void(Frame&&)>;
  using OnClosed = std::function<void(const std::string& why)>;

  StartupChannel(Loop& loop, ChannelEnds ends);
  ~StartupChannel();
  StartupChannel(const StartupChannel&) = delete;
  StartupChannel& operator=(const StartupChannel&) = delete;

  // on_closed is called once, never from inside send().
  void open(OnFrame on_frame, OnClosed on_closed);
  void send(int host, const Message& message);
  void send_raw(int host, std::string_view body);
  std::size_t queued_bytes() const { return queued_.size() - written_; }
  void on_drained(std::function<void()> drained) { drained_ = std::move(drained); }
  void hold(bool on);  // reads nothing meanwhile: what is said waits there; that is no silence
  void close();        // drops what is queued
  // Heartbeats every `every`; closed with a reason after `silence` without a byte, unless
  // `lives_on` knows that the other side only stands still. Zero: off.
  void keep_alive(std::chrono::milliseconds every, std::chrono::milliseconds silence,
                  std::function<bool()> lives_on = nullptr);
  bool is_open() const { return open_; }
  int descriptor() const { return in_.get(); }
  void settle();  // keeps no room for what was large

 private:
  void read_some();
  void write_some();
  bool may_send();
  void beat();
  void fail_later(std::string why);
  bool deliver_frames();

  Loop& loop_;
  UniqueFd in_, out_;
  bool open_ = false, writing_ = false, deaf_ = false, held_ = false;
  OnFrame on_frame_;
  OnClosed on_closed_;
  std::function<void()> drained_;
  FrameReader reader_;
  std::unique_ptr<secure::RecordStream> stream_;
  std::string queued_;  // as it is written
  std::string plain_;   // of a sealed channel: what is being sealed or was unsealed
  std::size_t written_ = 0;
  std::chrono::milliseconds every_{0}, silence_{0};
  std::function<bool()> lives_on_;
  std::int64_t heard_ns_ = 0;
  std::int64_t beat_ns_ = 0;  // when it was last looked
  Loop::TimerId beat_timer_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tutti::launch::control
