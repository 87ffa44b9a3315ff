// Core: an endpoint's inside. One matcher, the protocols on top of it, and the transports below.
//
// Transports call on_frame, place and on_peer_gone inside progress() or try_post(). These only
// change state and list work; pump() posts frames in answer once the transports have returned. So a
// link is never entered twice, nor is a receive special that completes inside a send to oneself.
//
//   try_send, send -> eager.cc   -> Link::try_post
//   recv, recv_now -> receive.cc -> match.h
//   on_frame       -> deliver.cc -> match.h
//   give_to_self   -> itself.cc  -> match.h
// Protocols are in eager.cc and rendezvous.cc; routes, links and losses in peers.cc; pump, wait and
// complete in progress.cc; the rarer kinds of frames in frames.cc; devices in copies.cc.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "p2p/channel.h"
#include "p2p/flood.h"
#include "p2p/frames.h"
#include "p2p/other_calls.h"
#include "p2p/p2p.h"
#include "p2p/peers.h"
#include "p2p/wire.h"
#include "wireup/wireup.h"

namespace tutti::p2p {

class Core final : public transport::Sink {
 public:
  using FrameHeader = transport::FrameHeader;
  Core(wireup::Wireup& wireup, const Knobs& knobs);
  ~Core() override;
  Result<void> start(const Endpoint::Opener& opener);

  // Bytes of memory held for messages nobody asked for yet, and for frames that wait.
  std::size_t kept_bytes() const { return bytes_.in_use(); }

  // What Endpoint's calls of the same names do (p2p.h says what that is).
  using Posted = Endpoint::Posted;
  using End = Endpoint::End;
  std::uint32_t try_send(int peer, const Envelope& envelope, const void* data, std::size_t bytes);
  Pending* send(Mode mode, int peer, const Envelope& envelope, const types::Buffer& buffer);
  Pending* recv(int peer, const Envelope& envelope, const types::Buffer& buffer);
  Status recv_now(int peer, const Envelope& envelope, const types::Buffer& buffer);
  bool give_to_self(const Envelope& envelope, const void* data, std::size_t bytes);
  bool probe(int peer, const Envelope& envelope, Status* status);
  KeptMessage* take(int peer, const Envelope& envelope, Status* status);
  Pending* recv_taken(KeptMessage* message, const types::Buffer& buffer);
  Pending* recall(int peer, std::uint32_t number);
  void cancel(Pending* request);
  void cancel(std::uint32_t context, Code code);
  void release(Pending* request);
  types::Devices& devices() { return devices_; }
  Pending* copy(const types::Buffer& from, const types::Buffer& into);
  Pending* fold(const types::Fold& fold);
  Pending* await_caller(types::Device& device);
  Partitioned* send_partitioned(int peer, const Envelope& envelope,
                                const Partitioned::Shape& shape);
  Partitioned* recv_partitioned(int peer, const Envelope& envelope,
                                const Partitioned::Shape& shape);
  int progress();
  int progress_or_yield();
  void wait(Pending* request);
  void idle();
  void active();
  transport::Traits traits(int peer);
  bool reads_devices(int rank, MemoryKind kind);
  bool lets_read(int rank, const types::Buffer& buffer);
  std::string link_name(int peer);
  std::string links_text();
  std::string gpu_links_text();
  std::string sent_text() const;
  MessageFailure failure_of(const Pending& request) const {
    return other_calls_.failure_of(static_cast<const Transfer&>(request));
  }
  const std::string& loss_text() const { return loss_.text; }
  Code loss_code() const { return loss_.code; }
  OtherCalls& other_calls() { return other_calls_; }
  Counters counters() const;
  void later(void (*then)(Pending* self), void* owner);
  void when_lost(void (*then)(Pending* self), void* owner);
  void set_observer(Observer observer) { observer_.store(observer); }
  bool is_observed() const { return observer_.load(std::memory_order_relaxed) != nullptr; }
  wireup::Wireup& wireup() { return wireup_; }
  transport::Waiter& waiter() { return *waiter_; }
  void set_gate(transport::Waiter::Gate* gate) { gate_ = gate; }
  void grow();
  FrameTable& frames() { return frames_; }
  Posted post_frame(int peer, const FrameHeader& header, std::span<const std::byte> payload);
  bool is_used(std::uint32_t context) const;
  void see_off(End end);
  void close();

  // Sink.
  bool on_frame(int from, const FrameHeader& header, std::span<std::byte> payload) override;
  std::byte* place(int from, const transport::FrameHeader& header, std::size_t bytes) override;
  Memory place_any(int from, const transport::FrameHeader& header, std::size_t bytes) override;
  bool wants_loan(int from, const FrameHeader& header, std::size_t bytes) override;
  bool on_lent(int from, const FrameHeader& header, std::span<std::byte> payload,
               transport::Loan loan) override;
  void on_peer_gone(int peer, const Error& why) override;
  void on_peer_ended(int peer, const char* link, const Error& why) override;
  static void on_pin(Done* self, bool ok);  // of every Transfer::Pin

 private:
  friend class PartitionedHalf;
  friend class TransferPool;
  friend class DeviceReads;
  class OwnFrames final : public FrameHandler {
   public:
    explicit OwnFrames(Core& core) : core_(core) {}
    bool on_frame(int from, const FrameHeader& header, std::span<std::byte> payload) override;

   private:
    Core& core_;
  };
  struct Active {
    transport::Transport* transport;
    bool is_costly;  // polling it is a system call
  };

  // peers.cc
  PeerState& peer(int rank) {
    PeerState* known = peers_[static_cast<std::size_t>(rank)].get();
    return known != nullptr ? *known : make_peer(rank);
  }
  PeerState& make_peer(int rank);
  PeerState& routed(int rank);     // with a transport picked, or gone
  PeerState& connected(int rank);  // with a link, or gone
  transport::Peer describe(int rank) const;
  Result<void> route(PeerState& peer);
  Result<void> connect(PeerState& peer);
  Result<void> connect_bulk(const PeerState& peer, BulkLink& bulk);
  Result<BlobView> address_of(const PeerState& peer, std::size_t transport);
  void drop_links(PeerState& peer);
  void activate(std::size_t transport);
  void activate_all();
  void lose(PeerState& peer, const Error& why);
  bool is_lost_by(const char* link, int rank);
  void lose_transfer(Transfer* transfer, Code code);
  void update_open(PeerState& peer);

  // eager.cc
  bool post_first(PeerState& peer, Transfer* transfer);
  void post_to_who_left(PeerState& peer, Transfer* transfer);
  bool post_eager(PeerState& peer, Transfer* transfer, bool is_charged);
  std::span<const std::byte> stage(Transfer* transfer, std::uint64_t offset, std::size_t bytes);
  bool drop_held(Transfer* transfer);  // false: copies for it are under way, which end it
  void drop_all_held();
  void count_sent(PeerState& peer, std::uint64_t bytes);
  void consumed(PeerState& peer, std::size_t bytes);
  void queue_credit(PeerState& peer);
  void explain_flood(PeerState& peer);

  struct Path {  // by which a part of a message's data goes
    transport::Link* link;
    std::size_t max_frame;
    std::uint32_t* full_in_round;
  };

  // copies.cc
  Bounce* take_bounce(Transfer* transfer, std::uint64_t offset, std::size_t bytes);
  void give_bounce(Bounce* bounce);
  void drop_bounces(Transfer* transfer);
  void begin_copy(Transfer* transfer);
  static void on_copied(Done* self, bool ok);
  void forget_copy(Transfer* transfer);
  void end_copy(Transfer* transfer, Bounce* bounce, bool ok);
  void pack_ahead(Transfer* transfer, std::size_t most);
  bool pack_whole(Transfer* transfer);
  int pump_bounces(PeerState& to, Path path, Transfer* transfer);
  std::byte* place_bounce(Transfer* transfer, std::size_t bytes);
  static bool is_reading(const Transfer& transfer, std::span<const std::byte> payload);
  void unpack_later(Transfer* transfer, std::uint64_t offset, std::span<const std::byte> payload);
  Bounce* take_work(Transfer* transfer, Bounce::Use use);
  Transfer* begin_work(const types::Buffer& from, const types::Buffer& into);
  void await_copies();

  // device_get.cc
  bool is_read(const PeerState& peer, const Transfer& transfer) const;
  void expose_once(PeerState& peer, Transfer* transfer);
  Result<void> expose(const PeerState& peer, Transfer* transfer, const types::Buffer& where);
  Result<void> expose_device(const PeerState& peer, Transfer* transfer);
  static const BulkLink* reader_of(const PeerState& peer, MemoryKind kind);
  bool start_device_get(PeerState& peer, Transfer* transfer);
  bool start_own_copy(Transfer* transfer);
  bool start_move(PeerState& peer, Transfer* transfer);

  // rendezvous.cc
  bool post_offer(PeerState& peer, Transfer* transfer);
  void match_offer(Transfer* transfer, int from, const transport::FrameHeader& header,
                   std::span<const std::byte> key);
  static void note_offer(Transfer* transfer, const transport::FrameHeader& header,
                         std::span<const std::byte> key);
  void answer(Transfer* transfer);
  void answer_or_keep(Transfer* transfer);
  BlobView key_for(PeerState& peer, Transfer* transfer);
  void pay_back_key(int from, std::size_t bytes);
  Ways::Way way_for(PeerState& peer, Transfer* transfer);
  bool start_get(PeerState& peer, Transfer* transfer);
  bool get_part(PeerState& peer, Transfer* transfer);
  int pump_gets();
  void go_on_getting(Transfer* transfer);
  void grant(PeerState& peer, Transfer* transfer);
  bool on_grant(int from, const transport::FrameHeader& header);
  void on_taken(int from, const transport::FrameHeader& header);
  void unpinned(Transfer* transfer, bool ok);
  Transfer* find_active(std::uint32_t id, int from, Phase phase, const char* what);

  // data.cc
  bool on_data(int from, const transport::FrameHeader& header, std::span<std::byte> payload);
  static bool is_part(const Transfer& transfer, const transport::FrameHeader& header,
                      std::size_t bytes);
  BulkLink* bulk_path(PeerState& to, const Transfer& transfer);
  std::optional<Path> data_path(PeerState& to, const Transfer& transfer);
  int pump_data(Transfer* transfer);
  void end_sent(Transfer* transfer);
  void end_received(int from, const transport::FrameHeader& header, Transfer* transfer);

  // receive.cc
  Transfer* post_recv(int peer, const Envelope& envelope, const types::Buffer& buffer);
  void give_message(Transfer* transfer, KeptMessage* message);
  KeptMessage* peek(int peer, const Envelope& envelope, Status* status);

  // recall.cc
  void end_cancelled(Transfer* transfer);
  void queue_recall(PeerState& to, std::uint64_t cookie);
  static bool is_recalled(const KeptMessage& message, int from, std::uint32_t number,
                          std::uint32_t id);
  void give_back(KeptMessage* message, std::uint32_t id);
  void on_recall(int from, const transport::FrameHeader& header);
  void on_recalled(int from, const transport::FrameHeader& header);
  void on_goodbye(PeerState& peer);

  // partitioned.cc
  void cancel_partitioned(std::uint32_t context, Code code);
  void cancel_stream(int from, std::span<const std::byte> introduction, Code code);

  // cancel.cc
  Code why_cancelled(const Envelope& envelope) const {
    return channel_.cancelled.why(envelope.context, envelope.source);
  }
  bool cancel_in(std::uint32_t context, int source, Code code);
  void cancel_transfer(Transfer* transfer, Code code);
  void give_up(PeerState& peer, Transfer* transfer);
  void end_answered(Transfer* transfer);
  void cancel_kept(std::uint32_t context, int source, Code code);
  void refuse(int from, const transport::FrameHeader& header, std::size_t bytes, Code code);
  void queue_cut(PeerState& peer, std::uint32_t id, std::uint64_t sent, Code code);
  void on_cut(int from, const transport::FrameHeader& header);

  // deliver.cc
  Transfer* find_granted(int from, const FrameHeader& header, std::size_t bytes) const;
  bool is_sound_message(const transport::FrameHeader& header, std::size_t bytes) const;
  bool on_message(int from, const transport::FrameHeader& header, std::span<std::byte> payload);
  void meet(Transfer* transfer, int from, const transport::FrameHeader& header);
  void deliver_flat(Transfer* transfer, int from, const transport::FrameHeader& header,
                    std::span<const std::byte> payload);
  void deliver_eager(Transfer* transfer, int from, const transport::FrameHeader& header,
                     std::span<const std::byte> payload);
  void answer_eager(PeerState& peer, std::uint8_t flags, std::uint32_t id, std::size_t bytes);
  void finish_delivery(PeerState& peer, Transfer* transfer, const transport::FrameHeader& header,
                       std::size_t bytes);

  // kept.cc
  void keep(int from, const transport::FrameHeader& header, std::span<const std::byte> payload);
  void drop_kept(MatchNode* message);
  void repay(KeptMessage& message);
  bool may_bring(const transport::FrameHeader& header);
  void bring(KeptMessage& message, std::span<const std::byte> key);
  static void on_brought(Pending* self);

  // progress.cc
  void stock();
  void stock_for(Transfer* transfer, const FrameHeader& header, std::size_t bytes);
  void make_room_for(std::size_t transfers);
  void abandon(Transfer* transfer);
  void complete(Transfer* transfer);
  void fail_with(Transfer* transfer, Code code);
  void run_completions();
  int poll();
  int pump();
  void end_posting(Transfer* transfer);
  int pump_or_keep();
  int flush(PeerState& peer);
  void flush_or_keep(PeerState& peer);
  void list_busy(PeerState& peer);
  void queue_control(PeerState& peer, Kind kind, std::uint64_t length, std::uint64_t cookie);
  bool post_control(PeerState& peer, ControlFrame* control);
  void drop_control(PeerState& peer);
  void wait_for(const bool& done);
  void poll_all_by_time();

  // ending.cc
  bool still_listens(int rank) const;
  bool has_moving() const;
  bool waits_to_be_taken(const Transfer& transfer) const;
  const Transfer* untaken() const;  // the first; null: none
  void link_those_who_ask();
  template <class IsOver>
  bool see_to(const IsOver& is_over, std::int64_t patience_ns);

  void tell(const Happening& what) {
    if (const Observer observer = observer_.load(std::memory_order_relaxed)) observer(what);
  }
  wireup::Wireup& wireup_;
  const Knobs knobs_;
  OtherCalls other_calls_;
  transport::Waiter::Gate* gate_ = nullptr;  // null: one thread
  bool work_ = false;                        // some list below is not empty
  std::uint32_t rounds_ = 0;
  std::uint32_t costly_every_ = 1, to_costly_ = 1;  // rounds between polls that are system calls
  std::int64_t polled_all_ns_ = 0;
  int sleepers_ = 0;  // threads inside Waiter::pause
  std::vector<Active> active_;
  std::vector<std::unique_ptr<PeerState>> peers_;
  Channel channel_{this};
  OwnFrames own_frames_{*this};
  FrameTable frames_;
  Throttle looks_;  // at other messages, of who sends to itself only
  Flood flood_;
  BytePool bytes_;
  std::uint32_t window_ = 0;        // units a peer may leave here
  std::uint32_t return_from_ = 0;   // owed units that are returned in a frame of their own
  std::vector<Transfer*> matched_;  // offers matched inside a transport, to be answered
  std::vector<Transfer*> getting_;  // receives with more to read from their senders' memory
  std::vector<Transfer*> sending_;  // sends with data to post
  std::vector<PeerState*> busy_;    // peers with something queued
  std::vector<Loss> losses_;        // told by transports, to be handled
  Error loss_{Code::ok, {}};        // why the latest of them was lost
  LossHook loss_hook_;
  bool is_completing_ = false, is_closed_ = false, has_given_up_ = false;
  bool warned_any_source_ = false;
  types::Devices devices_;
  std::uint32_t copies_ = 0;         // that devices have not ended
  std::uint64_t arrived_bytes_ = 0;  // in blocks of ours, on their way into a device's memory
  transport::Loan loan_;             // of the payload that is being delivered, if it is lent
  Counters counted_;
  std::atomic<Observer> observer_ = nullptr;
  transport::Opened opened_;
  std::unique_ptr<transport::Waiter> waiter_;
};

}  // namespace tutti::p2p
