// vendor: whose an address is, and the GPUs that this process has memory of so far.
//
// The program may load libcuda at any time, or never: a counter of the loader's says whether
// anything was loaded since we looked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/cuda/gpu.h"
#include "device/cuda/heap.h"
#include "device/cuda/ipc.h"
#include "device/cuda/pointers.h"
#include "device/cuda/unusable.h"

namespace tutti::device::cuda {

class Cuda final : public types::Vendor {
 public:
  types::Device* owner_of(const void* address, bool begins_call) override;
  bool is_for_libraries(const void* address, bool begins_call) override;
  bool ask_for_devices(bool may_start) override;
  int chosen_device() override;
  int progress() override;
  bool one_stands_behind_caller() override;
  const char* queue_type() const override { return "cudaStream_t"; }
  Result<std::unique_ptr<types::DeviceQueue>> open_queue(std::uintptr_t handle) override;
  void show_use_in(std::atomic<std::uint64_t>& bits) override { used_ = &bits; }
  void begin_thread() const override;
  void settle_kernels() override {
    for (const auto& gpu : gpus_) gpu->settle_kernels();
  }
  void set_enqueued(types::Enqueued* enqueued) override { driver_.enqueued = enqueued; }
  MemoryKind kind() const override { return MemoryKind::cuda; }
  Result<types::Exported> share(const Memory& memory, types::Courier& courier) override;
  Result<std::unique_ptr<types::Imported>> import(int from, BlobView key,
                                                  types::Courier& courier) override {
    return imports_.import(from, key, courier);
  }
  std::string reach_text(int from) const override { return imports_.reach_text(from); }

 private:
  bool find_driver();
  types::Device* refuse(const void* address, int ordinal, const std::string& why);
  Gpu* gpu_of(const Pointer& pointer, std::string* why);
  Result<Gpu*> gpu_of(CUstream stream);
  void prepare_active();
  void warn_of_queues(Gpu& gpu);
  void bury();
  CUcontext current_context(CUdevice* ordinal) const;
  CUcontext context_of(const Pointer& pointer, bool* is_primary, std::string* why) const;

  const Heap heap_;
  Driver driver_;
  bool is_found_ = false;
  bool has_none_ = false;         // its library could not be initialised
  unsigned long long loads_ = 0;  // as the loader counted them when we looked
  Pointers pointers_{driver_};
  std::vector<std::unique_ptr<Gpu>> gpus_;  // one a context
  // Of contexts that are no more: buffers of calls may name them still.
  std::vector<std::unique_ptr<Gpu>> gone_;
  bool warned_of_queues_ = false;
  std::atomic<std::uint64_t>* used_ = nullptr;  // null: nobody wants to know
  std::uint64_t asked_ = 0;  // allocations that the driver was asked about when we looked for such
  Unusable unusable_;
  Exports exports_{driver_};
  Imports imports_{driver_, gpus_};
};

bool has_driver();   // this host
bool has_library();  // this process has loaded it

}  // namespace tutti::device::cuda
