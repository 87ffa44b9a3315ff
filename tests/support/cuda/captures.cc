// Streams that are captured: of a graph there is nothing but what spoils it.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "standin.h"

namespace standin {
namespace {

constinit thread_local CUstreamCaptureMode own_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

const void* this_thread() {
  return &own_mode;
}

// A relaxed thread is forbidden nothing by any capture, a relaxed capture forbids nothing. Else a
// thread is forbidden things by its own, and a global one by all that are global.
bool forbids(const CUstream_st& stream) {
  if (own_mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
      stream.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
    return false;
  return stream.captured_by == this_thread() ||
         (own_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
          stream.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

// The captured stream that the current context's default stream would have to wait for.
CUstream_st* in_way_of_default(CUstream stream) {
  if (stream != nullptr && stream != CU_STREAM_LEGACY) return nullptr;
  for (CUstream_st* each : state().captured)
    if (each->is_blocking && each->context == current()) return each;
  return nullptr;
}

}  // namespace

CUresult spoil_by(const char* name) {
  for (CUstream_st* each : state().captured) {
    if (!forbids(*each)) continue;
    each->is_spoilt = true;
    std::fprintf(stderr, "stand-in: %s spoils a capture\n", name);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return CUDA_SUCCESS;
}

CUresult spoil_by_default(CUstream stream) {
  CUstream_st* const captured = in_way_of_default(stream);
  if (captured == nullptr) return CUDA_SUCCESS;
  captured->is_spoilt = true;
  std::fprintf(stderr, "stand-in: work in the default stream spoils a capture\n");
  return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

bool is_captured(CUstream stream) {
  const auto& all = state().captured;
  return std::find(all.begin(), all.end(), stream) != all.end();
}

}  // namespace standin

using namespace standin;

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  ENTER("cuStreamBeginCapture");
  if (is_captured(stream)) return CUDA_ERROR_ILLEGAL_STATE;
  stream->capture_mode = mode;
  stream->captured_by = this_thread();
  stream->is_spoilt = false;
  state().captured.push_back(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  ENTER("cuStreamEndCapture");
  if (std::erase(state().captured, stream) == 0) return CUDA_ERROR_ILLEGAL_STATE;
  *graph = nullptr;
  return stream->is_spoilt ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph) {
  ENTER("cuGraphDestroy");
  return CUDA_ERROR_INVALID_VALUE;  // there is none
}
// To ask of the default stream spoils nothing.
CUresult cuStreamIsCapturing(CUstream on, CUstreamCaptureStatus* status) {
  ENTER("cuStreamIsCapturing");
  const CUstream_st* const stream = stream_of(on);
  if (stream == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (in_way_of_default(on) != nullptr) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  *status = is_captured(on) ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  ENTER("cuThreadExchangeStreamCaptureMode");
  std::swap(*mode, own_mode);
  return CUDA_SUCCESS;
}
