// gpu_libraries: what CUDA, NVML and NCCL say of this host, for reports. Ranks ask nothing of it.
#pragma once

#include <string>

namespace tutti::topo {

struct GpuLibraries {
  std::string cuda;   // "13.0, 2 devices", or why there is none
  std::string peers;  // "all by NVLink 18", or pair by pair; empty: fewer than two devices
  std::string nccl;   // "2.28.9", or why there is none
};

std::string nccl_version(int number);  // 22809 is 2.28.9

// They are opened in a child, which is ended after ten seconds: a driver that is broken may hang,
// and one that works leaves threads behind.
GpuLibraries ask_gpu_libraries();

}  // namespace tutti::topo
