// pointers: what an address is to CUDA.
//
// The driver numbers allocations and never uses a number again, so what is known of an allocation
// is kept by its number: a pointer costs one question, a new allocation a few. What is asked for
// most is host memory, of which the driver knows nothing; so it is memory that can be read. What
// cannot is memory that was freed: of a GPU, if an allocation was there that we knew, else nobody
// can say whose. Pages that could be read are kept, until an allocation is new to us: it may have
// come where host memory was. Of a GPU that is lost the driver tells nothing any more: what can be
// read, and was no GPU's, is the host's still.
#pragma once

#include <array>
#include <cstddef>
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
  nobody,
  unknown
};
const char* name_of(PointerKind kind);

struct Pointer {
  PointerKind kind = PointerKind::host;
  int ordinal = -1;                 // of its GPU, where it has one
  CUcontext context = nullptr;      // it was allocated in; null: it belongs to none
  CUresult failure = CUDA_SUCCESS;  // of unknown ones
  unsigned long long id = 0;        // of its allocation; 0: it has no number
  CUdeviceptr begin = 0, end = 0;   // of its allocation, where the driver knows one
  bool is_there() const { return kind < PointerKind::freed; }
  // The processor's to load and store.
  bool is_host() const { return kind == PointerKind::host || kind == PointerKind::registered; }
};

// Pages of memory that the processor could read when it was asked for.
class ReadablePages {
 public:
  bool has(std::uintptr_t address) const { return kept_[place_of(address)] == last_of(address); }
  // Asks the kernel, and keeps the page if it can be read.
  bool look(std::uintptr_t address);
  void forget() { kept_ = {}; }

 private:
  static constexpr std::uintptr_t kPage = 4096;  // the least there is
  static constexpr int kKeptBits = 10;
  static std::uintptr_t last_of(std::uintptr_t address) { return address | (kPage - 1); }
  // Buffers that lie a power of two apart shall not meet in one place.
  static std::size_t place_of(std::uintptr_t address) {
    return (address / kPage * 0x9e3779b97f4a7c15U) >> (64 - kKeptBits);
  }
  std::array<std::uintptr_t, std::size_t{1} << kKeptBits> kept_ = {};  // their last bytes
};

class Pointers {
 public:
  explicit Pointers(const Driver& driver) : driver_(driver) {}
  // Holds until the next question.
  const Pointer& find(const void* address);
  std::uint64_t asked() const { return asked_; }    // allocations that were new to us, so far
  std::uint64_t looked() const { return looked_; }  // addresses that the kernel was asked about

 private:
  const Pointer& look_up(CUdeviceptr address, unsigned long long id);
  Pointer ask(CUdeviceptr address) const;
  const Pointer& without_id(std::uintptr_t address);
  const Pointer* known_at(std::uintptr_t address) const;  // of a GPU; null: none that is kept

  static constexpr std::size_t kKept = 256;
  const Driver& driver_;
  std::uint64_t asked_ = 0, looked_ = 0;
  ReadablePages readable_;
  std::array<Pointer, kKept> known_;                   // by number; 0: none
  Pointer other_;                                      // that is not kept
  std::uintptr_t lowest_ = UINTPTR_MAX, highest_ = 0;  // of all that were known
};

}  // namespace tutti::device::cuda
