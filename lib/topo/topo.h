// topo: what a host is made of: packages, NUMA nodes, caches, cores, hardware threads; GPUs and
// network cards where they are asked for.
//
// A Machine is a value: read from hwloc here, from a text, or made up for tests. hwloc stays
// inside this room; the daemon calls it and puts the text in the job segment.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace tutti::topo {

struct Thread {  // a hardware thread this process may use
  int os_index = 0;
  int core = 0;  // logical index on the machine
  int l3 = 0;
  int numa = 0;
  int package = 0;
  int l2 = 0;  // caches between the core and l3; without one, the core
  int l1 = 0;
};

struct PciDevice {  // a GPU or a network card
  enum class Kind { gpu, nic };
  Kind kind = Kind::gpu;
  std::vector<std::string> names;  // "cuda0", "mlx5_0", ...; the last is its place on the PCI bus
  std::vector<int> near;           // allowed processors beside it, by OS index
};

struct Machine {
  std::vector<Thread> threads;     // allowed ones, by core then thread
  int cores = 0;                   // distinct cores among them
  double cpu_quota = 0;            // cgroup cpu.max in cores; 0: none
  std::vector<PciDevice> devices;  // GPUs, then network cards, each in the order of the bus
  std::string visible_gpus;        // CUDA_VISIBLE_DEVICES: what programs call them; empty: numbers
  bool hides_gpus = false;         // by that variable: programs see none
  std::string boot_id;             // of its running kernel: two names of one machine have the same
  // Processors that ranks can use together: cores, cut by the quota; at least 1.
  int usable_cores() const;
  int usable_threads() const;
};

// Bytes this process may still take: what is available on the host, within the limits of its
// control groups. 0: not known.
std::uint64_t memory_left();

// Looking for devices costs milliseconds.
enum class DeviceReading { left_out, read };
// Cgroup, affinity and quota are respected.
Result<Machine> read_this_machine(DeviceReading devices = DeviceReading::left_out);
// Of tests: hwloc's XML, and its "package:2 core:4 pu:2". It trusts both, and some ends the
// process.
Result<Machine> from_xml(const std::string& xml, DeviceReading devices = DeviceReading::left_out);
Result<Machine> synthetic(const std::string& description);

// A machine's threads as a text, for others on this host; and back.
std::string text_of(const Machine& machine);
Result<Machine> from_text(const std::string& text);
// Whether one that somebody else described can be planned with: all its numbers are in bounds.
bool is_sound(const Machine& machine);

// Binds the calling process (between fork and exec: async-signal-safe, no allocation).
bool bind_self(const std::vector<int>& os_indices);

}  // namespace tutti::topo
