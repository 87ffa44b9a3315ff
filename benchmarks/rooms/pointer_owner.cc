// What a host-only program on a machine with GPUs pays for each buffer: whose an address is, asked
// while libcuda is not loaded. `pointer_figures` (tests/gpu) has the same where it is.
//
//   pointer_owner LIBRARY...    with these loaded beside
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "device/device.h"

using namespace tutti;

namespace {

constexpr int kCalls = 100'000;
constexpr int kTimes = 31;

double ns_per_call(types::Vendor& vendor, const void* address) {
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    const std::int64_t began = now_ns();
    for (int k = 0; k < kCalls; ++k)
      if (vendor.owner_of(address) != nullptr) return 0;
    times.push_back(static_cast<double>(now_ns() - began) / kCalls);
  }
  std::sort(times.begin(), times.end());
  return times[kTimes / 2];
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (::dlopen(argv[i], RTLD_NOW) == nullptr) std::printf("%s\n", ::dlerror());
  const auto knobs = Knobs::read([](std::string_view name) -> const char* {
    return name == "TUTTI_GPU_SUPPORT" ? "yes" : nullptr;
  });
  const auto vendor = device::find_gpus(*knobs);
  if (vendor == nullptr) return 77;  // built without CUDA
  int here = 0;
  const auto there = std::make_unique<int>();
  std::printf("ns per address, median of %d times %d, libcuda not loaded\n", kTimes, kCalls);
  std::printf("  %-20s %6.2f\n", "on the stack", ns_per_call(*vendor, &here));
  std::printf("  %-20s %6.2f\n", "on the heap", ns_per_call(*vendor, there.get()));
  return 0;
}
