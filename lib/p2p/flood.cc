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

struct Sender {
  int rank = 0;
  std::uint64_t messages = 0;
  int lowest_tag = 0, highest_tag = 0;
  std::set<std::uint32_t> contexts;
  bool is_held_back = false;
};

std::string communicators_of(const Sender& sender) {
  std::string text;
  for (const std::uint32_t context : sender.contexts) {
    text += text.empty() ? "" : ", ";
    text += context % 2 == 1 ? "collectives of " : "";
    text += context < 2 ? "MPI_COMM_WORLD" : "communicator " + std::to_string(context / 2);
  }
  return text;
}

std::string describe_sender(const Sender& sender) {
  std::string text = std::to_string(sender.messages) + " from rank " + std::to_string(sender.rank);
  const bool one = sender.lowest_tag == sender.highest_tag;
  text += (one ? " (tag " : " (tags ") + std::to_string(sender.lowest_tag);
  if (!one) text += " to " + std::to_string(sender.highest_tag);
  text += ", " + communicators_of(sender);
  return text + (sender.is_held_back ? "; its sends are held back)" : ")");
}

}  // namespace

void Core::drop_kept(MatchNode* message) {
  channel_.unexpected.remove(message);
  --flood_.messages;
  flood_.bytes -= static_cast<Message*>(message)->bytes;
  // relaxed: the daemon samples, as it does of the watch record.
  kept_record_.messages.store(flood_.messages, std::memory_order_relaxed);
  kept_record_.bytes.store(flood_.bytes, std::memory_order_relaxed);
}

// One more is kept.
void Core::count_kept() {
  const std::uint64_t messages = flood_.messages;
  kept_record_.messages.store(messages, std::memory_order_relaxed);
  kept_record_.bytes.store(flood_.bytes, std::memory_order_relaxed);
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
void Core::repay(Message& message) {
  const bool is_eager = message.header.kind == static_cast<std::uint8_t>(Kind::eager);
  std::uint8_t& flags = message.header.flags;
  if (!is_eager || bytes_.in_use() > kept_budget()) return;
  PeerState& sender = peer(message.from);
  if ((flags & kUntilKept) != 0) {
    queue_control(sender, Kind::taken, 0, high_of(message.header.cookie));
    flags &= static_cast<std::uint8_t>(~(kWantsTaken | kUntilKept));
  }
  if ((flags & kFree) == 0) consumed(sender, message.bytes);
  flags |= kRepaid;
}

std::uint64_t Core::kept_budget() {
  if (bytes_.in_use() <= budget_ || is_budget_known_) return budget_;
  is_budget_known_ = true;
  const std::uint64_t left = topo::memory_left();
  budget_ =
      std::max(budget_, left / kMemoryPart / static_cast<std::uint64_t>(wireup_.local_size()));
  return budget_;
}

void Core::tell_flood() {
  flood_.from = 0;  // once
  wireup_.remark(describe_flood());
}

std::string Core::describe_flood() const {
  std::map<int, Sender> by_rank;
  const auto count = [&](const Message* message) {
    const auto [at, fresh] = by_rank.try_emplace(message->from);
    Sender& sender = at->second;
    sender.rank = message->from;
    if (fresh) sender.lowest_tag = sender.highest_tag = message->tag;
    sender.lowest_tag = std::min(sender.lowest_tag, message->tag);
    sender.highest_tag = std::max(sender.highest_tag, message->tag);
    sender.contexts.insert(message->context);
    ++sender.messages;
    // Sent without credit: what its sender may leave here is used up.
    const bool is_eager = message->header.kind == static_cast<std::uint8_t>(Kind::eager);
    const PeerState* const peer = peers_[static_cast<std::size_t>(message->from)].get();
    if (is_eager ? (message->header.flags & kOwesNothing) == kFree
                 : peer != nullptr && peer->routed && message->header.length <= peer->eager_bytes)
      sender.is_held_back = true;
  };
  for (MatchNode* node = channel_.unexpected.oldest(); node != nullptr; node = node->newer)
    count(static_cast<const Message*>(node));
  std::vector<Sender> senders;
  for (const auto& [rank, sender] : by_rank) senders.push_back(sender);
  std::stable_sort(senders.begin(), senders.end(),
                   [](const Sender& a, const Sender& b) { return a.messages > b.messages; });
  const auto rank = static_cast<std::uint32_t>(wireup_.rank());
  const auto host = static_cast<std::uint32_t>(wireup_.segment().place(rank).host);
  std::string text = "rank " + std::to_string(rank) + " on host " +
                     wireup_.segment().host(host).name +
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
