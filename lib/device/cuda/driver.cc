// Looks up what driver.h lists.
#include "device/cuda/driver.h"

#include <dlfcn.h>

#include "base/log.h"

namespace tutti::device::cuda {
namespace {

template <class Member>
bool look_up(void* library, const char* name, Member& member) {
  if (member.find(library, name)) return true;
  log::warn(std::string("the libcuda.so.1 of this process has no ") + name +
            ": its driver is too old for us, and GPU memory is not known");
  return false;
}

}  // namespace

bool Driver::find() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return false;
#define TUTTI_CUDA_NAME_OF(name) #name
#define TUTTI_CUDA_NAME_OF_(name) TUTTI_CUDA_NAME_OF(name)
#define TUTTI_CUDA_LOOK_UP(name) \
  if (!look_up(library, TUTTI_CUDA_NAME_OF(name), name)) return false;
  TUTTI_CUDA_FUNCTIONS(TUTTI_CUDA_LOOK_UP)
#undef TUTTI_CUDA_LOOK_UP
  cuStreamBatchMemOp.find(library, TUTTI_CUDA_NAME_OF_(cuStreamBatchMemOp));
  cuCtxGetId.find(library, TUTTI_CUDA_NAME_OF_(cuCtxGetId));
#undef TUTTI_CUDA_NAME_OF_
#undef TUTTI_CUDA_NAME_OF
  return true;
}

CUresult Driver::may_touch_default() const {
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  return cuStreamIsCapturing(CU_STREAM_LEGACY, &capture);
}

CUresult Driver::record_default(CUevent event) const {
  const CUresult said = may_touch_default();
  return said == CUDA_SUCCESS ? cuEventRecord(event, CU_STREAM_LEGACY) : said;
}

CUresult Driver::query_default() const {
  const CUresult said = may_touch_default();
  return said == CUDA_SUCCESS ? cuStreamQuery(CU_STREAM_LEGACY) : said;
}

std::string Driver::text_of(CUresult result) const {
  const char *name = nullptr, *words = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) name = "an unknown error";
  if (cuGetErrorString(result, &words) != CUDA_SUCCESS || words == nullptr) return name;
  const char* const hint =
      result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
          ? "; a stream that waits for the default stream is being captured into a graph: call MPI "
            "before or after, or create that stream with cudaStreamNonBlocking"
          : "";
  return std::string(name) + " (" + words + ")" + hint;
}

}  // namespace tutti::device::cuda
