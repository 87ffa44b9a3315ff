// Links end at the other GPU, or at switches, which join every GPU with every other. Its header is
// not needed to build: these few functions have not changed since driver 450.
#include "topo/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>

namespace tutti::topo {
namespace {

constexpr int kByNvlink = 2;       // NVML_P2P_CAPS_INDEX_NVLINK
constexpr int kGpu = 0, kCpu = 1;  // what a link ends at; else a switch, or it cannot be seen (VMs)
constexpr unsigned kMostLinks = 64;

// "GPU-01234567-89ab-cdef-0123-456789abcdef"
std::string text_of(const GpuUuid& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    char byte[4];
    const bool begins = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    std::snprintf(byte, sizeof byte, "%s%02x", begins ? "-" : "", uuid[i]);
    text += byte;
  }
  return text;
}

template <class Function>
Result<void> look_up_one(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function != nullptr) return {};
  return fail(Code::unsupported, std::string("libnvidia-ml.so.1 has no ") + name);
}

}  // namespace

Nvml::Nvml() {
  void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    why_not_ = "libnvidia-ml.so.1 cannot be opened";
    return;
  }
  auto opened = look_up(library);
  if (opened) opened = check(init_(), "nvmlInit_v2");
  if (!opened) why_not_ = opened.error().text;
}

Result<void> Nvml::look_up(void* library) {
  TUTTI_DO(look_up_one(library, "nvmlInit_v2", init_));
  TUTTI_DO(look_up_one(library, "nvmlErrorString", error_text_));
  TUTTI_DO(look_up_one(library, "nvmlDeviceGetHandleByUUID", handle_by_uuid_));
  TUTTI_DO(look_up_one(library, "nvmlDeviceGetPciInfo_v3", pci_info_));
  TUTTI_DO(look_up_one(library, "nvmlDeviceGetP2PStatus", p2p_status_));
  TUTTI_DO(look_up_one(library, "nvmlDeviceGetNvLinkState", link_state_));
  TUTTI_DO(look_up_one(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2", link_remote_pci_));
  return look_up_one(library, "nvmlDeviceGetNvLinkRemoteDeviceType", link_remote_type_);
}

Result<void> Nvml::check(int said, const char* call) const {
  if (said == 0) return {};
  return fail(Code::other, std::string(call) + " says: " + error_text_(said));
}

Result<Nvml::Device> Nvml::device_of(const GpuUuid& uuid) const {
  Device device = nullptr;
  TUTTI_DO(check(handle_by_uuid_(text_of(uuid).c_str(), &device), "nvmlDeviceGetHandleByUUID"));
  return device;
}

Result<int> Nvml::links_from(Device device, Device to) const {
  PciInfo wanted{};
  TUTTI_DO(check(pci_info_(to, &wanted), "nvmlDeviceGetPciInfo_v3"));
  int direct = 0, by_switch = 0;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    int is_active = 0, type = kGpu;
    if (link_state_(device, link, &is_active) != 0) break;  // there are no more
    if (is_active == 0) continue;
    PciInfo remote{};
    TUTTI_DO(check(link_remote_pci_(device, link, &remote), "nvmlDeviceGetNvLinkRemotePciInfo_v2"));
    TUTTI_DO(check(link_remote_type_(device, link, &type), "nvmlDeviceGetNvLinkRemoteDeviceType"));
    if (type == kGpu && remote.is(wanted)) ++direct;
    if (type != kGpu && type != kCpu) ++by_switch;
  }
  return direct > 0 ? direct : by_switch;
}

Result<int> Nvml::links_between(const GpuUuid& one, const GpuUuid& other) const {
  if (!why_not_.empty()) return fail(Code::unsupported, why_not_);
  TUTTI_TRY(here, device_of(one));
  TUTTI_TRY(there, device_of(other));
  int status = 0;
  TUTTI_DO(check(p2p_status_(here, there, kByNvlink, &status), "nvmlDeviceGetP2PStatus"));
  if (status != 0) return 0;
  TUTTI_TRY(forth, links_from(here, there));
  TUTTI_TRY(back, links_from(there, here));
  if (const int links = std::min(forth, back); links > 0) return links;
  return fail(Code::other, "NVML says NVLink, and not of how many links");
}

}  // namespace tutti::topo
