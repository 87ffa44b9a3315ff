// Messages that nobody asks for: counted where the daemon sees them, and told once when they are
// many, since a rank that is flooded is slow, and so is who sends to it, without any error.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "p2p/core.h"
#include "topo/topo.h"

namespace tutti::p2p {
namespace {

constexpr std::uint64_t kPart = 8;  // a rise is timed from this part of the limit on
constexpr std::uint64_t kMemoryPart =
    8;  // of the host's memory, for messages kept by all its ranks
constexpr std::uint64_t kBytesEach = 4 << 10;  // messages as long as this are many sooner
constexpr std::size_t kMostNamed = 4;
// No link sends longer ones without asking, whatever a frame says.
constexpr std::uint64_t kMostBrought = 1 << 20;

struct FloodingSender {
  int rank = 0;
  std::uint64_t messages = 0;
  int lowest_tag = 0, highest_tag = 0;
  std::set<std::uint32_t> contexts;
  bool is_held_back = false;
};

std::string communicators_of(const FloodingSender& sender) {
  std::string text;
  for (const std::uint32_t context : sender.contexts) {
    text += text.empty() ? "" : ", ";
    text += context % 2 == 1 ? "collectives of " : "";
    text += context < 2 ? "MPI_COMM_WORLD" : "communicator " + std::to_string(context / 2);
  }
  return text;
}

std::string describe_sender(const FloodingSender& sender) {
  std::string text = std::to_string(sender.messages) + " from rank " + std::to_string(sender.rank);
  const bool one = sender.lowest_tag == sender.highest_tag;
  text += (one ? " (tag " : " (tags ") + std::to_string(sender.lowest_tag);
  if (!one) text += " to " + std::to_string(sender.highest_tag);
  text += ", " + communicators_of(sender);
  return text + (sender.is_held_back ? "; its sends are held back)" : ")");
}

}  // namespace

// relaxed: the daemon samples, as it does of the watch record.
void Core::record_kept() {
  kept_record_.messages.store(flood_.messages, std::memory_order_relaxed);
  kept_record_.bytes.store(flood_.bytes, std::memory_order_relaxed);
  kept_record_.waiting.store(flood_.waiting, std::memory_order_relaxed);
}

void Core::drop_kept(MatchNode* node) {
  channel_.unexpected.remove(node);
  const KeptMessage& message = *static_cast<KeptMessage*>(node);
  --flood_.messages;
  flood_.bytes -= message.bytes;
  if ((message.header.flags & kUntilKept) != 0) --flood_.waiting;
  record_kept();
}

// Counts one more kept message.
void Core::count_kept(const KeptMessage& message) {
  const std::uint64_t messages = ++flood_.messages;
  flood_.bytes += message.bytes;
  if ((message.header.flags & kUntilKept) != 0) ++flood_.waiting;
  record_kept();
  if (flood_.from == 0) return;
  if (messages == std::max<std::uint64_t>(1, flood_.from / kPart)) [[unlikely]] {
    flood_.began_ns = now_ns();
    flood_.received = counted_.messages_received;
  }
  if (messages >= flood_.from || flood_.bytes >= flood_.from * kBytesEach) [[unlikely]]
    tell_flood();
}

// What is kept costs its sender nothing while there is memory for it: programs send a great many
// short messages before the one that is asked for.
void Core::repay(KeptMessage& message) {
  const bool is_eager = message.header.kind == static_cast<std::uint8_t>(Kind::eager);
  std::uint8_t& flags = message.header.flags;
  if (!is_eager || !has_room(0)) return;
  PeerState& sender = peer(message.from);
  if ((flags & kUntilKept) != 0) {
    queue_control(sender, Kind::taken, 0, high_of(message.header.cookie));
    flags &= static_cast<std::uint8_t>(~(kWantsTaken | kUntilKept));
  }
  if ((flags & kFree) == 0) consumed(sender, message.bytes);
  flags |= kRepaid;
}

// Whether so many more bytes of memory may be used for messages that no receive matches.
bool Core::has_room(std::uint64_t more) {
  const std::uint64_t wanted = bytes_.in_use() + more;
  if (wanted <= budget_ || is_budget_known_) return wanted <= budget_;
  is_budget_known_ = true;
  const std::uint64_t left = topo::memory_left();
  budget_ =
      std::max(budget_, left / kMemoryPart / static_cast<std::uint64_t>(wireup_.local_size()));
  return wanted <= budget_;
}

bool Core::may_bring(const transport::FrameHeader& header) {
  return header.kind == static_cast<std::uint8_t>(Kind::offer) &&
         (header.flags & kUntilKept) != 0 && header.length <= kMostBrought &&
         has_room(header.length);
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

void Core::tell_flood() {
  flood_.from = 0;  // once
  wireup_.remark(describe_flood());
}

std::string Core::describe_flood() const {
  std::map<int, FloodingSender> by_rank;
  const auto count = [&](const KeptMessage* message) {
    const auto [at, fresh] = by_rank.try_emplace(message->from);
    FloodingSender& sender = at->second;
    sender.rank = message->from;
    if (fresh) sender.lowest_tag = sender.highest_tag = message->tag;
    sender.lowest_tag = std::min(sender.lowest_tag, message->tag);
    sender.highest_tag = std::max(sender.highest_tag, message->tag);
    sender.contexts.insert(message->context);
    ++sender.messages;
    if ((message->header.flags & kUntilKept) != 0) sender.is_held_back = true;
  };
  for (MatchNode* node = channel_.unexpected.oldest(); node != nullptr; node = node->newer)
    count(static_cast<const KeptMessage*>(node));
  std::vector<FloodingSender> senders;
  for (const auto& [rank, sender] : by_rank) senders.push_back(sender);
  std::stable_sort(
      senders.begin(), senders.end(),
      [](const FloodingSender& a, const FloodingSender& b) { return a.messages > b.messages; });
  std::string text = wireup_.name_of(wireup_.rank()) +
                     " is flooded: " + std::to_string(flood_.messages) + " messages (" +
                     text::format_bytes(flood_.bytes) + ") wait for a receive";
  if (flood_.began_ns != 0) {
    const std::uint64_t since = counted_.messages_received - flood_.received;
    text += "; in the last " + std::to_string((now_ns() - flood_.began_ns) / 1'000'000) +
            " ms it received " + (since == 0 ? "none" : std::to_string(since));
  }
  for (std::size_t i = 0; i < std::min(senders.size(), kMostNamed); ++i)
    text += "\n    " + describe_sender(senders[i]);
  if (senders.size() > kMostNamed)
    text += "\n    and from " + std::to_string(senders.size() - kMostNamed) + " more ranks";
  return text + "\n    (TUTTI_FLOOD_MESSAGES; this is told once, and the job goes on)";
}

}  // namespace tutti::p2p
