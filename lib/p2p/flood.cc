// Messages that nobody asks for: counted where the daemon sees them, and told once when they are
// many, since a rank that is flooded is slow, and so is who sends to it, without any error.
#include "p2p/flood.h"

#include <algorithm>
#include <map>
#include <new>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/contexts.h"
#include "base/text.h"
#include "topo/topo.h"

namespace tutti::p2p {
namespace {

constexpr std::uint64_t kPart = 8;  // a rise is timed from this part of the limit on
constexpr std::uint64_t kMemoryPart =
    8;  // of the host's memory, for messages kept by all its ranks
constexpr std::uint64_t kBytesEach = 4 << 10;  // messages as long as this are many sooner
constexpr std::size_t kMostNamed = 4;
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
    text += is_of_collectives(context) ? "collectives of " : "";
    text += communicator_text(context);
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

Flood::Flood(wireup::Wireup& wireup, const Knobs& knobs)
    : wireup_(wireup),
      record_(wireup.segment().local(static_cast<std::uint32_t>(wireup.local_rank())).kept),
      from_(static_cast<std::uint64_t>(knobs.integer("TUTTI_FLOOD_MESSAGES"))),
      allowed_(static_cast<std::uint64_t>(knobs.integer("TUTTI_UNEXPECTED_BYTES"))),
      // Who says how much a peer may leave here means it. Else memory decides, when that much is
      // here.
      is_budget_known_(knobs.is_set("TUTTI_UNEXPECTED_BYTES")) {
  if (!is_budget_known_) budget_ = allowed_;
}

// relaxed: the daemon samples, as it does of the watch record.
void Flood::record() const {
  record_.messages.store(messages_, std::memory_order_relaxed);
  record_.bytes.store(bytes_, std::memory_order_relaxed);
  record_.waiting.store(waiting_, std::memory_order_relaxed);
}

void Flood::remove(const KeptMessage& message) {
  --messages_;
  bytes_ -= message.bytes;
  if ((message.header.flags & kUntilKept) != 0) --waiting_;
  record();
}

void Flood::add(const KeptMessage& message, const MatchQueue& kept, std::uint64_t received) {
  ++messages_;
  bytes_ += message.bytes;
  if ((message.header.flags & kUntilKept) != 0) ++waiting_;
  record();
  if (from_ == 0) return;
  if (messages_ == std::max<std::uint64_t>(1, from_ / kPart)) [[unlikely]] {
    began_ns_ = now_ns();
    received_ = received;
  }
  if (messages_ < from_ && bytes_ < from_ * kBytesEach) [[likely]]
    return;
  from_ = 0;  // once
  try {
    wireup_.remark(describe(kept, received));
  } catch (const std::bad_alloc&) {  // then nobody is told
  }
}

bool Flood::has_room(std::uint64_t bytes) {
  if (bytes <= budget_ || is_budget_known_) return bytes <= budget_;
  std::uint64_t left = 0;
  try {
    left = topo::memory_left();
  } catch (const std::bad_alloc&) {  // not even to ask
    return false;
  }
  is_budget_known_ = true;
  budget_ =
      std::max(budget_, left / kMemoryPart / static_cast<std::uint64_t>(wireup_.local_size()));
  return bytes <= budget_;
}

std::string Flood::describe(const MatchQueue& kept, std::uint64_t received) const {
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
  for (MatchNode* node = kept.oldest(); node != nullptr; node = node->newer)
    count(static_cast<const KeptMessage*>(node));
  std::vector<FloodingSender> senders;
  for (const auto& [rank, sender] : by_rank) senders.push_back(sender);
  std::stable_sort(
      senders.begin(), senders.end(),
      [](const FloodingSender& a, const FloodingSender& b) { return a.messages > b.messages; });
  std::string text = wireup_.name_of(wireup_.rank()) + " is flooded: " + std::to_string(messages_) +
                     " messages (" + text::format_bytes(bytes_) + ") wait for a receive";
  if (began_ns_ != 0) {
    const std::uint64_t since = received - received_;
    text += "; in the last " + std::to_string((now_ns() - began_ns_) / 1'000'000) +
            " ms it received " + (since == 0 ? "none" : std::to_string(since));
  }
  for (std::size_t i = 0; i < std::min(senders.size(), kMostNamed); ++i)
    text += "\n    " + describe_sender(senders[i]);
  if (senders.size() > kMostNamed)
    text += "\n    and from " + std::to_string(senders.size() - kMostNamed) + " more ranks";
  return text + "\n    (TUTTI_FLOOD_MESSAGES; this is told once, and the job goes on)";
}

}  // namespace tutti::p2p
