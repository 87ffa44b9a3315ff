// sealed: what a stream has besides where its link is protected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/tcp/stream.h"

namespace tutti::transport::tcp {

struct Stream::Sealed {
  explicit Sealed(const LinkSession& session);
  Seal seal, opens;
  std::vector<std::byte> out;  // one record
  std::size_t out_bytes = 0, out_sent = 0;
  std::vector<std::byte> in;  // what has arrived lies from begin to end
  std::size_t begin = 0, end = 0;
  bool is_opened = false;  // the frame that arrives, of which all is there, but not delivered
  std::byte* opened = nullptr;
  std::int64_t sent_ns;
  std::size_t stills = 0;  // sent since the last frame
};

}  // namespace tutti::transport::tcp
