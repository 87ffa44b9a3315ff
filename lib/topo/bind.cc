// Binds the calling process to processors, between fork and exec.
//
// Only a system call on a mask on the stack: the child of a process with threads may do no
// more. The mask has as many bits as the largest Linux kernel can have processors (8192).
#include <sched.h>

#include <array>
#include <climits>

#include "topo/topo.h"

namespace tutti::topo {

bool bind_self(const std::vector<int>& os_indices) {
  constexpr std::size_t kMaxProcessors = 8192;
  constexpr std::size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;
  std::array<unsigned long, kMaxProcessors / kWordBits> mask{};
  for (const int index : os_indices) {
    if (index < 0 || static_cast<std::size_t>(index) >= kMaxProcessors) return false;
    const auto bit = static_cast<std::size_t>(index);
    mask[bit / kWordBits] |= 1UL << (bit % kWordBits);
  }
  return sched_setaffinity(0, sizeof(mask), reinterpret_cast<const cpu_set_t*>(mask.data())) == 0;
}

}  // namespace tutti::topo
