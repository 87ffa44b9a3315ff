// A Machine out of hwloc: this host, an XML text, or a synthetic description.
//
// hwloc sees the control group's cpuset, but neither our affinity mask nor the quota: the topology
// of this host is restricted to the mask, and the quota is read beside it. I/O objects are loaded
// only where devices are asked for (they cost 8 ms).
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "topo/devices.h"
#include "topo/quota.h"
#include "topo/topo.h"

namespace tutti::topo {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, Destroy>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, Destroy>;

Result<HwlocTopology> make_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail(Code::no_mem, "hwloc cannot be initialized");
  return HwlocTopology(raw);
}

// The index of the object of `type` above a processor; `without` where the machine has none.
int ancestor(hwloc_topology_t topology, hwloc_obj_t pu, hwloc_obj_type_t type, int without = 0) {
  const hwloc_obj_t above = hwloc_get_ancestor_obj_by_type(topology, type, pu);
  return above == nullptr ? without : static_cast<int>(above->logical_index);
}

// NUMA nodes hang beside the tree; the smallest one that holds the processor is its own.
int numa_of(hwloc_topology_t topology, hwloc_obj_t pu) {
  hwloc_obj_t best = nullptr;
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    if (hwloc_bitmap_isset(node->cpuset, pu->os_index) == 0) continue;
    if (best == nullptr || hwloc_bitmap_weight(node->cpuset) < hwloc_bitmap_weight(best->cpuset))
      best = node;
  }
  return best == nullptr ? 0 : static_cast<int>(best->logical_index);
}

Result<Machine> to_machine(hwloc_topology_t topology) {
  Machine machine;
  std::set<int> cores;
  const bool has_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
  const hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(topology);
  hwloc_obj_t pu = nullptr;
  while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr) {
    if (hwloc_bitmap_isset(allowed, pu->os_index) == 0) continue;
    Thread thread;
    thread.os_index = static_cast<int>(pu->os_index);
    thread.core =
        has_cores ? ancestor(topology, pu, HWLOC_OBJ_CORE) : static_cast<int>(pu->logical_index);
    thread.l3 = ancestor(topology, pu, HWLOC_OBJ_L3CACHE);
    thread.l2 = ancestor(topology, pu, HWLOC_OBJ_L2CACHE, thread.core);
    thread.l1 = ancestor(topology, pu, HWLOC_OBJ_L1CACHE, thread.core);
    thread.numa = numa_of(topology, pu);
    thread.package = ancestor(topology, pu, HWLOC_OBJ_PACKAGE);
    cores.insert(thread.core);
    machine.threads.push_back(thread);
  }
  if (machine.threads.empty()) return fail(Code::other, "hwloc found no usable processor");
  std::stable_sort(machine.threads.begin(), machine.threads.end(),
                   [](const Thread& a, const Thread& b) { return a.core < b.core; });
  machine.cores = static_cast<int>(cores.size());
  machine.devices = devices_of(topology);
  return machine;
}

// Leaves only the processors of our affinity mask (taskset, a batch system's step).
Result<void> restrict_to_affinity(hwloc_topology_t topology) {
  const Bitmap mask(hwloc_bitmap_alloc());
  if (hwloc_get_cpubind(topology, mask.get(), HWLOC_CPUBIND_PROCESS) != 0) return {};
  hwloc_bitmap_and(mask.get(), mask.get(), hwloc_topology_get_allowed_cpuset(topology));
  if (hwloc_bitmap_iszero(mask.get()) != 0)
    return fail(Code::other,
                "no processor is both in the affinity mask and in the control group's cpuset");
  if (hwloc_topology_restrict(topology, mask.get(), HWLOC_RESTRICT_FLAG_ADAPT_IO) != 0)
    return fail(Code::other, "hwloc cannot restrict the topology to the affinity mask");
  return {};
}

// Only what a Machine is made of: every file that hwloc opens is time before the first rank starts.
// The kernel has told caches: asking each processor itself (which means to run on it, and traps
// where the machine is a virtual one) adds nothing.
void ask_for_what_we_need(hwloc_topology_t topology) {
  if (::access("/sys/devices/system/cpu/cpu0/cache/index0", F_OK) == 0)
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
#if HWLOC_API_VERSION >= 0x00020800
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_NO_DISTANCES |
                                         HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS |
                                         HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS);
#endif
}

}  // namespace

int Machine::usable_cores() const {
  if (cpu_quota <= 0) return std::max(1, cores);
  return static_cast<int>(std::clamp(std::floor(cpu_quota), 1.0, std::max(1.0, 1.0 * cores)));
}

int Machine::usable_threads() const {
  const int count = std::max(1, static_cast<int>(threads.size()));
  if (cpu_quota <= 0) return count;
  return static_cast<int>(std::clamp(std::floor(cpu_quota), 1.0, 1.0 * count));
}

std::uint64_t memory_left() {
  return memory_left(file_text);
}

Result<Machine> read_this_machine(DeviceReading devices) {
  TUTTI_TRY(topology, make_topology());
  if (devices == DeviceReading::read) keep_devices(topology.get());
  ask_for_what_we_need(topology.get());
  if (hwloc_topology_load(topology.get()) != 0)
    return fail(Code::other,
                "hwloc cannot read this machine's topology; check that /sys is mounted");
  TUTTI_DO(restrict_to_affinity(topology.get()));
  TUTTI_TRY(machine, to_machine(topology.get()));
  machine.cpu_quota = std::max(0.0, cpu_quota(file_text));
  machine.boot_id = text::trim(file_text("/proc/sys/kernel/random/boot_id").value_or(""));
  return machine;
}

Result<Machine> from_xml(const std::string& xml, DeviceReading devices) {
  TUTTI_TRY(topology, make_topology());
  if (devices == DeviceReading::read) keep_devices(topology.get());
  // hwloc wants the length with the terminating zero.
  if (hwloc_topology_set_xmlbuffer(topology.get(), xml.c_str(), static_cast<int>(xml.size() + 1)) !=
          0 ||
      hwloc_topology_load(topology.get()) != 0)
    return fail(Code::arg, "this is not a machine's description in hwloc's XML");
  return to_machine(topology.get());
}

Result<Machine> synthetic(const std::string& description) {
  TUTTI_TRY(topology, make_topology());
  if (hwloc_topology_set_synthetic(topology.get(), description.c_str()) != 0 ||
      hwloc_topology_load(topology.get()) != 0)
    return fail(Code::arg, "'" + description +
                               "' describes no machine; write such as 'package:2 core:4 pu:2'");
  return to_machine(topology.get());
}

}  // namespace tutti::topo
