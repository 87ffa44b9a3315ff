// Messages that no receive matches yet: kept, paid for while there is room, and, where they were
// only offered, brought here.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "p2p/core.h"

namespace tutti::p2p {
namespace {

// No link sends longer ones without asking, whatever a frame says.
constexpr std::uint64_t kMostBrought = 1 << 20;

}  // namespace

// No receive matches yet: kept in the order of arrival. All memory it needs is taken first.
void Core::keep(int from, const transport::FrameHeader& header,
                std::span<const std::byte> payload) {
  const auto source = static_cast<int>(header.source);
  if (const Code code = channel_.cancelled.why(header.context, source); code != Code::ok)
      [[unlikely]] {
    stock();
    if (is_meeting(header.context)) cancel_stream(from, payload, code);
    refuse(from, header, payload.size(), code);
    peer(from).credit += header.aux;
    return;
  }
  const bool is_brought = may_bring(header);
  if (is_brought) channel_.transfers.stock().key.reserve(payload.size());
  const std::size_t bytes = is_brought ? header.length : payload.size();
  KeptMessage* const message = new (bytes_.take(sizeof(KeptMessage) + bytes)) KeptMessage;
  message->context = header.context;
  message->source = static_cast<int>(header.source);
  message->tag = header.tag;
  message->header = header;
  peer(from).credit += std::exchange(message->header.aux, std::uint16_t{0});
  message->from = from;
  message->bytes = static_cast<std::uint32_t>(bytes);
  if (is_brought)
    bring(*message, payload);
  else if (!payload.empty())
    std::memcpy(message->payload(), payload.data(), payload.size());
  channel_.unexpected.add(message);
  repay(*message);
  flood_.add(*message, channel_.unexpected, counted_.messages_received);
  ++counted_.unexpected;
  counted_.unexpected_most = std::max(counted_.unexpected_most, flood_.messages());
  tell({Happening::What::unexpected, from, header.tag, static_cast<std::int64_t>(header.length)});
}

void Core::drop_kept(MatchNode* node) {
  channel_.unexpected.remove(node);
  flood_.remove(*static_cast<KeptMessage*>(node));
}

// What is kept costs its sender nothing while there is memory for it: programs send a great many
// short messages before the one that is asked for.
void Core::repay(KeptMessage& message) {
  const bool is_eager = message.header.kind == static_cast<std::uint8_t>(Kind::eager);
  std::uint8_t& flags = message.header.flags;
  if (!is_eager || !flood_.has_room(bytes_.in_use())) return;
  PeerState& sender = peer(message.from);
  if ((flags & kUntilKept) != 0) {
    queue_control(sender, Kind::taken, 0, high_of(message.header.cookie));
    flags &= static_cast<std::uint8_t>(~(kWantsTaken | kUntilKept));
  }
  if ((flags & kFreeEager) == 0) consumed(sender, message.bytes);
  flags |= kRepaid;
}

bool Core::may_bring(const transport::FrameHeader& header) {
  return header.kind == static_cast<std::uint8_t>(Kind::offer) &&
         (header.flags & kUntilKept) != 0 && header.length <= kMostBrought &&
         flood_.has_room(bytes_.in_use() + header.length);
}

// A short message that was offered for want of credit is asked for at once, so that its sender can
// go on: as if a receive into the memory of the kept message had met it.
void Core::bring(KeptMessage& message, std::span<const std::byte> key) {
  const std::span<std::byte> memory = message.content();
  Transfer* const bringing = channel_.transfers.take();
  bringing->begin(Phase::waiting, message.from, {message.context, message.source, message.tag, 0},
                  types::Buffer::plain(memory.data(), static_cast<types::Count>(memory.size())));
  note_offer(bringing, message.header, key);
  pay_back_key(message.from, key.size());
  bringing->owner = &message;
  bringing->on_done = &Core::on_brought;
  message.bringing = bringing;
  message.header.flags &= static_cast<std::uint8_t>(~kUntilKept);
  matched_.push_back(bringing);
  work_ = true;
}

// Its bytes are here: it is kept like any other from now on. Or its sender is gone.
void Core::on_brought(Pending* self) {
  Transfer* const bringing = static_cast<Transfer*>(self);
  Core& core = *bringing->core;
  KeptMessage* const message = static_cast<KeptMessage*>(bringing->owner);
  message->bringing = nullptr;
  const Code cancelled = core.channel_.cancelled.why(message->context, message->source);
  message->failure = bringing->status.code != Code::ok ? bringing->status.code : cancelled;
  message->header.kind = static_cast<std::uint8_t>(Kind::eager);
  message->header.flags = kOwesNothing;
  core.release(bringing);
  if (message->taker != nullptr) return core.give_message(message->taker, message);
  if (message->is_taken || cancelled == Code::ok) return;
  core.drop_kept(message);
  core.bytes_.give(message, sizeof(KeptMessage) + message->bytes);
}

}  // namespace tutti::p2p
