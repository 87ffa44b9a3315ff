// Of a build without CUDA.
#include "base/log.h"
#include "device/device.h"

namespace tutti::device {

std::unique_ptr<types::Vendor> find_gpus(const Knobs& knobs) {
  if (knobs.text("TUTTI_GPU_SUPPORT") == "yes")
    log::warn(
        "TUTTI_GPU_SUPPORT=yes, but this Tutti was built without CUDA (-Dcuda=enabled, with nvcc); "
        "GPU memory is not known");
  return nullptr;
}

bool has_driver() {
  return false;
}

}  // namespace tutti::device
