// stream: an established connection to one peer: frames out, frames in.
//
// Out: one system call from the user's memory. What the socket did not take stays where it is
// when the payload is pinned, and is copied only when it is not. One frame at most waits here;
// until it is gone, try_send says no. In: short frames are delivered from a buffer shared by all
// streams, long ones are read straight to where the sink wants them.
//
// On a protected link (sealed.cc) frames are records, sealed into a buffer of the stream's own and
// opened in one; a payload is the user's again as soon as it is sealed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "transport/tcp/poller.h"
#include "transport/tcp/seal.h"
#include "transport/tcp/wire.h"
#include "transport/transport.h"

namespace tutti::transport::tcp {

enum class StreamEnd : std::uint8_t {
  open,
  goodbye,
  broken,
  changed
};  // changed: not what was sent

class Stream;

// Shared by the streams of a transport: reading needs it only during a call. Where a frame finds no
// memory, it and what was read behind it are left for the next one (Stream::take_again).
struct Scratch {
  std::vector<std::byte> bytes = std::vector<std::byte>(std::size_t{16} << 10);
  Stream* whose = nullptr;  // null: nothing is left
  std::span<std::byte> left;
};

class Stream final : public Watched {
 public:
  Stream(UniqueFd fd, int peer, Poller& poller, Scratch& scratch, Sink& sink,
         const LinkSession& session = {});
  ~Stream() override;  // pending payloads are given back as failed

  bool try_send(const FrameView& frame);
  // Reads and delivers what has arrived, within bounds; events.
  int pull();
  // Delivers what was left when a frame found no memory; before any stream reads again.
  int take_again();
  // Sends more of what waits.
  void push();
  void on_ready(std::uint32_t events) override;
  void expect_room() { listens_for_room_ = true; }  // the poller was told so already
  int take_events() { return std::exchange(events_, 0); }

  int peer() const { return peer_; }
  StreamEnd ending() const { return ending_; }
  const std::string& reason() const { return reason_; }
  bool has_pending() const { return waits_; }

  // Ends the stream in order: sends what waits and a goodbye, then sees that the peer's kernel
  // has it. Two calls, so that many streams do the second part together.
  void say_goodbye(std::int64_t limit_ns);
  void see_off(std::int64_t limit_ns);
  void fail_with(const std::string& why);
  // Time passes, while this rank is in MPI: finds links on which nothing arrives.
  void tick(std::int64_t now);

 private:
  static constexpr int kReadsPerPull = 8;  // then others get their turn
  // Shorter payloads are not read to where the sink wants them, but delivered from where they are
  // read to.
  static constexpr std::size_t kPlaceFrom = 2048;

  struct Sealed;
  struct Pending {
    WireHead head{};
    std::size_t sent = 0;  // of head and payload together
    const std::byte* payload = nullptr;
    std::vector<std::byte> copy;
    Done* done = nullptr;
  };

  std::size_t send_some(const WireHead& head, const std::byte* payload, std::size_t from);
  void keep_rest(const FrameView& frame, const WireHead& head, std::size_t sent);
  void finish_pending(bool ok);
  void listen_for(bool room);
  std::size_t read_some(std::size_t& into_frame);
  void take(std::span<std::byte> bytes);
  std::span<std::byte> take_head(std::span<std::byte> bytes);
  void begin_payload(std::span<std::byte> first);
  void deliver(std::byte* payload);
  // sealed.cc
  bool send_sealed(WireKind kind, const FrameView& frame);
  void push_sealed();
  int pull_sealed();
  void take_records();
  bool take_sealed();
  bool open_head(const std::byte* at);
  void end_record(std::byte* payload);
  bool change_found();
  void say_still(std::int64_t now);

  // stream.cc
  void look_for_stall(std::int64_t now);
  bool note_read(ssize_t got);
  int wait_for(short what, int patience_ms) const;  // what came true; 0: nothing

  UniqueFd fd_;
  int peer_;
  Poller& poller_;
  Scratch& scratch_;
  Sink& sink_;
  StreamEnd ending_ = StreamEnd::open;
  std::string reason_;
  int events_ = 0;

  bool waits_ = false;  // pending_ holds a frame
  bool listens_for_room_ = false;
  Pending pending_;

  WireHead head_{};  // of the frame that is arriving
  std::size_t head_got_ = 0;
  std::byte* into_ = nullptr;  // where its payload goes, once begun
  std::size_t into_got_ = 0;
  std::vector<std::byte> staging_;

  std::uint64_t acked_ = 0;            // when last looked at
  std::int64_t stalled_since_ns_ = 0;  // 0: what was sent arrives
  std::unique_ptr<Sealed> sealed_;     // of a protected link
};

}  // namespace tutti::transport::tcp
