// Addresses of several transports in one blob.
#include "p2p/addresses.h"

#include <span>
#include <string>

namespace tutti::p2p {

Result<Blob> pack_addresses(const transport::Opened& opened) {
  Blob all;
  for (const auto& each : opened.transports) {
    const Blob address = each->address();
    if (address.empty()) continue;
    const std::string_view name = each->name();
    if (address.size() > 255)
      return fail(Code::intern, "the address of " + std::string(name) + " is too long");
    const BlobView text = std::as_bytes(std::span(name));
    all.push_back(static_cast<std::byte>(name.size()));
    all.insert(all.end(), text.begin(), text.end());
    all.push_back(static_cast<std::byte>(address.size()));
    all.insert(all.end(), address.begin(), address.end());
  }
  return all;
}

std::optional<BlobView> find_address(BlobView all, std::string_view wanted) {
  while (all.size() > 1) {
    const std::size_t name_bytes = std::to_integer<std::size_t>(all[0]);
    if (all.size() < name_bytes + 2) break;
    const std::string_view name(reinterpret_cast<const char*>(all.data() + 1), name_bytes);
    const std::size_t bytes = std::to_integer<std::size_t>(all[name_bytes + 1]);
    all = all.subspan(name_bytes + 2);
    if (all.size() < bytes) break;
    if (name == wanted) return all.first(bytes);
    all = all.subspan(bytes);
  }
  return std::nullopt;
}

}  // namespace tutti::p2p
