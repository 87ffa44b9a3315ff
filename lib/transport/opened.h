// opened: what every transport's folder offers to order.cc, and the words of TUTTI_LINK.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace tutti::transport {

// The links a user named, in order of preference; empty: all, in our order.
std::vector<std::string> named_links(const Knobs& knobs);
// Whether `name` may be used: nothing was named, or it was.
bool allows(const std::vector<std::string>& named, const char* name);

}  // namespace tutti::transport
