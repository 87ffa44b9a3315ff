// Whether this host may have GPUs.
#include "delegate/gpu_library.h"
#include "device/device.h"

namespace tutti::delegate {

bool may_have_gpus(const Knobs& knobs) {
  const std::string& support = knobs.text("TUTTI_GPU_SUPPORT");
  return support == "yes" || (support != "no" && device::has_driver());
}

}  // namespace tutti::delegate
