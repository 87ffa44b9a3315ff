// The addresses of a rank, which travel once, as one blob: for each transport that needs one
//   | name length, 1 byte | name | address length, 1 byte | address |
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "transport/transport.h"

namespace tutti::p2p {

Result<Blob> pack_addresses(const transport::Opened& opened);
// Nothing: there is none for this transport.
std::optional<BlobView> find_address(BlobView all, std::string_view wanted);

}  // namespace tutti::p2p
