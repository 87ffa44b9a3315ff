// Of a build without NCCL's header.
#include "delegate/gpu_library.h"

namespace tutti::delegate {

bool has_gpu_library() {
  return false;
}
bool serves_on_gpus(const GpuCall&) {
  return false;
}
Result<std::unique_ptr<GpuLibrary>> open_gpu_library() {
  return fail(Code::unsupported, "this Tutti was built without NCCL's header (-Dnccl=enabled)");
}

}  // namespace tutti::delegate
