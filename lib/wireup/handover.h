// Handing a segment to the other ranks of a host, over a Unix socket without a name in any file
// system. Private to wireup.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace tutti::wireup {

// Gives `fd` to so many processes of this user; waits for them, a minute at most.
Result<void> hand_out(const std::string& name, int fd, int takers);
// Waits for it, a minute at most.
Result<UniqueFd> take_from(const std::string& name,
                           std::chrono::seconds limit = std::chrono::seconds(60));

}  // namespace tutti::wireup
