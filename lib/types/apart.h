// apart: what pack.cc hands to a device, waiting. Private to types.
#pragma once

#include "types/types.h"

namespace tutti::types {

void pack_apart(const Buffer& from, Count offset, std::span<std::byte> out);
void unpack_apart(const Buffer& into, Count offset, std::span<const std::byte> in);
void copy_apart(const Buffer& from, const Buffer& into);  // both of one device

}  // namespace tutti::types
