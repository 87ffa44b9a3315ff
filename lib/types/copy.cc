// copy: a message into another one, whatever their layouts and memory.
#include <algorithm>
#include <array>

#include "types/by_device.h"
#include "types/types.h"

namespace tutti::types {

Count copy(const Buffer& from, const Buffer& into) {
  const Count bytes = std::min(from.bytes, into.bytes);
  const auto length = static_cast<std::size_t>(bytes);
  if (into.is_contiguous()) {
    pack(from, 0, {into.at(), length});
    return bytes;
  }
  if (from.is_contiguous()) {
    unpack(into, 0, {from.at(), length});
    return bytes;
  }
  if (from.device != nullptr || into.device != nullptr) [[unlikely]] {
    copy_by_device(from, into);
    return bytes;
  }
  std::array<std::byte, 8192> chunk;
  for (Count done = 0; done < bytes;) {
    const Count some = std::min<Count>(bytes - done, chunk.size());
    pack(from, done, {chunk.data(), static_cast<std::size_t>(some)});
    unpack(into, done, {chunk.data(), static_cast<std::size_t>(some)});
    done += some;
  }
  return bytes;
}

}  // namespace tutti::types
