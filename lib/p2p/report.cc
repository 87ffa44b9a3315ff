// What an endpoint says about its links and what it has done.
#include "p2p/core.h"

namespace tutti::p2p {

Counters Core::counters() const {
  Counters now = counted_;
  for (const auto& peer : peers_) {
    if (peer == nullptr) continue;
    now.messages_sent += peer->messages_sent;
    now.bytes_sent += peer->bytes_sent;
  }
  now.unexpected_now = flood_.messages();
  now.unexpected_bytes_now = bytes_.in_use();
  now.posted_now = channel_.posted.size();
  return now;
}

transport::Traits Core::traits(int rank) {
  if (const auto& known = peers_[static_cast<std::size_t>(rank)]; known && known->routed)
    return known->traits;
  const auto picked = transport::pick(opened_, describe(rank), knobs_);
  if (picked) return picked->ordered.traits;
  transport::Traits none;
  none.why = picked.error().text;
  return none;
}

std::string Core::link_name(int rank) {
  const auto picked = transport::pick(opened_, describe(rank), knobs_);
  return picked ? opened_.transports[picked->ordered.index]->name() : "none";
}

std::string Core::links_text() {
  std::string text, link;  // of the peers from `first` on
  int first = 0;
  for (int rank = 0; rank <= wireup_.known(); ++rank) {
    const bool is_end = rank == wireup_.known();
    const std::string its = is_end ? "" : link_name(rank) + "\t" + traits(rank).why + "\n";
    if (its == link) continue;
    if (rank > first) text += std::to_string(first) + "-" + std::to_string(rank - 1) + "\t" + link;
    first = rank;
    link = its;
  }
  for (const std::string& each : opened_.left_out) text += "-\tnot used\t" + each + "\n";
  if (!opened_.unnamed.empty())
    text += "-\tnot used\t" + transport::unnamed_text(opened_, knobs_) + "\n";
  return text;
}

std::string Core::gpu_links_text() {
  const auto name = [this](int rank) {
    return wireup_.host_name_of(rank) + " " + std::to_string(rank);
  };
  std::string text;
  for (const auto& peer : peers_) {
    if (peer == nullptr) continue;
    if (peer->takes_moved)
      text += name(wireup_.rank()) + " -> " + name(peer->rank) + ": " +
              opened_.transports[peer->transport]->name() + ": GPU memory by UCX\n";
    if (peer->takes_staged)
      text += name(wireup_.rank()) + " -> " + name(peer->rank) +
              ": staged: " + opened_.transports[peer->transport]->name() + " carries host memory\n";
    if (!peer->why_staged.empty())
      text += name(wireup_.rank()) + " -> " + name(peer->rank) +
              ": partly staged: " + peer->why_staged + "\n";
    for (const BulkLink& each : peer->readers) {
      const auto& reader = *opened_.transports[each.picked.index];
      const std::string why = reader.traits(describe(peer->rank)).why;
      if (why.empty()) continue;
      const bool is_staged = why.rfind("staged", 0) == 0;
      text += name(peer->rank) + " -> " + name(wireup_.rank()) + ": " +
              (is_staged ? "" : std::string(reader.name()) + ", ") + why + "\n";
    }
  }
  return text;
}

std::string Core::sent_text() const {
  std::string text;
  for (const auto& peer : peers_) {
    if (peer == nullptr || peer->messages_sent == 0) continue;
    text += std::to_string(peer->rank) + "\t" + opened_.transports[peer->transport]->name() + "\t" +
            std::to_string(peer->messages_sent) + "\t" + std::to_string(peer->bytes_sent) + "\n";
  }
  return text;
}

}  // namespace tutti::p2p
