// by_device: pack, unpack and copy of memory that is not the host's. The first three have the
// device do it and wait for the end. Private to types.
#pragma once

#include "types/types.h"

namespace tutti::types {

void pack_by_device(const Buffer& from, Count offset, std::span<std::byte> out);
void unpack_by_device(const Buffer& into, Count offset, std::span<const std::byte> in);
void copy_by_device(const Buffer& from, const Buffer& into);
// Through host memory, a few chunks at a time, where no device does it alone. relay.cc
void begin_relay(const Buffer& from, const Buffer& into, Done* done);

}  // namespace tutti::types
