// devices: which network devices UCX is to drive, by its names for them.
#pragma once

#include <string>

#include "base/interface_list.h"
#include "base/result.h"

namespace tutti::transport::ucx {

struct DeviceNames {
  std::string rdma;  // the first one, "mlx5_0:1"; empty: none, tcp only
  std::string all;   // for UCX_NET_DEVICES; empty: as UCX finds them
};

// Those of the interfaces that are wanted: each by its own name, for tcp, and the RDMA devices
// behind it. Errors: none of those is up here.
Result<DeviceNames> devices_of(const InterfaceList& wanted);

}  // namespace tutti::transport::ucx
