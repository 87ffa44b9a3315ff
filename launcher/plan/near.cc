// The processors near each device.
//
//   gpu, nic       rank k near the k-th device (with -g N near its first GPU), round and round
//   device=NAME    near this one while there is room, then in its package, then anywhere
#include "plan/near.h"

#include <algorithm>
#include <map>
#include <set>

namespace tutti::launch::plan {
namespace {

using topo::Machine;
using topo::PciDevice;

bool is_of(const PciDevice& device, cli::MapBy map_by) {
  return map_by == cli::MapBy::gpu
             ? device.kind == PciDevice::Kind::gpu
             : map_by == cli::MapBy::nic && device.kind == PciDevice::Kind::nic;
}

bool is_called(const PciDevice& device, const std::string& name) {
  return std::any_of(device.names.begin(), device.names.end(), [&name](const std::string& one) {
    return one == name || one == "0000:" + name;  // the first PCI domain may be left out
  });
}

bool is_near(const PciDevice& device, const Unit& unit) {
  return std::find(device.near.begin(), device.near.end(), unit[0].os_index) != device.near.end();
}

// Units by NUMA node, each node once.
NearGroups nodes_in_turn(const Units& units) {
  std::map<int, Units> nodes;
  for (const Unit& unit : units) nodes[unit[0].numa].push_back(unit);
  NearGroups found;
  for (auto& [node, group] : nodes) {
    found.turns.push_back(found.groups.size());
    found.groups.push_back(std::move(group));
  }
  return found;
}

// Devices without an allowed processor beside them share all that there are.
Units units_near(const PciDevice& device, const Units& units) {
  Units close;
  std::copy_if(units.begin(), units.end(), std::back_inserter(close),
               [&device](const Unit& unit) { return is_near(device, unit); });
  return close.empty() ? units : close;
}

NearGroups each_in_turn(const Machine& machine, const cli::Placement& placement,
                        const Units& units) {
  NearGroups found;
  std::map<std::vector<int>, std::size_t> group_at;  // by the processors beside the device
  int number = 0;
  const int stride = placement.map_by == cli::MapBy::gpu ? std::max(1, placement.gpus_per_rank) : 1;
  const int all = devices_of(machine, placement.map_by);
  for (const PciDevice& device : machine.devices) {
    if (!is_of(device, placement.map_by)) continue;
    const int first = number++;
    if (first % stride != 0 || (first > 0 && first + stride > all)) continue;
    const auto [at, fresh] = group_at.try_emplace(device.near, found.groups.size());
    if (fresh) found.groups.push_back(units_near(device, units));
    found.turns.push_back(at->second);
  }
  return found;
}

// Rings around one device.
NearGroups around(const PciDevice& device, const Units& units) {
  std::set<int> packages;
  for (const Unit& unit : units)
    if (is_near(device, unit)) packages.insert(unit[0].package);
  std::vector<Units> rings(3);
  for (const Unit& unit : units)
    rings[is_near(device, unit) ? 0 : packages.count(unit[0].package) != 0 ? 1 : 2].push_back(unit);
  NearGroups found;
  for (Units& ring : rings) {
    if (ring.empty()) continue;
    found.turns.push_back(found.groups.size());
    found.groups.push_back(std::move(ring));
  }
  return found;
}

}  // namespace

bool is_by_device(cli::MapBy map_by) {
  return map_by == cli::MapBy::gpu || map_by == cli::MapBy::nic || map_by == cli::MapBy::device;
}

int devices_of(const Machine& machine, cli::MapBy map_by) {
  return static_cast<int>(
      std::count_if(machine.devices.begin(), machine.devices.end(),
                    [map_by](const PciDevice& device) { return is_of(device, map_by); }));
}

Result<NearGroups> near_groups(const Machine& machine, const cli::Placement& placement) {
  const Units units = units_of(machine, counts_threads(placement));
  if (placement.map_by != cli::MapBy::device) {
    if (devices_of(machine, placement.map_by) == 0) return nodes_in_turn(units);
    return each_in_turn(machine, placement, units);
  }
  std::string known;
  for (const PciDevice& device : machine.devices) {
    if (is_called(device, placement.device)) return around(device, units);
    known += (known.empty() ? "" : ", ") + device.names.front();
  }
  return fail(Code::arg, "it has no device '" + placement.device +
                             (known.empty() ? "', no GPU and no network card that the kernel tells"
                                            : "'; known are " + known));
}

std::string without_devices(const Machine& machine, const cli::Placement& placement) {
  const cli::MapBy wanted = placement.map_by;
  if ((wanted != cli::MapBy::gpu && wanted != cli::MapBy::nic) || devices_of(machine, wanted) > 0)
    return "";
  return std::string("has no ") + (wanted == cli::MapBy::gpu ? "GPU" : "network card") +
         " that the kernel tells: its ranks alternate over the NUMA nodes";
}

}  // namespace tutti::launch::plan
