// area: memory of any kind for tests, by CUDA's driver interface: a real one or the stand-in.
//
// put() fills it by the default stream and does not wait: a call that is given the memory then has
// to. get() reads it by a copy that no stream of the library's is ordered with.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../ranks/check.h"

namespace gpu {

// The last two are made so that other processes can be given them. Segments are two mappings side
// by side, as PyTorch's expandable segments have them; the buffer lies in both.
enum class Kind {
  host,
  pinned,
  managed,
  device,
  other_device,
  pool,
  mapped,
  segments,
  shareable_pool,
  shareable_mapped
};
inline constexpr const char* kKindNames[] = {
    "host", "pinned", "managed",  "device",         "other device",
    "pool", "mapped", "segments", "shareable pool", "shareable mapped"};
inline constexpr int kKinds = std::size(kKindNames);
static_assert(kKinds == static_cast<int>(Kind::shareable_mapped) + 1);

inline void must(CUresult said, const char* what) {
  if (said == CUDA_SUCCESS) return;
  std::fprintf(stderr, "rank %d: %s gives CUDA error %d\n", ranks::rank, what,
               static_cast<int>(said));
  std::exit(3);
}
#define CU(...) ::gpu::must(__VA_ARGS__, #__VA_ARGS__)

inline CUcontext contexts[2] = {};  // of the GPU that is current, and of another one, or the same

// The GPU of this rank is current afterwards.
inline void begin() {
  int devices = 0;
  CU(cuInit(0));
  CU(cuDeviceGetCount(&devices));
  for (int i = 0; i < 2; ++i)
    CU(cuDevicePrimaryCtxRetain(&contexts[i], (ranks::rank + i) % devices));
  CU(cuCtxSetCurrent(contexts[0]));
}

// Memory for bytes; `data` is what calls are given.
class Area {
 public:
  Area(std::size_t bytes, Kind kind) : bytes_(bytes == 0 ? 1 : bytes), kind_(kind) {
    if (kind == Kind::other_device) CU(cuCtxSetCurrent(contexts[1]));
    switch (kind) {
      case Kind::host:
        data_ = reinterpret_cast<CUdeviceptr>(std::malloc(bytes_));
        break;
      case Kind::pinned:
        CU(cuMemHostAlloc(reinterpret_cast<void**>(&data_), bytes_, 0));
        break;
      case Kind::managed:
        CU(cuMemAllocManaged(&data_, bytes_, CU_MEM_ATTACH_GLOBAL));
        break;
      case Kind::device:
      case Kind::other_device:
        CU(cuMemAlloc(&data_, bytes_));
        break;
      case Kind::pool:
        CU(cuMemAllocAsync(&data_, bytes_, nullptr));
        CU(cuStreamSynchronize(nullptr));
        break;
      case Kind::shareable_pool:
        CU(cuMemAllocFromPoolAsync(&data_, bytes_, shareable_pool(), nullptr));
        CU(cuStreamSynchronize(nullptr));
        break;
      case Kind::mapped:
      case Kind::segments:
      case Kind::shareable_mapped:
        map();
        break;
    }
    if (kind == Kind::other_device) CU(cuCtxSetCurrent(contexts[0]));
    if (!is_host()) CU(cuMemHostAlloc(&mirror_, bytes_, 0));
  }
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;
  ~Area() {
    free();
    if (mirror_ != nullptr) CU(cuMemFreeHost(mirror_));
  }
  void free() {
    const CUdeviceptr data = std::exchange(data_, 0);
    if (data == 0) return;
    if (kind_ == Kind::host) return std::free(reinterpret_cast<void*>(data));
    if (kind_ == Kind::pinned) return CU(cuMemFreeHost(reinterpret_cast<void*>(data)));
    if (kind_ == Kind::pool || kind_ == Kind::shareable_pool)
      return CU(cuMemFreeAsync(data, nullptr));
    if (mappings_.empty()) return CU(cuMemFree(data));
    CU(cuStreamSynchronize(nullptr));  // what put() began: unmapping waits for nothing
    for (const Mapping& each : mappings_) {
      CU(cuMemUnmap(each.at, each.bytes));
      CU(cuMemRelease(each.handle));
    }
    mappings_.clear();
  }

  void* data() const { return reinterpret_cast<void*>(data_); }
  bool is_host() const { return kind_ == Kind::host || kind_ == Kind::pinned; }
  void put(const void* content, std::size_t bytes, std::size_t at = 0) {
    if (bytes == 0) return;
    if (is_host()) {
      std::memcpy(static_cast<std::byte*>(data()) + at, content, bytes);
      return;
    }
    enter();
    if (std::exchange(is_mirror_read_, true)) CU(cuStreamSynchronize(nullptr));
    std::byte* const mirror = static_cast<std::byte*>(mirror_) + at;
    std::memcpy(mirror, content, bytes);
    CU(cuMemcpyAsync(data_ + at, reinterpret_cast<CUdeviceptr>(mirror), bytes, nullptr));
    leave();
  }
  void get(void* content, std::size_t bytes, std::size_t at = 0) {
    if (bytes == 0) return;
    if (is_host()) {
      std::memcpy(content, static_cast<const std::byte*>(data()) + at, bytes);
      return;
    }
    enter();
    // Behind what put() began. The driver's own copy that waits would let no other thread's work
    // begin meanwhile.
    std::byte* const mirror = static_cast<std::byte*>(mirror_) + at;
    CU(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(mirror), data_ + at, bytes, nullptr));
    CU(cuStreamSynchronize(nullptr));
    std::memcpy(content, mirror, bytes);
    is_mirror_read_ = false;
    leave();
  }

 private:
  void enter() const {
    if (kind_ == Kind::other_device) CU(cuCtxSetCurrent(contexts[1]));
  }
  void leave() const {
    if (kind_ == Kind::other_device) CU(cuCtxSetCurrent(contexts[0]));
  }
  static CUmemoryPool shareable_pool() {
    static CUmemoryPool pool = nullptr;  // as long as the process
    if (pool != nullptr) return pool;
    CUdevice device = 0;
    CU(cuCtxGetDevice(&device));
    CUmemPoolProps of = {};
    of.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    of.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    of.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    of.location.id = device;
    CU(cuMemPoolCreate(&pool, &of));
    return pool;
  }
  struct Mapping {
    CUdeviceptr at;
    std::size_t bytes;
    CUmemGenericAllocationHandle handle;
  };
  void map() {
    constexpr std::size_t kGrain = std::size_t{2} << 20, kAligned = 256;
    const bool is_cut = kind_ == Kind::segments;
    const std::size_t before = is_cut ? std::min(bytes_ / 2, kGrain) / kAligned * kAligned : 0;
    const std::size_t rest = (bytes_ - before + kGrain - 1) / kGrain * kGrain;
    const std::size_t first = is_cut ? kGrain : 0;
    CUdeviceptr range = 0;
    CU(cuMemAddressReserve(&range, first + rest, 0, 0, 0));
    if (is_cut) map_at(range, first);
    map_at(range + first, rest);
    data_ = range + first - before;
    bytes_ = before + rest;
  }
  void map_at(CUdeviceptr at, std::size_t bytes) {
    CUdevice device = 0;
    CU(cuCtxGetDevice(&device));
    CUmemAllocationProp of = {};
    of.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    of.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    of.location.id = device;
    if (kind_ != Kind::mapped) of.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemAccessDesc access = {};
    access.location = of.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUmemGenericAllocationHandle handle = 0;
    CU(cuMemCreate(&handle, bytes, &of, 0));
    CU(cuMemMap(at, bytes, 0, handle, 0));
    CU(cuMemSetAccess(at, bytes, &access, 1));
    mappings_.push_back({at, bytes, handle});
  }

  std::size_t bytes_;
  const Kind kind_;
  CUdeviceptr data_ = 0;
  void* mirror_ = nullptr;
  bool is_mirror_read_ = false;  // perhaps: by a copy that put() began
  std::vector<Mapping> mappings_;
};

// Elements in memory of some kind.
template <class T>
class Vector {
 public:
  Vector(const std::vector<T>& content, Kind kind)
      : size_(content.size()), area_(size_ * sizeof(T), kind) {
    put(content);
  }
  void put(const std::vector<T>& content) { area_.put(content.data(), size_ * sizeof(T)); }
  std::vector<T> get() {
    std::vector<T> content(size_);
    area_.get(content.data(), size_ * sizeof(T));
    return content;
  }
  T* data() const { return static_cast<T*>(area_.data()); }
  Area& area() { return area_; }

 private:
  std::size_t size_;
  Area area_;
};

// Luck of this rank's own: no member knows the others' kinds. GPU_TEST_SEED gives other luck; with
// GPU_TEST_ON_HOST all of this rank's is the host's.
inline std::mt19937& luck() {
  static const char* const seed = std::getenv("GPU_TEST_SEED");
  static std::mt19937 engine(static_cast<unsigned>(ranks::rank * 7919) +
                             (seed == nullptr ? 17U : static_cast<unsigned>(std::atoi(seed))));
  return engine;
}
inline Kind any_kind() {
  static const bool is_on_host = std::getenv("GPU_TEST_ON_HOST") != nullptr;
  const Kind drawn = static_cast<Kind>(luck()() % kKinds);
  return is_on_host ? Kind::host : drawn;
}

// Memory that no call can use.
inline bool is_refused(int code) {
  int error = MPI_SUCCESS;
  MPI_Error_class(code, &error);
  return error == MPI_ERR_BUFFER;
}

}  // namespace gpu
