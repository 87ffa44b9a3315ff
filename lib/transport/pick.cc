// Which transport serves a peer: the first that reaches it, in the order a user named links in
// TUTTI_LINK ("tcp", "shm,ucx"), else in ours. `self` needs no naming.
#include <cstring>
#include <optional>

#include "base/text.h"
#include "transport/opened.h"

namespace tutti::transport {
namespace {

std::string describe(const Peer& peer) {
  return "rank " + std::to_string(peer.rank) + " (host " + std::to_string(peer.host) + ")";
}

Result<Picked> none_reaches(std::span<const std::unique_ptr<Transport>> transports,
                            const Peer& peer, const Knobs& knobs) {
  std::string text = "no link reaches " + describe(peer);
  if (knobs.is_set("TUTTI_LINK")) text += " with TUTTI_LINK=" + knobs.text("TUTTI_LINK");
  for (std::size_t i = 0; i < transports.size(); ++i)
    text += (i == 0 ? ": " : "; ") + std::string(transports[i]->name()) + ": " +
            transports[i]->traits(peer).why;
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

Result<Picked> pick(std::span<const std::unique_ptr<Transport>> transports, const Peer& peer,
                    const Knobs& knobs) {
  const std::vector<std::string> named = named_links(knobs);
  const auto try_name = [&](const char* name) -> std::optional<Picked> {
    for (std::size_t i = 0; i < transports.size(); ++i) {
      if (name != nullptr && std::strcmp(transports[i]->name(), name) != 0) continue;
      Traits traits = transports[i]->traits(peer);
      if (traits.reaches) return Picked{i, std::move(traits)};
    }
    return std::nullopt;
  };
  if (auto own = try_name("self")) return std::move(*own);
  if (named.empty())
    if (auto picked = try_name(nullptr)) return std::move(*picked);
  for (const std::string& name : named)
    if (auto picked = try_name(name.c_str())) {
      picked->traits.why += ", named by TUTTI_LINK";
      return std::move(*picked);
    }
  return none_reaches(transports, peer, knobs);
}

}  // namespace tutti::transport
