// ucx: frames as active messages over RDMA networks, or over UCX's tcp when asked for.
#pragma once

#include "transport/opened.h"

namespace tutti::transport::ucx {

Result<std::unique_ptr<Transport>> open(const Surroundings& around);

}  // namespace tutti::transport::ucx
