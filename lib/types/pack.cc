// pack.cc: moving messages between their memory layout and the packed stream, by walks over their
// layout (walk.h). Nothing here allocates.
#include <algorithm>
#include <array>
#include <cstring>

#include "types/by_device.h"
#include "types/far.h"
#include "types/walk.h"

namespace tutti::types {

namespace {

// Two copies that may overlap cover every length from kBytes to twice that.
template <std::size_t kBytes>
[[gnu::always_inline]] inline void copy_ends(std::byte* to, const std::byte* from,
                                             std::size_t bytes) {
  std::byte head[kBytes], tail[kBytes];
  std::memcpy(head, from, kBytes);
  std::memcpy(tail, from + bytes - kBytes, kBytes);
  std::memcpy(to, head, kBytes);
  std::memcpy(to + bytes - kBytes, tail, kBytes);
}

// One run of an irregular layout: short ones without a call, which would cost more than they.
[[gnu::always_inline]] inline void copy_run(std::byte* to, const std::byte* from,
                                            std::size_t bytes) {
  if (bytes >= 8) {
    if (bytes <= 16) return copy_ends<8>(to, from, bytes);
    if (bytes <= 32) return copy_ends<16>(to, from, bytes);
    if (bytes <= 64) return copy_ends<32>(to, from, bytes);
    std::memcpy(to, from, bytes);
  } else if (bytes >= 4) {
    copy_ends<4>(to, from, bytes);
  } else if (bytes >= 2) {
    copy_ends<2>(to, from, bytes);
  } else if (bytes == 1) {
    *to = *from;
  }
}

template <std::size_t kBytes>
void copy_fixed(std::byte* to, Count to_stride, const std::byte* from, Count from_stride,
                Count count) {
  for (Count i = 0; i < count; ++i) {
    std::memcpy(to, from, kBytes);
    to += to_stride;
    from += from_stride;
  }
}

// By a copy for their length, if there is one.
void copy_near(std::byte* to, const std::byte* from, const FarBlocks& blocks) {
  const auto [length, n, to_stride, from_stride] = blocks;
  switch (length) {
    case 1:
      return copy_fixed<1>(to, to_stride, from, from_stride, n);
    case 2:
      return copy_fixed<2>(to, to_stride, from, from_stride, n);
    case 4:
      return copy_fixed<4>(to, to_stride, from, from_stride, n);
    case 8:
      return copy_fixed<8>(to, to_stride, from, from_stride, n);
    case 12:
      return copy_fixed<12>(to, to_stride, from, from_stride, n);
    case 16:
      return copy_fixed<16>(to, to_stride, from, from_stride, n);
    case 24:
      return copy_fixed<24>(to, to_stride, from, from_stride, n);
    case 32:
      return copy_fixed<32>(to, to_stride, from, from_stride, n);
    case 48:
      return copy_fixed<48>(to, to_stride, from, from_stride, n);
    case 64:
      return copy_fixed<64>(to, to_stride, from, from_stride, n);
    case 128:
      return copy_fixed<128>(to, to_stride, from, from_stride, n);
    default:
      break;
  }
  const auto bytes = static_cast<std::size_t>(length);
  for (Count i = 0; i < n; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, bytes);
}

void copy_blocks(std::byte* to, Count to_stride, const std::byte* from, Count from_stride,
                 const BlockRow& blocks) {
  const FarBlocks all{blocks.bytes, blocks.count, to_stride, from_stride};
  if (to_stride == blocks.bytes && from_stride == blocks.bytes)
    std::memcpy(to, from, static_cast<std::size_t>(blocks.count * blocks.bytes));
  else if (are_far(all)) [[unlikely]]
    copy_far(to, from, all, copy_near);
  else
    copy_near(to, from, all);
}

// Sinks: `stream` is the place in the packed stream where the walk began, or the position
// in it; they take blocks in any order inside one element, else in stream order.
struct Packer {
  static constexpr bool kOrdered = false;
  static constexpr bool kInCaches = true;
  std::byte* stream;
  void take(std::byte* memory, Count position, const BlockRow& blocks) const {
    copy_blocks(stream + position, blocks.stream_stride, memory, blocks.stride, blocks);
  }
  void take_run(std::byte* memory, Count position, Count bytes) const {
    copy_run(stream + position, memory, static_cast<std::size_t>(bytes));
  }
  static bool is_full() { return false; }
};

struct Unpacker {
  static constexpr bool kOrdered = false;
  static constexpr bool kInCaches = true;
  const std::byte* stream;
  void take(std::byte* memory, Count position, const BlockRow& blocks) const {
    copy_blocks(memory, blocks.stride, stream + position, blocks.stream_stride, blocks);
  }
  void take_run(std::byte* memory, Count position, Count bytes) const {
    copy_run(memory, stream + position, static_cast<std::size_t>(bytes));
  }
  static bool is_full() { return false; }
};

// Lists runs as pieces, joined where they touch.
struct Lister {
  static constexpr bool kOrdered = true;
  static constexpr bool kInCaches = true;
  std::span<Piece> out;
  std::size_t used = 0;
  Count covered = 0;
  bool full = false;

  void take(std::byte* memory, Count, const BlockRow& blocks) {
    const auto bytes = static_cast<std::size_t>(blocks.bytes);
    for (Count i = 0; i < blocks.count && !full; ++i) add(memory + i * blocks.stride, bytes);
  }
  void take_run(std::byte* memory, Count, Count bytes) {
    add(memory, static_cast<std::size_t>(bytes));
  }
  void add(std::byte* at, std::size_t bytes) {
    if (used > 0 && out[used - 1].data + out[used - 1].bytes == at) {
      out[used - 1].bytes += bytes;
    } else if (used < out.size()) {
      out[used++] = {at, bytes};
    } else {
      full = true;
      return;
    }
    covered += static_cast<Count>(bytes);
  }
  bool is_full() const { return full; }
};

}  // namespace

void pack(const Buffer& from, Count offset, std::span<std::byte> out) {
  if (out.empty()) return;
  if (from.is_contiguous()) {
    std::memcpy(out.data(), from.at() + offset, out.size());
    return;
  }
  if (from.device != nullptr) [[unlikely]]
    return pack_by_device(from, offset, out);
  Packer sink{out.data()};
  walk(from, offset, static_cast<Count>(out.size()), sink);
}

void unpack(const Buffer& into, Count offset, std::span<const std::byte> in) {
  if (in.empty()) return;
  if (into.is_contiguous()) {
    std::memcpy(into.at() + offset, in.data(), in.size());
    return;
  }
  if (into.device != nullptr) [[unlikely]]
    return unpack_by_device(into, offset, in);
  Unpacker sink{in.data()};
  walk(into, offset, static_cast<Count>(in.size()), sink);
}

std::size_t pieces(const Buffer& buffer, Count offset, std::span<Piece> out, Count* bytes) {
  *bytes = 0;
  const Count left = buffer.bytes - offset;
  if (left <= 0 || out.empty()) return 0;
  if (buffer.is_one_run()) {
    out[0] = {buffer.at() + offset, static_cast<std::size_t>(left)};
    *bytes = left;
    return 1;
  }
  Lister sink{out};
  walk(buffer, offset, left, sink);
  *bytes = sink.covered;
  return sink.used;
}

}  // namespace tutti::types
