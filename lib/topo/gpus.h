// GPUs as NVIDIA's kernel driver tells of them in files; its library is left alone, which would
// open every one of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/topo.h"

namespace tutti::topo {

struct DriverGpu {
  std::string bus;     // "0000:17:00.0"
  std::string model;   // "NVIDIA H200"
  std::string uuid;    // "GPU-1c2d..."
  int node = -1;       // N of /dev/nvidiaN
  bool usable = true;  // this process may open that (control groups, containers)
};

struct GpuDriver {
  std::string version;          // "535.104.05"; empty: no driver is loaded
  bool is_open = false;         // the open kernel modules
  std::vector<DriverGpu> gpus;  // in the order of the bus
  bool reads_gpus_dma =
      false;  // a network card can (nvidia_peermem, or dma-buf of the open modules)
};

// `root`: of tests; in front of /proc, /sys and /dev.
GpuDriver nvidia_driver(const std::string& root = "");

// Which of `count` GPUs CUDA_VISIBLE_DEVICES leaves, in its order: numbers, UUIDs or their
// beginnings. As CUDA, up to the first that is none of them. Empty text: all.
std::vector<int> visible_gpus(const std::string& visible, const std::vector<DriverGpu>& gpus);

// Whether CUDA_VISIBLE_DEVICES of that value hides every GPU, whichever there are: it is empty, or
// begins with what names none ("-1", "NoDevFiles").
bool hides_all_gpus(std::string_view visible);

// Takes away the GPUs that this process may not use, by the driver and by CUDA_VISIBLE_DEVICES, and
// brings the others into its order: so are they numbered for programs, and called there. A driver
// that knows other GPUs than the machine has, or none, changes nothing; nor does a name that is not
// among those that it tells (a slice of a GPU, too high a number). A variable that hides them all
// does so from programs, not from the planner, which may still put ranks near them.
void keep_usable_gpus(Machine& machine, const GpuDriver& driver,
                      const std::optional<std::string>& visible);

}  // namespace tutti::topo
