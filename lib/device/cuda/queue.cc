// A stream writes a word and waits for another one.
#include "device/cuda/queue.h"

#include <array>
#include <cstdio>

#include "device/cuda/current.h"
#include "device/cuda/gpu.h"

namespace tutti::device::cuda {
namespace {

CUdeviceptr address_of(const std::atomic<std::uint32_t>& word) {
  return reinterpret_cast<CUdeviceptr>(&word);
}

CUstreamBatchMemOpParams write(const std::atomic<std::uint32_t>& word, std::uint32_t number) {
  CUstreamBatchMemOpParams params = {};
  params.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  params.writeValue.address = address_of(word);
  params.writeValue.value = number;
  params.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;  // behind a fence
  return params;
}

CUstreamBatchMemOpParams wait(const std::atomic<std::uint32_t>& word, std::uint32_t number) {
  CUstreamBatchMemOpParams params = {};
  params.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  params.waitValue.address = address_of(word);
  params.waitValue.value = number;
  params.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;  // numbers go round
  return params;
}

}  // namespace

Result<void> QueueRoom::open() {
  if (all_ != nullptr) return {};
  void* memory = nullptr;
  const CUresult said = driver_.cuMemHostAlloc(
      &memory, kMost * sizeof(QueueWords), CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  if (said != CUDA_SUCCESS)
    return fail(Code::no_mem, "pinned memory for streams: " + driver_.text_of(said));
  all_ = static_cast<QueueWords*>(memory);
  for (std::size_t i = kMost; i-- > 0;) free_.push_back(new (all_ + i) QueueWords{0, 0});
  return {};
}

void QueueRoom::close() {
  if (all_ != nullptr) driver_.cuMemFreeHost(all_);
  all_ = nullptr;
  free_.clear();
}

QueueWords* QueueRoom::take() {
  if (free_.empty()) return nullptr;
  QueueWords* const words = free_.back();
  free_.pop_back();
  return words;
}

Result<std::unique_ptr<types::DeviceQueue>> Queue::open(const Driver& driver, Gpu& gpu,
                                                        CUstream stream) {
  QueueWords* const words = gpu.queues().take();
  if (words == nullptr)
    return fail(Code::no_mem, "GPU " + std::to_string(gpu.number()) +
                                  " has 512 streams that calls are enqueued in; free some of them");
  return std::unique_ptr<types::DeviceQueue>(new Queue(driver, gpu, stream, *words));
}

Queue::Queue(const Driver& driver, Gpu& gpu, CUstream stream, QueueWords& words)
    : driver_(driver), gpu_(gpu), stream_(stream), words_(words), last_(reached()) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", static_cast<void*>(stream));
  name_ = "stream " + std::string(stream == nullptr ? "0" : text) + " of GPU " +
          std::to_string(gpu.number());
}

Queue::~Queue() {
  if (gpu_.is_gone()) return;                              // and the words with it
  words_.reached.store(last_, std::memory_order_relaxed);  // the next user takes the gate first
  pass(last_);
  gpu_.queues().give(&words_);
}

Result<void> Queue::look() const {
  const Current current(driver_, gpu_.context());
  return must_not_be_captured();
}

// Its context is current.
Result<void> Queue::must_not_be_captured() const {
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult said = driver_.cuStreamIsCapturing(stream_, &capture);
  if (capture != CU_STREAM_CAPTURE_STATUS_NONE || said == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    return fail(Code::unsupported,
                name_ +
                    " is being captured into a graph, which calls of MPI cannot become part of; "
                    "enqueue them between the launches of graphs");
  if (said == CUDA_SUCCESS) return {};
  return fail(Code::other, name_ + ": " + driver_.text_of(said));
}

Result<void> Queue::mark(std::uint32_t number, bool waits) {
  const Current current(driver_, gpu_.context());
  TUTTI_DO(must_not_be_captured());
  std::array operations = {write(words_.reached, number), wait(words_.passed, number)};
  last_ = number;
  const CUresult said = driver_.cuStreamBatchMemOp(stream_, waits ? 2 : 1, operations.data(), 0);
  if (said == CUDA_SUCCESS) return {};
  return fail(Code::other, name_ + ": " + driver_.text_of(said));
}

int Queue::device() const {
  return gpu_.number();
}

bool Queue::is_lost() const {
  return gpu_.is_lost();
}

}  // namespace tutti::device::cuda
