// handles.h: predefined handles of the standard ABI that rooms name themselves (part of this
// room's door).
#pragma once

#include "base/slots.h"

namespace tutti::types::abi {

inline constexpr Handle kNullOp = 0x20;  // those of operations begin here
inline constexpr Handle kSum = 0x21, kMin = 0x22, kMax = 0x23, kProduct = 0x24;
inline constexpr Handle kBitAnd = 0x28, kBitOr = 0x29, kBitXor = 0x2a;
inline constexpr Handle kAnd = 0x30, kOr = 0x31, kXor = 0x32;
inline constexpr Handle kMinLoc = 0x38, kMaxLoc = 0x39;
inline constexpr Handle kReplace = 0x3c, kNoOp = 0x3d;

inline constexpr Handle kLong = 0x20a, kUnsignedLong = 0x20e;
inline constexpr Handle kFloat = 0x210, kFloatComplex = 0x212;
inline constexpr Handle kLongInt = 0x22a;
inline constexpr Handle kWideCharacter = 0x23c;
inline constexpr Handle kByte = 0x247;
inline constexpr Handle kInt32 = 0x250, kInt64 = 0x258;

}  // namespace tutti::types::abi
