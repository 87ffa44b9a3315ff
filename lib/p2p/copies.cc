// Messages from and into memory that is not the host's, by bounce buffers and loans.
//
// A device may end its work later: so the bytes of such a message pass through a block of ours,
// packed into it before a frame can be posted, unpacked from it after one has arrived. Where the
// transport lends what has arrived, they are unpacked from there. A transfer ends with the last of
// its copies; until then its blocks stay, even if it was cancelled or its peer is gone
// (Phase::copying). A short send waits in its peer's line until it is packed, so that what was sent
// after it stays behind it.
#include <algorithm>
#include <cstring>
#include <new>

#include "base/backoff.h"
#include "p2p/core.h"
#include "p2p/device_reads.h"

namespace tutti::p2p {
namespace {

constexpr std::uint64_t kAhead = 4;  // chunks of a message that are packed before they are posted
// Arrived, not unpacked yet, and not lent (the lender sees to that). Frames are not refused, so
// beyond it we wait for the device; unless it waits for what its caller gave it, and that perhaps
// for what comes behind: then senders are held back (DeviceReads::has_place, deliver_eager).
constexpr std::uint64_t kMostArrived = std::uint64_t{16} << 20;
constexpr std::uint32_t kNoMessage = ~0U;  // context of a device's work that is no message

}  // namespace

Bounce* Core::take_bounce(Transfer* transfer, std::uint64_t offset, std::size_t bytes) {
  auto* const bounce = new (bytes_.take(sizeof(Bounce) + bytes)) Bounce;
  bounce->fire = &Core::on_copied;
  bounce->transfer = transfer;
  bounce->offset = offset;
  bounce->bytes = bytes;
  return bounce;
}

void Core::give_bounce(Bounce* bounce) {
  const std::size_t bytes = sizeof(Bounce) + bounce->bytes;
  bounce->~Bounce();  // what was lent goes back
  bytes_.give(bounce, bytes);
}

// To be called before the device is asked for the copy.
void Core::begin_copy(Transfer* transfer) {
  transfer->holds = true;
  ++transfer->copies;
  if (copies_++ == 0) waiter_->begin_unsignalled();
  work_ = true;
}

// Called by a device's progress, which anybody may call at any time: so it changes state, and posts
// and completes nothing.
void Core::on_copied(Done* self, bool ok) {
  auto* const bounce = static_cast<Bounce*>(self);
  bounce->note_fired();
  Transfer* const transfer = bounce->transfer;
  transfer->core->end_copy(transfer, bounce, ok);
}

void Core::forget_copy(Transfer* transfer) {
  --transfer->copies;
  if (--copies_ == 0) waiter_->end_unsignalled();
}

void Core::end_copy(Transfer* transfer, Bounce* bounce, bool ok) {
  forget_copy(transfer);
  const Bounce::Use use = bounce->use;
  if (!ok && transfer->failure == Code::ok && use != Bounce::Use::get)
    transfer->failure =
        transfer->buffer.device->is_usable() ? Code::other : transfer->buffer.device->refusal();
  if (use == Bounce::Use::pack) {
    bounce->is_ready = true;
  } else {
    if (use == Bounce::Use::unpack) arrived_bytes_ -= bounce->bytes;
    if (use == Bounce::Use::unpack && std::exchange(transfer->is_unanswered, false))
      answer_eager(peer(transfer->peer), transfer->key_flags, transfer->peer_id, transfer->came);
    if (use == Bounce::Use::fence) transfer->waits_exposed = false;
    give_bounce(bounce);
    if (use == Bounce::Use::fence && transfer->phase == Phase::offered)
      return DeviceReads(*this).tell_ready(transfer);
    if (use == Bounce::Use::piece && transfer->phase == Phase::offered)
      return DeviceReads(*this).end_packed(transfer);
    if ((use == Bounce::Use::get || use == Bounce::Use::ready) && transfer->phase == Phase::getting)
      return DeviceReads(*this).end_read(transfer, ok && use == Bounce::Use::get);
  }
  if (transfer->phase == Phase::copying && transfer->copies == 0) complete(transfer);
}

// Of a transfer that has ended, and none of whose copies is under way.
void Core::drop_bounces(Transfer* transfer) {
  while (Bounce* const first = transfer->bounces) {
    transfer->bounces = first->next;
    give_bounce(first);
  }
  if (transfer->reading != nullptr) give_bounce(std::exchange(transfer->reading, nullptr));
  if (transfer->scratch != nullptr)
    transfer->buffer.device->give_scratch(std::exchange(transfer->scratch, nullptr));
  transfer->packed = 0;
  transfer->was_exposed = transfer->by_link = false;
  if (transfer->status.code == Code::ok) transfer->status.code = transfer->failure;
}

// Has what is next of the message packed, in blocks of at most so many bytes.
void Core::pack_ahead(Transfer* transfer, std::size_t most) {
  const std::uint64_t end = std::min(transfer->total, transfer->moved + kAhead * most);
  while (transfer->packed < end) {
    const std::size_t bytes = std::min<std::uint64_t>(most, transfer->total - transfer->packed);
    Bounce* const bounce = take_bounce(transfer, transfer->packed, bytes);
    bounce->use = Bounce::Use::pack;
    (transfer->bounces == nullptr ? transfer->bounces : transfer->last_bounce->next) = bounce;
    transfer->last_bounce = bounce;
    transfer->packed += bytes;
    begin_copy(transfer);
    begin_or_fail(bounce, [&](Done* done) {
      transfer->buffer.device->pack(transfer->buffer, static_cast<types::Count>(bounce->offset),
                                    {bounce->memory(), bytes}, done);
    });
  }
}

// Has a message packed that goes in one frame; whether it is there to be posted, or has failed.
bool Core::pack_whole(Transfer* transfer) {
  if (transfer->total == 0) return true;
  transfer->moved = 0;
  pack_ahead(transfer, transfer->total);
  return transfer->bounces->is_ready;
}

// pump_data() of such a message: posts in order what is packed.
int Core::pump_bounces(PeerState& to, Path path, Transfer* transfer) {
  pack_ahead(transfer, std::min(path.max_frame, transfer->buffer.device->pace().chunk));
  transport::FrameHeader header;
  header.kind = static_cast<std::uint8_t>(Kind::data);
  header.flags = transfer->data_flags();
  header.cookie = transfer->peer_id;
  int posted = 0;
  while (transfer->moved < transfer->total && transfer->failure == Code::ok) {
    Bounce* const first = transfer->bounces;
    if (first == nullptr || !first->is_ready) break;
    // Packed before the grant, it may be longer than that.
    const std::size_t bytes =
        std::min<std::uint64_t>(first->bytes, transfer->total - first->offset);
    header.length = first->offset;
    transport::FrameView frame{&header, first->memory(), bytes};
    frame.is_piece = transfer->total > path.max_frame;
    if (path.link->try_post(frame)) {
      transfer->bounces = first->next;
      transfer->moved += bytes;
      give_bounce(first);
      ++posted;
    } else {
      *path.full_in_round = rounds_;
    }
    ++to.turns;
    const auto next = data_path(to, *transfer);
    if (!next) break;
    path = *next;
  }
  return posted;
}

// Where the payload of a data frame is read to.
std::byte* Core::place_bounce(Transfer* transfer, std::size_t bytes) {
  if (transfer->reading != nullptr) return nullptr;
  transfer->holds = true;
  transfer->reading = take_bounce(transfer, transfer->moved, bytes);
  return transfer->reading->memory();
}

bool Core::is_reading(const Transfer& transfer, std::span<const std::byte> payload) {
  return transfer.reading != nullptr && transfer.reading->memory() == payload.data();
}

// Whether the payload will go into a device's memory, as far as can be known before all of it is
// there.
bool Core::wants_loan(int from, const transport::FrameHeader& header, std::size_t bytes) {
  if (devices_.is_empty()) [[likely]]
    return false;
  const Transfer* transfer = nullptr;
  if (header.kind == static_cast<std::uint8_t>(Kind::data))
    transfer = find_granted(from, header, bytes);
  else if (header.kind == static_cast<std::uint8_t>(Kind::eager))
    transfer = static_cast<const Transfer*>(channel_.posted.find(key_of(header)));
  return transfer != nullptr && transfer->buffer.device != nullptr && !transfer->by_link;
}

bool Core::on_lent(int from, const transport::FrameHeader& header, std::span<std::byte> payload,
                   transport::Loan loan) {
  loan_ = std::move(loan);
  const struct Ends {  // where nobody kept it; a frame that is offered again comes with another one
    transport::Loan& loan;
    ~Ends() { loan.end(); }
  } ends{loan_};
  return on_frame(from, header, payload);
}

// What has arrived goes to its place in the device's memory.
void Core::unpack_later(Transfer* transfer, std::uint64_t offset,
                        std::span<const std::byte> payload) {
  if (payload.empty()) return;
  Bounce* bounce = nullptr;
  if (is_reading(*transfer, payload)) {
    bounce = std::exchange(transfer->reading, nullptr);
  } else if (loan_) {
    bounce = take_bounce(transfer, offset, 0);
    bounce->loan = std::move(loan_);
  } else {
    bounce = take_bounce(transfer, offset, payload.size());
    std::memcpy(bounce->memory(), payload.data(), payload.size());
    payload = {bounce->memory(), payload.size()};
  }
  arrived_bytes_ += bounce->bytes;
  begin_copy(transfer);
  begin_or_fail(bounce, [&](Done* done) {
    transfer->buffer.device->unpack(transfer->buffer, static_cast<types::Count>(offset), payload,
                                    done);
  });
  wait_until([this] {
    if (arrived_bytes_ > kMostArrived) devices_.progress();
    return arrived_bytes_ <= kMostArrived || devices_.one_stands_behind_caller();
  });
}

// Counted as begun: to be handed to a device at once.
Bounce* Core::take_work(Transfer* transfer, Bounce::Use use) {
  Bounce* const bounce = take_bounce(transfer, 0, 0);
  bounce->use = use;
  begin_copy(transfer);
  return bounce;
}

// The request has the buffer whose device a failure would be blamed on.
Transfer* Core::begin_work(const types::Buffer& from, const types::Buffer& into) {
  bytes_.stock(1, sizeof(Bounce));
  Transfer* const transfer = channel_.transfers.take();
  const bool is_into =
      into.device != nullptr && (from.device == nullptr || from.device->is_usable());
  transfer->begin(Phase::copying, wireup_.rank(), {kNoMessage, 0, 0, 0}, is_into ? into : from);
  return transfer;
}

Pending* Core::copy(const types::Buffer& from, const types::Buffer& into) {
  Transfer* const transfer = begin_work(from, into);
  begin_or_fail(take_work(transfer, Bounce::Use::work),
                [&](Done* done) { types::begin_copy(from, into, done); });
  return transfer;
}

Pending* Core::fold(const types::Fold& fold) {
  Transfer* const transfer = begin_work(fold.from, fold.into);
  begin_or_fail(take_work(transfer, Bounce::Use::work),
                [&](Done* done) { types::begin_fold(fold, done); });
  return transfer;
}

Pending* Core::await_caller(types::Device& device) {
  types::Buffer nothing;
  nothing.device = &device;
  Transfer* const transfer = begin_work(nothing, nothing);
  begin_or_fail(take_work(transfer, Bounce::Use::work),
                [&](Done* done) { device.await_caller(done); });
  return transfer;
}

// Blocks of ours are not freed under a device's hands.
void Core::await_copies() {
  wait_until([this] {
    if (copies_ > 0) devices_.progress();  // else they may be gone
    return copies_ == 0;
  });
}

}  // namespace tutti::p2p
