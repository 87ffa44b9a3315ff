// GPUs and network cards of a machine and the processors near them, out of hwloc's I/O objects.
#pragma once

#include <hwloc.h>

#include <vector>

#include "topo/topo.h"

namespace tutti::topo {

// To be called before the topology is loaded: I/O objects are left out by default.
void keep_devices(hwloc_topology_t topology);
// In the order of the PCI bus, which is how drivers number them.
std::vector<PciDevice> devices_of(hwloc_topology_t topology);

}  // namespace tutti::topo
