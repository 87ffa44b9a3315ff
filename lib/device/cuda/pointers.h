// pointers: what an address is to CUDA.
//
// The driver numbers allocations and never uses a number again, so what is known of an allocation
// is kept by its number: a pointer costs one question, a new allocation a few. What is asked for
// most is host memory, of which the driver knows nothing; such an address inside of an allocation
// that was there is memory that was freed.
#pragma once

#include <array>
#include <cstdint>

#include "device/cuda/driver.h"

namespace tutti::device::cuda {

enum class PointerKind : std::uint8_t {
  host,
  registered,
  managed,
  device,
  pool,
  vmm,
  freed,
  unknown
};
const char* name_of(PointerKind kind);

struct Pointer {
  PointerKind kind = PointerKind::host;
  int ordinal = -1;                 // of its GPU, of all but host memory
  CUcontext context = nullptr;      // it was allocated in; null: it belongs to none
  CUresult failure = CUDA_SUCCESS;  // of unknown ones
  // The processor's to load and store.
  bool is_host() const { return kind == PointerKind::host || kind == PointerKind::registered; }
};

class Pointers {
 public:
  explicit Pointers(const Driver& driver) : driver_(driver) {}
  Pointer find(const void* address);
  std::uint64_t asked() const { return asked_; }  // allocations that were new to us, so far

 private:
  struct Known {
    unsigned long long id = 0;  // 0: none
    std::uintptr_t begin = 0, end = 0;
    Pointer pointer;
  };
  Pointer look_up(CUdeviceptr address, unsigned long long id);
  Pointer ask(CUdeviceptr address, Known& known);
  Pointer without_id(std::uintptr_t address);
  void widen(const Known& known);

  static constexpr std::size_t kKept = 256;
  const Driver& driver_;
  std::uint64_t asked_ = 0;
  std::array<Known, kKept> known_;                     // by number
  std::uintptr_t lowest_ = UINTPTR_MAX, highest_ = 0;  // of all that were known
};

}  // namespace tutti::device::cuda
