// How much fits the caches.
#include "base/stream_copy.h"

#include <unistd.h>

#include <algorithm>

namespace tutti {
namespace {

constexpr std::size_t kMostCache = std::size_t{32} << 20;

}  // namespace

std::size_t last_level_cache() {
  const long bytes = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? std::min(static_cast<std::size_t>(bytes), kMostCache) : kMostCache;
}

}  // namespace tutti
