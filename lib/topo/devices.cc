// Which PCI devices are GPUs or network cards, what they are called, and who is near.
//
// hwloc knows the names that drivers gave (OS devices) only where its plugins or the kernel tell
// them, so the PCI class decides: 3D and compute accelerators are GPUs; a VGA adapter is one only
// where nothing better is there and its maker builds GPUs (a server's console is no GPU). Of
// network cards those with verbs count, if there are any; else every one.
#include "topo/devices.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace tutti::topo {
namespace {

constexpr unsigned kNetwork = 0x02, kDisplay = 0x03, kAccelerator = 0x12;  // base classes
constexpr unsigned kVga = 0x0300, kConsole = 0x0301, kInfiniband = 0x0c06;
constexpr std::array<unsigned, 3> kGpuMakers{0x10de, 0x1002, 0x8086};
constexpr std::array<std::string_view, 5> kGpuNames{"cuda", "nvml", "rsmi", "opencl", "ze"};

// How well a device fits what is asked for; only the best of a machine are kept.
enum class Fit { none, poor, good };

bool has_verbs(const hwloc_obj* pci) {
  for (const hwloc_obj* below = pci->io_first_child; below != nullptr; below = below->next_sibling)
    if (below->type == HWLOC_OBJ_OS_DEVICE &&
        below->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS)
      return true;
  return false;
}

bool has_gpu_name(const hwloc_obj* pci) {
  for (const hwloc_obj* below = pci->io_first_child; below != nullptr; below = below->next_sibling)
    if (below->name != nullptr &&
        std::any_of(kGpuNames.begin(), kGpuNames.end(), [below](std::string_view start) {
          return std::string_view(below->name).starts_with(start);
        }))
      return true;
  return false;
}

Fit fit_as_gpu(const hwloc_obj* pci) {
  const auto& about = pci->attr->pcidev;
  if (has_gpu_name(pci)) return Fit::good;
  const unsigned base = about.class_id >> 8U;
  const bool made =
      std::find(kGpuMakers.begin(), kGpuMakers.end(), about.vendor_id) != kGpuMakers.end();
  if (base == kAccelerator) return made ? Fit::good : Fit::none;
  if (base != kDisplay || !made || about.class_id == kConsole) return Fit::none;
  return about.class_id == kVga ? Fit::poor : Fit::good;
}

Fit fit_as_nic(const hwloc_obj* pci) {
  const unsigned what = pci->attr->pcidev.class_id;
  if (what >> 8U != kNetwork && what != kInfiniband) return Fit::none;
  return has_verbs(pci) ? Fit::good : Fit::poor;
}

PciDevice describe(const hwloc_obj* pci, hwloc_topology_t topology, PciDevice::Kind kind) {
  PciDevice device;
  device.kind = kind;
  const auto& bus = pci->attr->pcidev;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%01x", bus.domain, bus.bus, bus.dev,
                bus.func);
  for (const hwloc_obj* below = pci->io_first_child; below != nullptr; below = below->next_sibling)
    if (below->name != nullptr) device.names.emplace_back(below->name);
  device.names.emplace_back(text.data());
  const hwloc_obj* around = hwloc_get_non_io_ancestor_obj(topology, const_cast<hwloc_obj_t>(pci));
  const hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_cpuset(topology);
  for (int cpu = hwloc_bitmap_first(around->cpuset); cpu >= 0;
       cpu = hwloc_bitmap_next(around->cpuset, cpu))
    if (hwloc_bitmap_isset(allowed, static_cast<unsigned>(cpu)) != 0) device.near.push_back(cpu);
  return device;
}

struct FoundDevice {
  Fit fit;
  std::uint64_t bus;
  PciDevice device;
};

std::uint64_t place_of(const hwloc_obj* pci) {
  const auto& bus = pci->attr->pcidev;
  return (static_cast<std::uint64_t>(bus.domain) << 24U) |
         (static_cast<std::uint64_t>(bus.bus) << 16U) |
         (static_cast<std::uint64_t>(bus.dev) << 8U) | bus.func;
}

void add_best(std::vector<PciDevice>& all, std::vector<FoundDevice> found) {
  std::sort(found.begin(), found.end(),
            [](const FoundDevice& a, const FoundDevice& b) { return a.bus < b.bus; });
  const bool any_good = std::any_of(found.begin(), found.end(),
                                    [](const FoundDevice& one) { return one.fit == Fit::good; });
  for (FoundDevice& one : found)
    if (one.fit == Fit::good || !any_good) all.push_back(std::move(one.device));
}

}  // namespace

void keep_devices(hwloc_topology_t topology) {
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
}

std::vector<PciDevice> devices_of(hwloc_topology_t topology) {
  std::vector<FoundDevice> gpus;
  std::vector<FoundDevice> nics;
  for (hwloc_obj_t pci = hwloc_get_next_pcidev(topology, nullptr); pci != nullptr;
       pci = hwloc_get_next_pcidev(topology, pci)) {
    if (const Fit fit = fit_as_gpu(pci); fit != Fit::none)
      gpus.push_back({fit, place_of(pci), describe(pci, topology, PciDevice::Kind::gpu)});
    if (const Fit fit = fit_as_nic(pci); fit != Fit::none)
      nics.push_back({fit, place_of(pci), describe(pci, topology, PciDevice::Kind::nic)});
  }
  std::vector<PciDevice> all;
  add_best(all, std::move(gpus));
  add_best(all, std::move(nics));
  return all;
}

}  // namespace tutti::topo
