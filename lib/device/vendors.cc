// The vendors that this build has: CUDA.
#include "device/cuda/vendor.h"
#include "device/device.h"

namespace tutti::device {

std::unique_ptr<types::Vendor> find_gpus(const Knobs& knobs) {
  const std::string& support = knobs.text("TUTTI_GPU_SUPPORT");
  if (support == "no") return nullptr;
  if (support != "yes" && !cuda::has_library() && !cuda::has_driver()) return nullptr;
  return std::make_unique<cuda::Cuda>();
}

bool has_driver() {
  return cuda::has_driver();
}

}  // namespace tutti::device
