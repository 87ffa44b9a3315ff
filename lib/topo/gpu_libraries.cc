// The libraries' functions are called by what they have been for years: no header is needed.
#include "topo/gpu_libraries.h"

#include <dlfcn.h>

#include <chrono>
#include <map>
#include <vector>

#include "base/child_output.h"
#include "base/numbers.h"
#include "base/text.h"
#include "topo/nvml.h"

namespace tutti::topo {
namespace {

constexpr std::chrono::seconds kLimit{10};

template <class Function>
Function* look_up(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library, name));
}

struct CudaLibrary {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  int (*init)(unsigned) = look_up<int(unsigned)>(library, "cuInit");
  int (*version)(int*) = look_up<int(int*)>(library, "cuDriverGetVersion");
  int (*count)(int*) = look_up<int(int*)>(library, "cuDeviceGetCount");
  int (*device)(int*, int) = look_up<int(int*, int)>(library, "cuDeviceGet");
  int (*uuid)(std::uint8_t*, int) = look_up<int(std::uint8_t*, int)>(library, "cuDeviceGetUuid_v2");
  int (*reaches)(int*, int, int) = look_up<int(int*, int, int)>(library, "cuDeviceCanAccessPeer");
  bool is_whole() const {
    return init != nullptr && version != nullptr && count != nullptr && device != nullptr &&
           uuid != nullptr && reaches != nullptr;
  }
};

// What joins two GPUs.
std::string join_of(const CudaLibrary& cuda, const Nvml& nvml, int one, int other) {
  int forth = 0, back = 0;
  if (cuda.reaches(&forth, one, other) != 0 || cuda.reaches(&back, other, one) != 0)
    return "unknown to CUDA";
  if (forth == 0 || back == 0) return "through host memory";
  GpuUuid mine{}, theirs{};
  if (cuda.uuid(mine.data(), one) != 0 || cuda.uuid(theirs.data(), other) != 0)
    return "by peer access";
  const auto links = nvml.links_between(mine, theirs);
  if (!links) return "by peer access (" + links.error().text + ")";
  return *links > 0 ? "by NVLink " + std::to_string(*links) : "by peer access, no NVLink";
}

// "0-1, 2-3 by NVLink 4; 0-2, 0-3, 1-2, 1-3 through host memory"
std::string peers_of(const CudaLibrary& cuda, const std::vector<int>& devices) {
  const Nvml nvml;
  std::map<std::string, std::string> pairs;
  for (std::size_t i = 0; i < devices.size(); ++i)
    for (std::size_t j = i + 1; j < devices.size(); ++j) {
      std::string& among = pairs[join_of(cuda, nvml, devices[i], devices[j])];
      among += (among.empty() ? "" : ", ") + std::to_string(i) + "-" + std::to_string(j);
    }
  if (pairs.size() == 1) return "all " + pairs.begin()->first;
  std::string text;
  for (const auto& [join, among] : pairs) text += (text.empty() ? "" : "; ") + among + " " + join;
  return text;
}

// libcuda's numbers: 13020 is 13.2.
std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

void ask_cuda(GpuLibraries& all) {
  const CudaLibrary cuda;
  if (cuda.library == nullptr) {
    all.cuda = "none: libcuda.so.1 cannot be opened";
    return;
  }
  if (!cuda.is_whole()) {
    all.cuda = "none: libcuda.so.1 is older than 11.4";
    return;
  }
  int version = 0, count = 0;
  if (const int said = cuda.init(0); said != 0) {
    all.cuda = "none: libcuda.so.1 is there, but cuInit says " + std::to_string(said);
    return;
  }
  cuda.version(&version);
  cuda.count(&count);
  std::vector<int> devices;
  for (int i = 0; i < count; ++i)
    if (int device = 0; cuda.device(&device, i) == 0) devices.push_back(device);
  all.cuda = cuda_version(version) + ", " + text::counted(devices.size(), "device");
  if (devices.size() > 1) all.peers = peers_of(cuda, devices);
}

// Its version, and nothing else: to ask it for an id begins to listen.
void ask_nccl(GpuLibraries& all) {
  void* const library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  auto* const ask = look_up<int(int*)>(library, "ncclGetVersion");
  int version = 0;
  if (ask == nullptr)
    all.nccl = "none: libnccl.so.2 cannot be opened";
  else if (const int said = ask(&version); said != 0)
    all.nccl = "none: ncclGetVersion says " + std::to_string(said);
  else
    all.nccl = nccl_version(version);
}

std::string asked_here() {
  GpuLibraries all;
  ask_cuda(all);
  ask_nccl(all);
  return all.cuda + "\n" + all.peers + "\n" + all.nccl + "\n";
}

}  // namespace

// 2.9 and later: 10000 * major + 100 * minor + patch; before: 1000 * major.
std::string nccl_version(int number) {
  const int major = number < 10000 ? number / 1000 : number / 10000;
  const int rest = number < 10000 ? number % 1000 : number % 10000;
  return std::to_string(major) + "." + std::to_string(rest / 100) + "." +
         std::to_string(rest % 100);
}

GpuLibraries ask_gpu_libraries() {
  const GpuLibraries silent{"none: its library did not answer within ten seconds, or crashed", "",
                            "not asked"};
  const std::string text = child_output([](int out) { write_all(out, asked_here()); }, kLimit);
  const std::vector<std::string> lines = text::split(text, '\n');
  return lines.size() < 3 ? silent : GpuLibraries{lines[0], lines[1], lines[2]};
}

}  // namespace tutti::topo
