// A program resets a GPU: all that was in its primary context is gone.
#include <cstdio>
#include <cstdlib>

#include "standin.h"

namespace standin {

void must_live(bool is_stale, const char* what) {
  if (!is_stale) return;
  std::fprintf(stderr, "stand-in GPU: a %s of a context that was reset is used\n", what);
  std::abort();
}

namespace {

template <class Handle>
void end(Handle* handle) {
  if (handle == nullptr) return;
  handle->is_stale = true;
  state().stale.push_back(handle);
}
template <class Handle>
void end_all(std::vector<Handle*>& handles) {
  for (Handle* each : handles) end(each);
  handles.clear();
}

void free_all(const CUctx_st& context) {
  std::vector<Allocation> gone;
  for (const auto& [begin, allocation] : state().allocations)
    if (allocation.context == &context && allocation.is_live) gone.push_back(allocation);
  for (const Allocation& each : gone)
    if (release(each.begin, each.kind, each.kind) != CUDA_SUCCESS)
      state().allocations.erase(each.begin);  // registered, or another process's
}

}  // namespace
}  // namespace standin

using namespace standin;

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  ENTER("cuDevicePrimaryCtxReset");
  if (device < 0 || device >= static_cast<int>(state().gpus.size()))
    return CUDA_ERROR_INVALID_DEVICE;
  Gpu& gpu = *state().gpus[static_cast<std::size_t>(device)];
  CUctx_st& context = gpu.primary;
  await_all(lock);
  free_all(context);
  end_all(context.streams);
  end_all(context.events);
  end_all(context.modules);
  end(context.legacy.release());
  end(context.per_thread.release());
  ++context.resets;
  gpu.retained = 0;
  return CUDA_SUCCESS;
}
