// functions: those of libnccl that we call, from the copy that the loader finds.
#pragma once

#include <nccl.h>

#include <string>

#include "base/result.h"

namespace tutti::delegate::nccl {

#define TUTTI_NCCL_FUNCTIONS(X) \
  X(ncclGetVersion)             \
  X(ncclGetUniqueId)            \
  X(ncclCommInitRankConfig)     \
  X(ncclCommFinalize)           \
  X(ncclCommDestroy)            \
  X(ncclCommAbort)              \
  X(ncclCommGetAsyncError)      \
  X(ncclGetErrorString)         \
  X(ncclGetLastError)           \
  X(ncclGroupStart)             \
  X(ncclGroupEnd)               \
  X(ncclAllReduce)              \
  X(ncclReduce)                 \
  X(ncclBroadcast)              \
  X(ncclAllGather)              \
  X(ncclReduceScatter)          \
  X(ncclSend)                   \
  X(ncclRecv)

struct Functions {
#define TUTTI_NCCL_MEMBER(name) decltype(&::name) name = nullptr;
  TUTTI_NCCL_FUNCTIONS(TUTTI_NCCL_MEMBER)
#undef TUTTI_NCCL_MEMBER
  int version = 0;  // 22809: 2.28.9

  // Errors: there is none, or it is too old for calls that do not block.
  static Result<Functions> open();
  std::string version_text() const;
  // "unhandled cuda error: what it said last"
  std::string text_of(ncclResult_t result, ncclComm_t comm) const;
};

}  // namespace tutti::delegate::nccl
