// pace: how long a chunk of host memory is that copies go through.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti::device::cuda {

inline constexpr std::array<std::size_t, 4> kChunks = {64 << 10, 128 << 10, 256 << 10, 512 << 10};

// The shortest one whose rate is nearly the best, since a pipeline of short ones begins earlier.
// `took`: ns that a copy of each took.
std::size_t chunk_by(const std::array<std::int64_t, kChunks.size()>& took);

}  // namespace tutti::device::cuda
