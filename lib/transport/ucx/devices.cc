// A network interface of an RDMA device is its neighbour in /sys: both belong to one PCI function.
#include "transport/ucx/devices.h"

#include <dirent.h>

#include <set>

namespace tutti::transport::ucx {
namespace {

std::set<std::string> names_in(const std::string& path) {
  std::set<std::string> names;
  DIR* const folder = ::opendir(path.c_str());
  while (const dirent* entry = folder == nullptr ? nullptr : ::readdir(folder))
    if (entry->d_name[0] != '.') names.insert(entry->d_name);
  if (folder != nullptr) ::closedir(folder);
  return names;
}

std::set<std::string> interfaces_that_are(const InterfaceList& wanted) {
  std::set<std::string> names;
  each_address(wanted, [&names](const char* name, const sockaddr*) { names.insert(name); });
  return names;
}

std::string first_port_of(const std::string& rdma_device) {
  return rdma_device + ":1";
}

}  // namespace

Result<DeviceNames> devices_of(const InterfaceList& wanted) {
  DeviceNames found;
  if (wanted.is_empty()) {
    const auto names = names_in("/sys/class/infiniband");
    if (!names.empty()) found.rdma = found.all = first_port_of(*names.begin());
    return found;
  }
  const auto interfaces = interfaces_that_are(wanted);
  if (interfaces.empty()) return fail(Code::arg, "none of TUTTI_INTERFACES is up here");
  const auto add = [&found](const std::string& name) {
    found.all += (found.all.empty() ? "" : ",") + name;
  };
  for (const std::string& name : interfaces) {
    add(name);
    for (const std::string& device : names_in("/sys/class/net/" + name + "/device/infiniband")) {
      if (found.rdma.empty()) found.rdma = first_port_of(device);
      add(first_port_of(device));
    }
  }
  return found;
}

}  // namespace tutti::transport::ucx
