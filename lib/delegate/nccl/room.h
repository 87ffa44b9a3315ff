// room: memory of ours on a GPU, for vectors that calls by levels have half done.
#pragma once

#include "delegate/gpu_library.h"

namespace tutti::delegate::nccl {

Result<std::unique_ptr<GpuRoom>> take_room(int device, std::size_t bytes);

}  // namespace tutti::delegate::nccl
