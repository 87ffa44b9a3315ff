// The end: what was handed over is seen to its receivers, peers are told, links are closed.
//
// A send may outlive its request (freed, buffered): only this file waits for it then, until its
// receiver has the message. Receives that have begun are finished meanwhile. Peers that are gone or
// have said goodbye are not waited for.
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "p2p/core.h"

namespace tutti::p2p {
namespace {

// What no receive waits for at everybody's end is taken back after this (record 0025); what moves
// may take so long before it is told of; a goodbye is a courtesy to who may have ended already.
constexpr std::int64_t kUntakenPatience_ns = 1'000'000'000;
constexpr std::int64_t kFlushPatience_ns = 10'000'000'000;
constexpr std::int64_t kGoodbyePatience_ns = 200'000'000;

// A send that its receiver has not taken.
bool is_untaken(const Transfer& transfer) {
  return transfer.phase == Phase::offered || transfer.phase == Phase::unconfirmed;
}

// Bytes move or are about to.
bool is_moving(const Transfer& transfer) {
  switch (transfer.phase) {
    case Phase::pinned:
    case Phase::sending:
    case Phase::placed:
    case Phase::matched:
    case Phase::awaiting:
    case Phase::granted:
    case Phase::getting:
      return true;
    default:
      return false;
  }
}

// ": the first is 16 B for rank 3, tag 5; is a receive missing there?"
std::string words_of(const Transfer* first) {
  if (first == nullptr) return {};
  return ": the first is " + text::format_bytes(first->total) + " for rank " +
         std::to_string(first->peer) + ", tag " + std::to_string(first->tag) +
         "; is a receive missing there?";
}

}  // namespace

bool Core::is_used(std::uint32_t context) const {
  for (std::uint32_t id = 0; id < channel_.transfers.count(); ++id) {
    const Transfer& each = *channel_.transfers.find(id);
    if (each.context == context && each.phase != Phase::unused && each.phase != Phase::complete)
      return true;
  }
  return false;
}

bool Core::still_listens(int rank) const {
  const PeerState* const peer = peers_[static_cast<std::size_t>(rank)].get();
  return peer == nullptr || (!peer->gone && !peer->left);
}

// Something is left to be done for a peer that still listens.
bool Core::has_moving() const {
  for (std::uint32_t id = 0; id < channel_.transfers.count(); ++id) {
    const Transfer& each = *channel_.transfers.find(id);
    if (is_moving(each) && still_listens(each.peer)) return true;
    if (each.phase == Phase::copying) return true;
  }
  for (const auto& each : peers_)
    if (each != nullptr && each->link != nullptr && still_listens(each->rank) &&
        (each->has_queued() || each->link->has_unsent()))
      return true;
  return !matched_.empty();
}

// A send that is waited for at the end: its receiver may still take it. One to ourselves is not,
// for nobody is left to receive it.
bool Core::waits_to_be_taken(const Transfer& transfer) const {
  return is_untaken(transfer) && still_listens(transfer.peer) && transfer.peer != wireup_.rank();
}

const Transfer* Core::untaken() const {
  for (std::uint32_t id = 0; id < channel_.transfers.count(); ++id)
    if (const Transfer* each = channel_.transfers.find(id); waits_to_be_taken(*each)) return each;
  return nullptr;
}

// Polls until `is_over`, or until nothing moved for a while. False: that.
template <class IsOver>
bool Core::see_to(const IsOver& is_over, std::int64_t patience_ns) {
  std::int64_t deadline = now_ns() + patience_ns;
  while (!is_over()) {
    if (poll() > 0) {
      waiter_->busy();
      deadline = now_ns() + patience_ns;
    } else if (now_ns() > deadline) {
      return false;
    } else {
      idle();
    }
  }
  return true;
}

void Core::see_off(End end) {
  const auto is_over = [this] { return !has_moving() && untaken() == nullptr; };
  if (end == End::ours && !has_given_up_) {
    // MPI 5.0, 11.2.2: what was sent is to be received, so this goes on for as long as it takes.
    if (see_to(is_over, kFlushPatience_ns)) return;
    if (const Transfer* first = untaken(); first != nullptr)
      log::warn("the end waits for rank " + std::to_string(first->peer) +
                " to receive what was sent to it; is a receive missing there?");
    while (!see_to(is_over, kFlushPatience_ns)) {
    }
    return;
  }
  if (see_to(is_over, has_given_up_ ? kGoodbyePatience_ns : kUntakenPatience_ns) || has_given_up_)
    return;
  // Nobody asks for messages any more: those that no receive waits for are taken back.
  for (std::uint32_t id = 0; id < channel_.transfers.count(); ++id) {
    Transfer* const each = channel_.transfers.find(id);
    if (waits_to_be_taken(*each)) cancel(each);
  }
  see_to([this] { return untaken() == nullptr; }, kUntakenPatience_ns);
  if (see_to([this] { return !has_moving(); }, kFlushPatience_ns) && untaken() == nullptr) return;
  has_given_up_ = true;
  log::warn("messages were left behind at the end, as nobody took them" + words_of(untaken()));
}

// Those whose messages wait here for a receive may wait for our word.
void Core::link_those_who_ask() {
  for (MatchNode* node = channel_.unexpected.oldest(); node != nullptr; node = node->newer) {
    const KeptMessage& message = *static_cast<KeptMessage*>(node);
    const bool is_plain = message.header.kind == static_cast<std::uint8_t>(Kind::eager) &&
                          (message.header.flags & kWantsTaken) == 0;
    if (!is_plain && still_listens(message.from)) connected(message.from);
  }
}

void Core::close() {
  if (is_closed_) return;
  is_closed_ = true;
  // Whoever sent what has come unseen, over links that were not used so far, is told goodbye, too;
  // who never stops is not heard to the end.
  const std::int64_t deadline = now_ns() + kGoodbyePatience_ns;
  for (const auto& each : opened_.transports)
    while (each->progress() > 0 && now_ns() < deadline) {
    }
  const auto is_over = [this] { return !has_moving(); };
  if (!see_to(is_over, has_given_up_ ? kGoodbyePatience_ns : kFlushPatience_ns))
    log::warn("messages were left behind at the end: a peer did not take them");
  link_those_who_ask();
  for (const auto& each : peers_)
    if (each != nullptr && each->link != nullptr && !each->gone && !each->left &&
        each->rank != wireup_.rank())
      queue_control(*each, Kind::goodbye, 0, 0);
  see_to(is_over, kGoodbyePatience_ns);  // a courtesy: a peer that ended already does not take it
  drop_all_held();  // what is left behind is read by nobody, and nothing is read into it
  for (const auto& each : peers_) {
    if (each == nullptr) continue;
    each->link = nullptr;
    each->open_bytes = -1;
    each->gone = true;
    each->bulk.clear();
    each->readers.clear();
    each->owned_link.reset();
  }
}

}  // namespace tutti::p2p
