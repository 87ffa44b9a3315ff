// Which GPU may touch which memory: its own; a neighbour's that was opened for it; a mapping or a
// pool that was made accessible to it. The driver copies between any two.
#include <algorithm>

#include "standin.h"

namespace standin {
namespace {

constinit thread_local int working = kAnyGpu;

std::uint64_t bit_of(int device) {
  return device < 0 ? 0 : std::uint64_t{1} << device;
}

}  // namespace

bool are_peers(int number, int other) {
  const std::string& told = state().peers;
  if (told.find('-') == std::string::npos) return told != "0";
  const auto [low, high] = std::minmax(number, other);
  const std::string pair = "," + std::to_string(low) + "-" + std::to_string(high) + ",";
  return ("," + told + ",").find(pair) != std::string::npos;
}

bool may_open(int device, int number) {
  if (device < 0 || device >= static_cast<int>(state().gpus.size())) return false;
  const int ours = state().gpus[static_cast<std::size_t>(device)]->number;
  return ours == number || are_peers(ours, number);
}

void let_in(std::uint64_t& gpus, int device, bool is_in) {
  if (is_in)
    gpus |= bit_of(device);
  else
    gpus &= ~bit_of(device);
}

bool may_touch(const Allocation& memory, int device) {
  if (memory.kind >= Kind::pinned) return true;
  const std::uint64_t gpus = memory.pool != nullptr ? memory.pool->open_to : memory.open_to;
  return device == kAnyGpu ? gpus != 0 : (gpus & bit_of(device)) != 0;
}

void work_on(int device) {
  working = device;
}
int working_gpu() {
  return working;
}

}  // namespace standin
