// nvml: libnvidia-ml.so.1 of our own: the NVLinks between the stand-in driver's GPUs.
//
//   STANDIN_NVML_LINKS=18     of each GPU; 0: none
//   STANDIN_NVML_SWITCHES=1   they end at switches; else half of them (at least one) at each
//                             neighbour in the ring of GPUs
//   STANDIN_NVML_FAIL=nvmlInit_v2   this function fails; abort: the process ends when it is opened
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char text[32];
};
// Handles of devices are pointers into it.
char places[64];

unsigned variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : static_cast<unsigned>(std::atoi(text));
}
int fails(const char* function) {
  const char* const told = std::getenv("STANDIN_NVML_FAIL");
  return told != nullptr && std::strcmp(told, function) == 0 ? 999 : 0;
}
int number_of(const void* device) {
  return static_cast<int>(static_cast<const char*>(device) - places);
}
bool are_switched() {
  return variable("STANDIN_NVML_SWITCHES") != 0;
}
int gpus() {
  const char* const text = std::getenv("STANDIN_CUDA_DEVICES");
  return text == nullptr ? 2 : std::atoi(text);
}
// Of GPUs in a ring: the first half goes to the next one, the second to the one before.
int end_of(int gpu, unsigned link) {
  return link < (variable("STANDIN_NVML_LINKS") + 1) / 2 ? (gpu + 1) % gpus()
                                                         : (gpu + gpus() - 1) % gpus();
}
void fill(PciInfo* info, unsigned bus) {
  std::memset(info, 0, sizeof *info);
  info->bus = bus;
}

}  // namespace

extern "C" {
const char* nvmlErrorString(int) {
  return "as the stand-in was told";
}
int nvmlInit_v2() {
  if (fails("abort") != 0) std::abort();
  return fails("nvmlInit_v2");
}
// "GPU-7374616e-642d-696e-2030-000000000000": "stand-in 0"
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (const int no = fails("nvmlDeviceGetHandleByUUID"); no != 0) return no;
  constexpr char kBegin[] = "GPU-7374616e-642d-696e-203";
  constexpr char kEnd[] = "-000000000000";
  const std::size_t length = std::strlen(uuid);
  if (length != 40 || std::strncmp(uuid, kBegin, sizeof kBegin - 1) != 0 ||
      std::strcmp(uuid + 27, kEnd) != 0)
    return 6;  // not found
  *device = places + (uuid[26] - '0');
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
  fill(info, 0x10 + static_cast<unsigned>(number_of(device)));
  return fails("nvmlDeviceGetPciInfo_v3");
}
int nvmlDeviceGetP2PStatus(void* one, void* other, int capability, int* status) {
  const unsigned links = variable("STANDIN_NVML_LINKS");
  bool joined = links > 0 && are_switched();
  for (unsigned link = 0; link < links; ++link)
    joined = joined || end_of(number_of(one), link) == number_of(other);
  *status = capability == 2 && joined ? 0 : 5;  // 5: not supported
  return fails("nvmlDeviceGetP2PStatus");
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, int* is_active) {
  // One more that is there and not in use.
  if (link > variable("STANDIN_NVML_LINKS")) return 2;
  *is_active = link > 0 ? 1 : 0;
  return 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, PciInfo* info) {
  fill(info, are_switched() ? 0x80 + link
                            : 0x10 + static_cast<unsigned>(end_of(number_of(device), link - 1)));
  return fails("nvmlDeviceGetNvLinkRemotePciInfo_v2");
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int* type) {
  *type = are_switched() ? 2 : 0;
  return fails("nvmlDeviceGetNvLinkRemoteDeviceType");
}
}
