// Which links serve a peer: the first that reaches it, in the order a user named links in
// TUTTI_LINK ("tcp", "shm,ucx"), else in ours, is the ordered one; further ones that carry bulk
// data may carry some. `self` needs no naming, and nothing beside it.
#include <cstring>
#include <iterator>

#include "base/check.h"
#include "base/text.h"
#include "transport/opened.h"

namespace tutti::transport {
namespace {

std::string describe(const Peer& peer) {
  return "rank " + std::to_string(peer.rank) + " (host " + std::to_string(peer.host) + ")";
}

bool is_self(const Transport& transport) {
  return std::strcmp(transport.name(), "self") == 0;
}

std::string reason_of(const Transport& transport, const Peer& peer) {
  const std::string name = transport.name();
  const Traits traits = transport.traits(peer);
  return name + ": " +
         (traits.reaches
              ? "sends no messages, only reads GPU memory: name another link, too (shm," + name +
                    ")"
              : traits.why);
}

// First what the user can change.
Result<Route> none_reaches(const Opened& opened, const Peer& peer, const Knobs& knobs) {
  std::vector<std::string> reasons;
  if (!opened.unnamed.empty()) reasons.push_back(unnamed_text(opened, knobs));
  reasons.insert(reasons.end(), opened.left_out.begin(), opened.left_out.end());
  for (const auto& each : opened.transports)
    if (!is_self(*each)) reasons.push_back(reason_of(*each, peer));
  std::string text = "no link reaches " + describe(peer);
  for (std::size_t i = 0; i < reasons.size(); ++i) text += (i == 0 ? ": " : "; ") + reasons[i];
  return fail(Code::other, text + "; 'prun --report-links' shows the matrix");
}

}  // namespace

std::vector<std::string> named_links(const Knobs& knobs) {
  std::vector<std::string> names;
  for (const std::string& part : text::split(knobs.text("TUTTI_LINK"), ',')) {
    const std::string name(text::trim(part));
    if (name == "auto") return {};
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

bool allows(const std::vector<std::string>& named, const char* name) {
  if (named.empty()) return true;
  for (const std::string& one : named)
    if (one == name) return true;
  return false;
}

std::string unnamed_text(const Opened& opened, const Knobs& knobs) {
  std::string text = "TUTTI_LINK=" + knobs.text("TUTTI_LINK") + " leaves out ";
  for (std::size_t i = 0; i < opened.unnamed.size(); ++i)
    text += (i == 0 ? "" : ", ") + opened.unnamed[i];
  return text;
}

// A link is ordered or bulk by its place: the first that reaches a peer keeps the order of its
// messages, further ones carry data where their traits say so.
Result<Route> pick(const Opened& opened, const Peer& peer, const Knobs& knobs) {
  const auto& transports = opened.transports;
  const std::vector<std::string> named = named_links(knobs);
  std::vector<Picked> reaching, readers;
  const auto try_name = [&](const char* name) {
    for (std::size_t i = 0; i < transports.size(); ++i) {
      if (name != nullptr && std::strcmp(transports[i]->name(), name) != 0) continue;
      Traits traits = transports[i]->traits(peer);
      if (name != nullptr && !named.empty()) traits.why += ", named by TUTTI_LINK";
      if (!traits.reaches) continue;
      const bool has_ordered = !reaching.empty();
      if (traits.is_rail && (!has_ordered || std::strcmp(transports[reaching.front().index]->name(),
                                                         transports[i]->name()) != 0))
        continue;
      if (traits.max_frame == 0)
        readers.push_back({i, std::move(traits)});
      else if (!has_ordered || traits.bulk_from != kNever)
        reaching.push_back({i, std::move(traits)});
    }
  };
  for (std::size_t i = 0; i < transports.size(); ++i)
    if (is_self(*transports[i]))
      if (Traits traits = transports[i]->traits(peer); traits.reaches)
        return Route{{i, std::move(traits)}, {}, {}};
  if (named.empty()) try_name(nullptr);
  for (const std::string& name : named) try_name(name.c_str());
  if (reaching.empty()) return none_reaches(opened, peer, knobs);
  Route route{std::move(reaching.front()), {}, std::move(readers)};
  route.bulk.assign(std::make_move_iterator(reaching.begin() + 1),
                    std::make_move_iterator(reaching.end()));
  return route;
}

// The rule by size and kinds of memory: it is long enough for this link, which reads the one kind
// and writes the other.
bool carries(const Traits& bulk, std::uint64_t bytes, MemoryKind from, MemoryKind to) {
  const MemoryKinds both = kinds_of(from) | kinds_of(to);
  return bytes >= bulk.bulk_from && (bulk.kinds & both) == both;
}

void Transport::drop(int peer) {
  TUTTI_CHECK(false, std::string(name()) + " serves rank " + std::to_string(peer) +
                         " with bulk links and cannot drop it");
}

}  // namespace tutti::transport
