// told: what the kernel of told.cu is told.
#pragma once

#include <cstdint>

namespace gpu {

struct ToldParams {
  char* to;
  const char* from;
  std::int64_t bytes;
  std::uint32_t* word;  // in pinned memory
  std::uint32_t number;
};

}  // namespace gpu
