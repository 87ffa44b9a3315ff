// Our types and operations as NCCL's.
#pragma once

#include <nccl.h>

#include <optional>

#include "types/handles.h"
#include "types/types.h"

namespace tutti::delegate::nccl {

inline std::optional<ncclDataType_t> type_of(const types::Datatype& type) {
  if (!type.is_basic()) return std::nullopt;
  switch (type.element()) {
    case types::Element::int8:
      return ncclInt8;
    case types::Element::uint8:
      return ncclUint8;
    case types::Element::int32:
      return ncclInt32;
    case types::Element::uint32:
      return ncclUint32;
    case types::Element::int64:
      return ncclInt64;
    case types::Element::uint64:
      return ncclUint64;
    case types::Element::float16:
      return ncclFloat16;
    case types::Element::bfloat16:
      return ncclBfloat16;
    case types::Element::float32:
      return ncclFloat32;
    case types::Element::float64:
      return ncclFloat64;
    default:
      return std::nullopt;
  }
}

inline std::optional<ncclRedOp_t> operation_of(const types::Op& op) {
  switch (op.handle()) {
    case types::abi::kSum:
      return ncclSum;
    case types::abi::kMin:
      return ncclMin;
    case types::abi::kMax:
      return ncclMax;
    case types::abi::kProduct:
      return ncclProd;
    default:
      return std::nullopt;
  }
}

}  // namespace tutti::delegate::nccl
