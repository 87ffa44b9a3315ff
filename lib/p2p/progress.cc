// Progress, waiting and completion.
//
// A round polls the transports in use, then posts what is queued (pump), then calls on_done of
// what became complete. Callbacks run from a queue, one after another, so a callback that
// completes further requests does not nest.
#include <algorithm>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "p2p/core.h"
#include "p2p/keep_those.h"

namespace tutti::p2p {
namespace {

constexpr std::uint32_t kOthersEvery = 256;    // and polls of transports not in use yet
constexpr std::int64_t kAllEvery_ns = 20'000;  // of those in use

}  // namespace

int Core::poll() {
  int events = 0;
  ++rounds_;
  const bool polls_costly = --to_costly_ == 0;
  if (polls_costly) to_costly_ = costly_every_;
  for (const Active& each : active_)
    if (!each.is_costly || polls_costly) events += each.transport->progress();
  if (rounds_ % kOthersEvery == 0) [[unlikely]]
    for (const auto& each : opened_.transports) events += each->progress();
  if (work_) [[unlikely]]
    events += pump_or_keep();
  if (!channel_.completions.is_empty()) run_completions();
  // Another thread may wait for what this one has received.
  if (events > 0 && sleepers_ > 0) [[unlikely]]
    waiter_->wake_self();
  return events;
}

int Core::progress() {
  return poll();
}

int Core::progress_or_yield() {
  int events = poll();
  if (events == 0 && waiter_->pause_awake(gate_)) {
    poll_all_by_time();
    events = poll();
  }
  if (events > 0) waiter_->busy();
  return events;
}

void Core::wait_for(const bool& done) {
  while (!done) {
    if (poll() > 0)
      waiter_->busy();
    else
      idle();
  }
}

void Core::idle() {
  ++sleepers_;
  waiter_->pause(gate_);
  --sleepers_;
  poll_all_by_time();
}

// Where a core is shared a round takes a turn of all its ranks: then all have their turn by time.
void Core::poll_all_by_time() {
  const std::int64_t now = waiter_->gave_way_ns();
  if (now - polled_all_ns_ < kAllEvery_ns) [[likely]]
    return;
  polled_all_ns_ = now;
  to_costly_ = 1;
  for (const Active& each : active_) each.transport->look_at_all();
}

void Core::wait(Pending* request) {
  wait_for(request->done);
}
void Core::active() {
  waiter_->busy();
}

// Takes what a step may need to end: words for peers, a request. Called before anything is changed;
// who then does that throws nothing behind it.
void Core::stock() {
  constexpr std::size_t kWords = 4;
  bytes_.stock(kWords, sizeof(ControlFrame));
  channel_.transfers.stock();
}

// The same for a receive that is about to take this message. Most are answered by nothing.
void Core::stock_for(Transfer* transfer, const FrameHeader& header, std::size_t bytes) {
  const bool is_eager = header.kind == static_cast<std::uint8_t>(Kind::eager);
  if (is_eager && (header.flags & kWantsTaken) == 0 && transfer->buffer.device == nullptr) return;
  stock();
  if (!is_eager)
    transfer->key.reserve(bytes);
  else if (transfer->buffer.device != nullptr)
    bytes_.stock(1, sizeof(Bounce) + bytes);
}

// There are that many requests: the lists of what is to be done for each have room.
void Core::make_room_for(std::size_t transfers) {
  make_room(matched_, transfers);
  make_room(getting_, 2 * transfers);  // pump_gets() adds before it removes
  make_room(sending_, transfers);
}

// What was thrown before anybody knew of this request: it ends when nothing works for it.
void Core::abandon(Transfer* transfer) {
  transfer->detached = true;
  complete(transfer);
}

void Core::complete(Transfer* transfer) {
  if (transfer->holds && !drop_held(transfer)) [[unlikely]]
    return;
  transfer->phase = Phase::complete;
  if (transfer->on_done != nullptr) return channel_.completions.push(transfer);
  transfer->done = true;
  if (transfer->detached) channel_.transfers.give(transfer);
}

void Core::later(void (*then)(Pending* self), void* owner) {
  Transfer* const transfer = channel_.transfers.take();
  transfer->begin(Phase::complete, wireup_.rank(), {}, {});
  transfer->on_done = then;
  transfer->owner = owner;
  channel_.completions.push(transfer);
}

void Core::fail_with(Transfer* transfer, Code code) {
  transfer->status.code = code;
  complete(transfer);
}

void Core::run_completions() {
  if (is_completing_) return;
  struct Completing {
    bool& is_so;
    ~Completing() { is_so = false; }
  };
  is_completing_ = true;
  const Completing until_end{is_completing_};  // also where a callback throws
  while (!channel_.completions.is_empty()) {
    Transfer* const transfer = channel_.completions.pop();
    const bool was_released = transfer->detached;
    transfer->done = true;
    // Its owner may have lost interest since it was queued.
    if (transfer->on_done != nullptr) transfer->on_done(transfer);
    if (was_released) channel_.transfers.give(transfer);
  }
}

// What memory is too short for now is left to a later round.
int Core::pump_or_keep() {
  try {
    return pump();
  } catch (...) {
    work_ = true;
    throw;
  }
}

// Posts what is queued, as far as links have room. Returns how many things moved.
int Core::pump() {
  work_ = false;
  int moved = copies_ > 0 ? devices_.progress() : 0;
  for (std::size_t i = 0; i < losses_.size(); ++i, ++moved) {
    const Loss loss = losses_[i];
    if (!is_lost_by(loss.link, loss.peer)) continue;
    lose(peer(loss.peer), loss.why);
  }
  losses_.clear();
  // Before what is queued is posted: a receive that ends here has a word for its sender.
  moved += pump_gets();
  keep_those(matched_, [&](Transfer* each) {
    answer(each);
    ++moved;
    return false;
  });
  keep_those(busy_, [&](PeerState* each) {
    moved += flush(*each);
    return each->is_listed = each->has_queued();
  });
  keep_those(sending_, [&](Transfer* each) {
    moved += pump_data(each);
    const bool stays = each->moved < each->total && each->failure == Code::ok;
    if (!stays) end_posting(each);
    return stays;
  });
  work_ = work_ || !busy_.empty() || !sending_.empty() || !getting_.empty() || copies_ > 0;
  return moved;
}

// All its data are posted, or no more of them will be.
void Core::end_posting(Transfer* transfer) {
  if (PeerState& to = peer(transfer->peer); transfer->moved < transfer->total && !to.gone) {
    queue_cut(to, transfer->peer_id, transfer->moved, transfer->failure);
    to.control_last->header.flags = transfer->data_flags();
  }
  transfer->phase = Phase::pinned;
  if (transfer->in_flight == 0) end_sent(transfer);
}

// Posts a peer's queued frames: answers first, then messages in order.
int Core::flush(PeerState& queued) {
  PeerState& to = connected(queued.rank);
  if (to.gone || to.left) drop_control(to);
  int posted = 0;
  while (to.control_first != nullptr && post_control(to, to.control_first)) ++posted;
  if (to.control_first == nullptr) to.is_recalling = false;
  while (!to.is_recalling && !to.waiting.is_empty()) {
    Transfer* const transfer = to.waiting.pop();
    bool is_kept = true;
    try {
      is_kept = !to.gone && !post_first(to, transfer);
    } catch (...) {
      to.waiting.push_front(transfer);
      throw;
    }
    if (is_kept) {
      to.waiting.push_front(transfer);
      break;
    }
    if (to.gone) fail_with(transfer, to.failure);
    ++posted;
  }
  update_open(to);
  return posted;
}

// The same for who cannot fail any more: what memory is too short for now is left to a later round.
void Core::flush_or_keep(PeerState& queued) {
  try {
    flush(queued);
  } catch (const std::bad_alloc&) {  // it is listed as busy
    work_ = true;
  }
}

void Core::list_busy(PeerState& peer) {
  work_ = true;
  if (peer.is_listed) return;
  busy_.push_back(&peer);
  peer.is_listed = true;
}

void Core::queue_control(PeerState& peer, Kind kind, std::uint64_t length, std::uint64_t cookie) {
  list_busy(peer);  // first: it may find no memory, too
  ControlFrame* const control = new (bytes_.take(sizeof(ControlFrame))) ControlFrame;
  control->header.kind = static_cast<std::uint8_t>(kind);
  control->header.length = length;
  control->header.cookie = cookie;
  (peer.control_first == nullptr ? peer.control_first : peer.control_last->next) = control;
  peer.control_last = control;
}

// Posts the first queued frame, with whatever credit is owed. False: no room.
bool Core::post_control(PeerState& peer, ControlFrame* control) {
  const std::uint32_t returned = std::min(peer.owed, kMostReturned);
  control->header.aux = static_cast<std::uint16_t>(returned);
  peer.owed -= returned;
  const transport::FrameHeader header = control->header;
  // Off the line first: sent to oneself, it may queue another inside try_post.
  peer.control_first = control->next;
  Booked booked([&] {
    peer.owed += returned;
    if (peer.control_first == nullptr) peer.control_last = control;
    control->next = peer.control_first;
    peer.control_first = control;
  });
  if (!booked.holds(peer.link->try_post({&header, nullptr, 0, nullptr}))) return false;
  bytes_.give(control, sizeof(ControlFrame));
  return true;
}

void Core::drop_control(PeerState& peer) {
  while (peer.control_first != nullptr) {
    ControlFrame* const control = peer.control_first;
    peer.control_first = control->next;
    bytes_.give(control, sizeof(ControlFrame));
  }
}

}  // namespace tutti::p2p
