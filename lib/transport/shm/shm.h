// shm: messages through the job segment, for ranks of one host.
#pragma once

#include "transport/opened.h"

namespace tutti::transport::shm {

Result<std::unique_ptr<Transport>> open(const Surroundings& around);

}  // namespace tutti::transport::shm
