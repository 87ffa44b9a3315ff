// self: messages of a rank to itself.
#pragma once

#include "transport/opened.h"

namespace tutti::transport::self {

Result<std::unique_ptr<Transport>> open(const Surroundings& around);

}  // namespace tutti::transport::self
