// What an address is to CUDA, and to whom its work goes.
#include "device/cuda/pointers.h"

#include <sys/mman.h>
#include <unistd.h>

#include "catch.h"
#include "device/cuda/heap.h"
#include "device/device.h"
#include "driver.h"

namespace {

using namespace tutti;
using device::cuda::PointerKind;
using device::cuda::Pointers;
using test::Gpus;

const void* address_of(CUdeviceptr pointer) {
  return reinterpret_cast<const void*>(pointer);
}

}  // namespace

TEST_CASE("each kind of memory is told", "[device]") {
  const Gpus gpus;
  REQUIRE(gpus.found);
  Pointers pointers(gpus.driver);
  int here = 0;
  CHECK(pointers.find(&here).kind == PointerKind::host);
  CHECK(pointers.find(nullptr).kind == PointerKind::host);
  const CUdeviceptr plain = Gpus::take(1000);
  for (int again = 0; again < 2; ++again) {
    CHECK(pointers.find(address_of(plain)).kind == PointerKind::device);
    CHECK(pointers.find(address_of(plain + 999)).kind == PointerKind::device);
    CHECK(pointers.find(address_of(plain)).ordinal == 0);
    CHECK(pointers.find(address_of(plain)).context == gpus.context);
  }
  void* pinned = nullptr;
  CUdeviceptr managed = 0, pooled = 0, mapped = 0;
  cuMemHostAlloc(&pinned, 100, 0);
  cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL);
  cuMemAllocAsync(&pooled, 100, nullptr);
  CHECK(pointers.find(pinned).kind == PointerKind::registered);
  CHECK(pointers.find(pinned).is_host());
  std::vector<std::byte> registered(8192);
  cuMemHostRegister(registered.data(), registered.size(), 0);
  CHECK(pointers.find(registered.data() + 100).kind == PointerKind::registered);
  cuMemHostUnregister(registered.data());
  CHECK(pointers.find(registered.data() + 100).kind == PointerKind::host);
  CHECK(pointers.find(address_of(managed)).kind == PointerKind::managed);
  CHECK(pointers.find(address_of(pooled)).kind == PointerKind::pool);
  CHECK(pointers.find(address_of(pooled)).context == nullptr);
  CUmemGenericAllocationHandle handle = 0;
  cuMemAddressReserve(&mapped, 4096, 0, 0, 0);
  cuMemCreate(&handle, 4096, nullptr, 0);
  cuMemMap(mapped, 4096, 0, handle, 0);
  CHECK(pointers.find(address_of(mapped)).kind == PointerKind::vmm);
  cuMemFree(plain);
  CHECK(pointers.find(address_of(plain)).kind == PointerKind::freed);
  CHECK(pointers.find(address_of(plain + 500)).kind == PointerKind::freed);
  cuMemFree(managed);
  cuMemFreeHost(pinned);
}

TEST_CASE("knowledge of an allocation ends with it", "[device]") {
  const Gpus gpus;
  Pointers pointers(gpus.driver);
  // More than are kept, so that places are taken over.
  std::vector<CUdeviceptr> all;
  for (int i = 0; i < 700; ++i) {
    all.push_back(Gpus::take(64));
    CHECK(pointers.find(address_of(all.back())).kind == PointerKind::device);
  }
  for (const CUdeviceptr each : all) cuMemFree(each);
  // The same address, mapped again: another allocation.
  CUdeviceptr mapped = 0;
  CUmemGenericAllocationHandle handle = 0;
  cuMemAddressReserve(&mapped, 4096, 0, 0, 0);
  cuMemCreate(&handle, 4096, nullptr, 0);
  for (int again = 0; again < 3; ++again) {
    cuMemMap(mapped, 4096, 0, handle, 0);
    CHECK(pointers.find(address_of(mapped)).kind == PointerKind::vmm);
    cuMemUnmap(mapped, 4096);
    CHECK(pointers.find(address_of(mapped)).kind == PointerKind::freed);
  }
}

TEST_CASE("memory that was freed before anybody asked is nobody's", "[device]") {
  const Gpus gpus;
  Pointers pointers(gpus.driver);
  const CUdeviceptr plain = Gpus::take(1000);
  CUdeviceptr pooled = 0;  // not managed memory, whose pages are anybody's again
  cuMemAllocAsync(&pooled, 100, nullptr);
  cuMemFree(plain);
  cuMemFreeAsync(pooled, nullptr);
  for (int again = 0; again < 2; ++again)
    for (const CUdeviceptr freed : {plain, plain + 500, pooled})
      CHECK(pointers.find(address_of(freed)).kind == PointerKind::nobody);
  CHECK_FALSE(pointers.find(address_of(plain)).is_host());
}

TEST_CASE("readable memory is asked for once a page, until an allocation is new", "[device]") {
  const Gpus gpus;
  Pointers pointers(gpus.driver);
  constexpr std::size_t kPages = 3, kPage = 4096;
  void* const room =
      ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(room != MAP_FAILED);
  auto* const memory = static_cast<std::byte*>(room);
  for (std::size_t at = 0; at < kPages * kPage; at += 64)
    CHECK(pointers.find(memory + at).kind == PointerKind::host);
  CHECK(pointers.looked() == kPages);
  ::mprotect(room, kPage, PROT_NONE);
  CHECK(pointers.find(memory + kPage).kind == PointerKind::host);
  const CUdeviceptr fresh = Gpus::take(100);
  CHECK(pointers.find(address_of(fresh)).kind == PointerKind::device);
  CHECK(pointers.find(memory).kind == PointerKind::nobody);
  CHECK(pointers.find(memory + kPage - 1).kind == PointerKind::nobody);
  CHECK(pointers.find(memory + kPage).kind == PointerKind::host);
  cuMemFree(fresh);
  ::munmap(room, kPages * kPage);
}

TEST_CASE("where CUDA has no GPU all memory is the host's", "[device]") {
  const Gpus gpus;
  device::cuda::Driver without;
  REQUIRE(without.find());
  static CUresult said = CUDA_SUCCESS;
  without.cuPointerGetAttributes = [](unsigned, CUpointer_attribute*, void**, CUdeviceptr) {
    return said;
  };
  Pointers pointers(without);
  int here = 0;
  for (const CUresult each :
       {CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_STUB_LIBRARY, CUDA_ERROR_NO_DEVICE,
        CUDA_ERROR_SYSTEM_NOT_READY, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
        CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE}) {
    said = each;
    CHECK(pointers.find(&here).kind == PointerKind::host);
  }
}

TEST_CASE("a GPU that is lost leaves the host's memory what it was", "[device]") {
  const Gpus gpus;
  device::cuda::Driver driver;
  REQUIRE(driver.find());
  static CUresult lost = CUDA_SUCCESS;
  driver.cuPointerGetAttributes = [](unsigned count, CUpointer_attribute* which, void** values,
                                     CUdeviceptr address) {
    return lost != CUDA_SUCCESS ? lost : cuPointerGetAttributes(count, which, values, address);
  };
  Pointers pointers(driver);
  CUdeviceptr managed = 0;  // which the processor can read, too
  cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL);
  const CUdeviceptr known = Gpus::take(1000), unseen = Gpus::take(1000);
  int before = 0, after = 0;
  CHECK(pointers.find(&before).kind == PointerKind::host);
  CHECK(pointers.find(address_of(known)).kind == PointerKind::device);
  CHECK(pointers.find(address_of(managed)).kind == PointerKind::managed);
  lost = CUDA_ERROR_LAUNCH_FAILED;
  for (const int* const host : {&before, &after})
    CHECK(pointers.find(host).kind == PointerKind::host);
  for (const CUdeviceptr gone : {known, known + 999, unseen, managed}) {
    CHECK(pointers.find(address_of(gone)).kind == PointerKind::unknown);
    CHECK(pointers.find(address_of(gone)).failure == lost);
  }
  lost = CUDA_SUCCESS;
  for (const CUdeviceptr each : {known, unseen, managed}) cuMemFree(each);
}

TEST_CASE("the knob turns it off", "[device]") {
  const auto knobs = [](const char* value) {
    return *Knobs::read([value](std::string_view name) -> const char* {
      return name == "TUTTI_GPU_SUPPORT" ? value : nullptr;
    });
  };
  CHECK(device::find_gpus(knobs("no")) == nullptr);
  CHECK(device::find_gpus(knobs("yes")) != nullptr);
  CHECK(device::find_gpus(knobs("auto")) != nullptr);  // the stand-in is loaded
}

TEST_CASE("an address leads to its GPU, another's to another", "[device]") {
  const Gpus gpus;
  const auto vendor = device::find_gpus(Knobs::defaults());
  REQUIRE(vendor != nullptr);
  int here = 0;
  CHECK(vendor->owner_of(&here) == nullptr);
  const CUdeviceptr first = Gpus::take(100);
  types::Device* const gpu = vendor->owner_of(address_of(first));
  REQUIRE(gpu != nullptr);
  CHECK(gpu->number() == 0);
  CHECK(vendor->owner_of(address_of(first + 99)) == gpu);
  CUcontext other = nullptr;
  cuDevicePrimaryCtxRetain(&other, 1);
  cuCtxPushCurrent(other);
  const CUdeviceptr second = Gpus::take(100);
  cuCtxPopCurrent(&other);
  types::Device* const far = vendor->owner_of(address_of(second));
  REQUIRE(far != nullptr);
  CHECK(far->number() == 1);
  CUcontext current = nullptr;
  cuCtxGetCurrent(&current);
  CHECK(current == gpus.context);  // the caller's, as before
  cuMemFree(first);
  types::Device* const freed = vendor->owner_of(address_of(first));
  REQUIRE(freed != nullptr);
  CHECK_FALSE(freed->is_usable());
}

TEST_CASE("the heap, as long as it is now, is the host's, and nobody is asked", "[device]") {
  const Gpus gpus;
  const auto vendor = device::find_gpus(Knobs::defaults());
  const auto asked = [] { return tutti_standin_count("cuPointerGetAttributes"); };
  int here = 0;
  CHECK(vendor->owner_of(&here) == nullptr);
  const auto before = asked();
  const device::cuda::Heap heap;
  constexpr int kMore = 8192;
  // Nothing is allocated until it has shrunk again: malloc would go on behind what has grown.
  auto* const grown = static_cast<std::byte*>(::sbrk(kMore));
  const bool has_first = heap.has(grown), has_last = heap.has(grown + kMore - 1);
  const bool has_next = heap.has(grown + kMore);
  const bool is_gpus = vendor->owner_of(grown) != nullptr;
  if (static_cast<void*>(grown) != reinterpret_cast<void*>(-1)) ::sbrk(-kMore);
  const bool has_gone = heap.has(grown);
  REQUIRE(static_cast<void*>(grown) != reinterpret_cast<void*>(-1));
  CHECK(has_first);
  CHECK(has_last);
  CHECK_FALSE(has_next);
  CHECK_FALSE(has_gone);
  CHECK_FALSE(is_gpus);
  CHECK(asked() == before);
  static int there = 0;
  void* const mapped =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const CUdeviceptr gpus_own = Gpus::take(100);
  for (const void* other :
       {static_cast<const void*>(&here), static_cast<const void*>(&there),
        static_cast<const void*>(mapped), address_of(gpus_own), static_cast<const void*>(nullptr)})
    CHECK_FALSE(heap.has(other));
  ::munmap(mapped, 4096);
  CHECK(vendor->owner_of(&here) == nullptr);
  CHECK(asked() == before + 1);
}
