// Fingerprint of a collective call: 32 bits that every member must say alike, and that can be
// turned back into words when two differ ("allreduce of 4 KiB with sum").
#pragma once

#include <cstdint>
#include <string>

#include "comm/comm.h"

namespace tutti::comm {

// collective + 1: 4 bits; op: 5 bits (0: none, 31: user's); root, or the type of a reduction that
// has none: 7 bits; bytes: 16 bits, six of exponent and ten of mantissa.
std::uint32_t fingerprint_of(coll::Collective collective, const types::Op* op, int root,
                             Count bytes, const types::Datatype* type = nullptr);
bool has_root(coll::Collective collective);
// Neighbours need not say alike how much.
std::uint32_t neighbour_fingerprint(coll::Collective collective);
std::string describe_fingerprint(std::uint32_t fingerprint);

}  // namespace tutti::comm
