// tcp: authenticated connections over Ethernet, one per pair of ranks that talk.
#pragma once

#include "transport/opened.h"

namespace tutti::transport::tcp {

Result<std::unique_ptr<Transport>> open(const Surroundings& around);

}  // namespace tutti::transport::tcp
