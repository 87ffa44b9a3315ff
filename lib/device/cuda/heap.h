// heap: what an address is to nobody but the host, known without asking anybody.
//
// What lies between the program's first break and its break now is mapped as the heap, so that no
// driver finds room there for memory of its own (who unmaps pieces of it breaks malloc). Registered
// with a driver or not, it is worked on as host memory. malloc has short buffers there. Nothing can
// be kept of other host memory: it is unmapped unheard, and a GPU's may come to lie in its place.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace tutti::device::cuda {

class Heap {
 public:
  Heap();
  bool has(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= begin_ && at < reinterpret_cast<std::uintptr_t>(::sbrk(0));
  }

 private:
  std::uintptr_t begin_ = UINTPTR_MAX;  // where the kernel does not say: nothing is known
};

}  // namespace tutti::device::cuda
