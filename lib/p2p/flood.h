// What is kept of messages that nobody asked for yet, counted (flood.cc).
#pragma once

#include <cstdint>

namespace tutti::p2p {

struct Flood {
  std::uint64_t from = 0;      // so many are told; 0: never
  std::uint64_t messages = 0;  // that are kept
  std::uint64_t bytes = 0;     // payload of all of them
  std::uint64_t waiting = 0;   // whose senders wait for room
  std::int64_t began_ns = 0;   // when the last rise to a part of `from` began
  std::uint64_t received = 0;  // messages received before that
};

}  // namespace tutti::p2p
