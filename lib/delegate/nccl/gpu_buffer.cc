// In the GPU's primary context, as NCCL's own memory.
#include "delegate/nccl/gpu_buffer.h"

#include <optional>

#include "device/cuda/current.h"
#include "device/cuda/life.h"

namespace tutti::delegate::nccl {
namespace {

using device::cuda::Current;
using device::cuda::Driver;
using device::cuda::Life;

class PrimaryBuffer final : public GpuBuffer {
 public:
  explicit PrimaryBuffer(int device) : device_(device) {}
  PrimaryBuffer(const PrimaryBuffer&) = delete;
  PrimaryBuffer& operator=(const PrimaryBuffer&) = delete;
  // The program may have ended CUDA before MPI: then there is nothing to give back.
  ~PrimaryBuffer() override {
    if (!life_ || life_->is_over()) return;
    if (const Current current(driver_, context_); current && at_ != 0) driver_.cuMemFree(at_);
    driver_.cuDevicePrimaryCtxRelease(device_);
  }
  Result<void> take(std::size_t bytes) {
    if (!driver_.find()) return fail(Code::unsupported, "this process has not loaded libcuda.so.1");
    if (const CUresult said = driver_.cuDevicePrimaryCtxRetain(&context_, device_);
        said != CUDA_SUCCESS)
      return fail(Code::other, driver_.text_of(said));
    life_.emplace(driver_, context_);
    const Current current(driver_, context_);
    if (const CUresult said = driver_.cuMemAlloc(&at_, bytes); said != CUDA_SUCCESS) {
      at_ = 0;
      return fail(Code::no_mem, driver_.text_of(said));
    }
    return {};
  }
  std::byte* at() const override { return reinterpret_cast<std::byte*>(at_); }
  bool is_lost() const override { return life_->is_over(); }

 private:
  const int device_;
  Driver driver_;
  CUcontext context_ = nullptr;
  std::optional<Life> life_;  // of a context that is held
  CUdeviceptr at_ = 0;
};

}  // namespace

Result<std::unique_ptr<GpuBuffer>> take_buffer(int device, std::size_t bytes) {
  auto buffer = std::make_unique<PrimaryBuffer>(device);
  TUTTI_DO(buffer->take(bytes));
  return std::unique_ptr<GpuBuffer>(std::move(buffer));
}

}  // namespace tutti::delegate::nccl
