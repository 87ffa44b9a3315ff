// Keys of neighbours' memory: what they say is not believed. Opening needs two processes
// (tests/gpu).
#include "device/cuda/ipc.h"

#include <algorithm>
#include <cstring>

#include "catch.h"
#include "device/device.h"
#include "driver.h"

namespace {

using namespace tutti;
using device::cuda::Gpu;
using device::cuda::IpcKey;
using device::cuda::kIpcKeyHead;
using device::cuda::OpenedMemory;
using device::cuda::Way;
using test::Gpus;

class NoCourier final : public types::Courier {
 public:
  Result<types::Exported> give(int) override { return fail(Code::other, "no descriptors here"); }
  Result<UniqueFd> take(BlobView) override { return fail(Code::other, "no descriptors here"); }
};

Blob bytes_of(const IpcKey& key, std::size_t bytes) {
  Blob blob(bytes);
  std::copy_n(reinterpret_cast<const std::byte*>(&key), bytes, blob.begin());
  return blob;
}

}  // namespace

TEST_CASE("a key names its allocation; what it says is not believed", "[device]") {
  const Gpus gpus;
  const auto vendor = device::find_gpus(Knobs::defaults());
  REQUIRE(vendor != nullptr);
  const CUdeviceptr memory = Gpus::take(100'000);
  void* const data = reinterpret_cast<void*>(memory + 1000);
  types::Device* const gpu = vendor->owner_of(data);
  REQUIRE(gpu != nullptr);
  NoCourier courier;
  const auto exported = vendor->share({data, 5000, MemoryKind::cuda, 0}, courier);
  REQUIRE(exported.has_value());
  IpcKey key;
  const BlobView blob = exported->key;
  REQUIRE(blob.size() == kIpcKeyHead + sizeof(CUipcMemHandle));
  std::memcpy(&key, blob.data(), blob.size());
  CHECK(key.place == memory);
  CHECK(key.allocated == 100'000);
  CHECK(key.offset == 1000);
  CHECK(key.bytes == 5000);
  CHECK_FALSE(vendor->share({data, 99'001, MemoryKind::cuda, 0}, courier).has_value());

  const auto refuses = [&](const IpcKey& bent, std::size_t bytes) {
    return !vendor->import(1, bytes_of(bent, bytes), courier).has_value();
  };
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, kIpcKeyHead - 1, blob.size() - 1,
                                  blob.size() + 1, sizeof(IpcKey)})
    CHECK(refuses(key, bytes));
  IpcKey bent = key;
  bent.offset = 95'001;
  CHECK(refuses(bent, blob.size()));
  bent = key;
  bent.bytes = UINT64_MAX;
  CHECK(refuses(bent, blob.size()));
  bent = key;
  bent.offset = UINT64_MAX;
  CHECK(refuses(bent, blob.size()));
  bent = key;
  bent.place = UINT64_MAX;
  CHECK(refuses(bent, blob.size()));
  bent = key;
  bent.kind = 7;
  CHECK(refuses(bent, blob.size()));

  // Ways 0 to 2 are refused because CUDA opens no handle in the process that made it; others are
  // none.
  const CUdeviceptr room = Gpus::take(5000);
  types::Buffer into = types::Buffer::plain(reinterpret_cast<void*>(room), 5000);
  into.device = vendor->owner_of(into.at());
  for (const int way : {0, 1, 2, 3, 255}) {
    bent = key;
    bent.way = static_cast<Way>(way);
    const auto imported = vendor->import(1, bytes_of(bent, blob.size()), courier);
    REQUIRE(imported.has_value());
    CHECK_FALSE((*imported)->read(0, into, nullptr).has_value());
    CHECK_FALSE((*imported)->read(1, into, nullptr).has_value());
    CHECK_FALSE((*imported)->read(UINT64_MAX, into, nullptr).has_value());
  }
}

TEST_CASE("another allocation replaces all that it lies over", "[device]") {
  const Gpus gpus;
  const auto gpu = Gpu::open(gpus.driver, gpus.context, 0, false);
  REQUIRE(gpu.has_value());
  device::cuda::PoolUsers pools;
  IpcKey key;
  key.id = 7;
  key.place = 1000;
  key.allocated = 100;
  const OpenedMemory opened(gpus.driver, pools, **gpu, 3, key);
  const auto is_replaced = [&](int from, std::uint64_t id, std::uint64_t place,
                               std::uint64_t bytes) {
    IpcKey other = key;
    other.id = id;
    other.place = place;
    other.allocated = bytes;
    return opened.is_replaced_by(from, other);
  };
  CHECK(is_replaced(3, 8, 1000, 100));
  CHECK(is_replaced(3, 8, 1099, 1));
  CHECK(is_replaced(3, 8, 900, 101));
  CHECK(is_replaced(3, 8, 0, 5000));
  CHECK_FALSE(is_replaced(3, 8, 900, 100));
  CHECK_FALSE(is_replaced(3, 8, 1100, 100));
  CHECK_FALSE(is_replaced(4, 8, 1000, 100));
  CHECK_FALSE(is_replaced(3, 7, 1000, 100));
}
