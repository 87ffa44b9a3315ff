// cuda_ipc: links that read memory of GPUs between processes of one host; one a vendor (of CUDA:
// cuda_ipc). What a key and reading are is the vendor's matter (types/device.h).
#pragma once

#include "transport/transport.h"

namespace tutti::transport::ipc {

Result<std::unique_ptr<Transport>> open_cuda(const Surroundings& around);

}  // namespace tutti::transport::ipc
