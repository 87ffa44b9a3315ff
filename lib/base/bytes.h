// Blob: bytes that one room hands to another without looking inside (addresses, keys).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti {

using Blob = std::vector<std::byte>;
using BlobView = std::span<const std::byte>;

inline constexpr std::size_t kCacheLine = 64;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace tutti
