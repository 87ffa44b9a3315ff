// A frame on its way through the fake net.
#pragma once

#include <cstddef>
#include <vector>

#include "transport/transport.h"

namespace tutti::test {

inline constexpr std::size_t kLongFrame = 512;  // payloads from here on are placed or lent

struct Flying {
  transport::FrameHeader header;
  std::vector<std::byte> bytes;  // copied payload, unless pinned
  const std::byte* pinned = nullptr;
  std::size_t size = 0;
  Done* done = nullptr;  // of the sender, fired by the sender's progress
  int rounds = 0;        // still to wait
};

}  // namespace tutti::test
