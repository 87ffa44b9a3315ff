// The rank's side of its daemon's door (protocol.h). Private to wireup.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wireup/protocol.h"

namespace tutti::wireup {

struct Entered {
  UniqueFd segment;
  UniqueFd control;
};

// Asks for the descriptors of a rank of this host, with the key that its environment holds.
Result<Entered> enter_door(const std::string& path, const std::string& key, int local,
                           DoorWish wish);

}  // namespace tutti::wireup
