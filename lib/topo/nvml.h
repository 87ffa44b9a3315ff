// nvml: NVIDIA's management library, opened by whoever writes a report. It says how many NVLinks
// join two GPUs, which CUDA does not.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace tutti::topo {

using GpuUuid = std::array<std::uint8_t, 16>;  // as CUDA tells it

// Begun once and never unloaded.
class Nvml {
 public:
  Nvml();
  // 0: they are not joined. Errors: the library is not there, or does not say.
  Result<int> links_between(const GpuUuid& one, const GpuUuid& other) const;

 private:
  using Device = void*;
  // The library's nvmlPciInfo_t, since version 3 of its call.
  struct PciInfo {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char text[32];
    bool is(const PciInfo& other) const {
      return domain == other.domain && bus == other.bus && device == other.device;
    }
  };
  static_assert(sizeof(PciInfo) == 68);

  Result<void> look_up(void* library);
  Result<void> check(int said, const char* call) const;
  Result<Device> device_of(const GpuUuid& uuid) const;
  Result<int> links_from(Device device, Device to) const;

  std::string why_not_;  // empty: it is open
  int (*init_)() = nullptr;
  const char* (*error_text_)(int said) = nullptr;
  int (*handle_by_uuid_)(const char* uuid, Device*) = nullptr;
  int (*pci_info_)(Device, PciInfo*) = nullptr;
  int (*p2p_status_)(Device, Device, int capability, int* status) = nullptr;
  int (*link_state_)(Device, unsigned link, int* is_active) = nullptr;
  int (*link_remote_pci_)(Device, unsigned link, PciInfo*) = nullptr;
  int (*link_remote_type_)(Device, unsigned link, int* type) = nullptr;
};

}  // namespace tutti::topo
