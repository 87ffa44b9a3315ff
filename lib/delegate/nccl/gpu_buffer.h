// gpu_buffer: memory of ours on a GPU, for vectors that calls by levels have half done.
#pragma once

#include "delegate/gpu_library.h"

namespace tutti::delegate::nccl {

Result<std::unique_ptr<GpuBuffer>> take_buffer(int device, std::size_t bytes);

}  // namespace tutti::delegate::nccl
