// What calls that begin, and work that ends, do to each other.
#include <thread>

#include "catch.h"
#include "device/device.h"
#include "driver.h"
#include "held_stream.h"

namespace {

using namespace tutti;
using test::Gpus;
using types::Buffer;

struct Awaited : Done {
  Awaited() {
    fire = [](Done* self, bool) { static_cast<Awaited*>(self)->ended = true; };
  }
  bool ended = false;
};

Buffer plain(types::Vendor& vendor, std::size_t bytes) {
  Buffer buffer =
      Buffer::plain(reinterpret_cast<void*>(Gpus::take(bytes)), static_cast<types::Count>(bytes));
  buffer.device = vendor.owner_of(buffer.data);
  return buffer;
}

}  // namespace

// Two threads put their marks, and the one that put the later mark begins its call first.
TEST_CASE("what a call waits for is not forgotten for a call with an earlier mark", "[device]") {
  Gpus gpus;
  const auto vendor = device::find_gpus(Knobs::defaults());
  const Buffer memory = plain(*vendor, 4000);
  types::Device& gpu = *memory.device;
  CUevent between = nullptr;
  cuEventCreate(&between, CU_EVENT_DISABLE_TIMING);

  auto earlier = gpu.take_mark(), later = gpu.take_mark();
  test::Held first;
  gpu.put_mark(earlier);
  cuEventRecord(between, CU_STREAM_LEGACY);
  test::Held second;
  gpu.put_mark(later);
  REQUIRE_FALSE(gpu.give_back_if_reached(later));
  gpu.begin_marked_call(later);
  REQUIRE_FALSE(gpu.give_back_if_reached(earlier));
  gpu.begin_marked_call(earlier);

  first.let_go();
  while (cuEventQuery(between) == CUDA_ERROR_NOT_READY) std::this_thread::yield();
  Awaited caller, unpacked;
  const std::vector<std::byte> content(4000, std::byte{7});
  gpu.await_caller(&caller);
  gpu.unpack(memory, 0, content, &unpacked);
  for (int i = 0; i < 100; ++i) vendor->progress();
  CHECK_FALSE(caller.ended);
  CHECK_FALSE(unpacked.ended);
  second.let_go();
  while (!caller.ended || !unpacked.ended) vendor->progress();
  cuEventDestroy(between);
}

// As a collective goes on: the next message asks whose its memory is, which is new.
TEST_CASE("what ends on one GPU may find that another one was reset", "[device]") {
  Gpus gpus;
  const auto vendor = device::find_gpus(Knobs::defaults());
  const Buffer from = plain(*vendor, 4000), into = plain(*vendor, 4000);
  CUcontext other = nullptr;
  REQUIRE(cuDevicePrimaryCtxRetain(&other, 1) == CUDA_SUCCESS);
  cuCtxPushCurrent(other);
  REQUIRE(plain(*vendor, 4000).device != from.device);
  cuCtxPopCurrent(&other);
  cuDevicePrimaryCtxReset(1);

  struct Asking : Awaited {
    explicit Asking(types::Vendor& of) : vendor(of) {
      fire = [](Done* self, bool) {
        auto& asking = *static_cast<Asking*>(self);
        asking.found = plain(asking.vendor, 4000).device;
        asking.ended = true;
      };
    }
    types::Vendor& vendor;
    types::Device* found = nullptr;
  } copied(*vendor);
  from.device->copy(from, into, &copied);
  while (!copied.ended) vendor->progress();
  CHECK(copied.found == from.device);
}
