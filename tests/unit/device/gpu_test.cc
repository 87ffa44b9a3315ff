// Work on a GPU's memory: what passes through the host, and what does not.
#include <atomic>
#include <cstring>
#include <numeric>
#include <thread>

#include "catch.h"
#include "device/cuda/staging.h"
#include "device/device.h"
#include "driver.h"
#include "rounds.h"

namespace {

using namespace tutti;
using test::Gpus;
using types::Buffer;
using types::Count;

constexpr Handle kInt = 0x209, kDouble = 0x214, kSum = 0x21;

struct Awaited : Done {
  Awaited() {
    fire = [](Done* self, bool is_right) {
      static_cast<Awaited*>(self)->ended = true;
      static_cast<Awaited*>(self)->ok = is_right;
    };
  }
  bool ended = false, ok = false;
};

// A vendor and memory on GPU 0.
struct Machine {
  Machine() : vendor(device::find_gpus(Knobs::defaults())) {}
  Buffer take(Count count, const types::Datatype& type, int content) {
    const auto bytes = static_cast<std::size_t>(count * type.extent());
    std::vector<std::byte> pattern(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      pattern[i] = static_cast<std::byte>(i * 7 + i / 256 + static_cast<std::size_t>(content));
    const CUdeviceptr memory = Gpus::take(bytes);
    cuMemcpyHtoD(memory, pattern.data(), bytes);
    Buffer buffer = Buffer::whole(reinterpret_cast<void*>(memory), count, type);
    buffer.device = vendor->owner_of(buffer.data);
    chunk = static_cast<Count>(buffer.device->pace().chunk);  // measured here, not while we count
    contents[buffer.data] = pattern;
    return buffer;
  }
  // The same with its content in host memory.
  Buffer host(const Buffer& buffer) {
    Buffer same = buffer;
    same.data = contents.at(buffer.data).data();
    same.device = nullptr;
    return same;
  }
  void wait(Awaited& work) {
    while (!work.ended) vendor->progress();
    CHECK(work.ok);
  }
  std::vector<std::byte> content(const Buffer& buffer) {
    std::vector<std::byte> bytes(contents.at(buffer.data).size());
    cuMemcpyDtoH(bytes.data(), reinterpret_cast<CUdeviceptr>(buffer.data), bytes.size());
    return bytes;
  }

  Gpus gpus;
  std::unique_ptr<types::Vendor> vendor;
  std::map<void*, std::vector<std::byte>> contents;
  Count chunk = 0;
};

types::TypeRef columns() {
  auto type = *types::make_vector(64, 3, 8, *types::predefined_type(kInt));
  type->commit();
  return type;
}

struct Counted {
  unsigned long long to_host = tutti_standin_count("to_host"),
                     from_host = tutti_standin_count("from_host"),
                     launches = tutti_standin_count("launches");
};

}  // namespace

// More would block whoever puts it, in the driver, while the default stream stands still.
TEST_CASE("a stream of ours is never full", "[device]") {
  Machine machine;
  const types::Datatype& type = *types::predefined_type(kInt);
  const Buffer from = machine.take(3000, type, 1), into = machine.take(3000, type, 2);
  std::atomic<bool> is_free{false};
  cuLaunchHostFunc(
      CU_STREAM_LEGACY,
      [](void* flag) {
        while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
      },
      &is_free);
  machine.vendor->owner_of(from.data);  // a call begins
  std::vector<Awaited> copies(3000);
  for (Count i = 0; i < 3000; ++i)
    from.device->copy(from.part(i * 4, 4), into.part(i * 4, 4),
                      &copies[static_cast<std::size_t>(i)]);
  for (int i = 0; i < 100; ++i) machine.vendor->progress();
  CHECK(tutti_standin_count("longest") < 1000);
  CHECK(!copies.front().ended);
  is_free.store(true);
  for (Awaited& copy : copies) machine.wait(copy);
  CHECK(machine.content(into) == machine.contents.at(from.data));
}

TEST_CASE("a layout is packed by kernels, chunk by chunk", "[device]") {
  Machine machine;
  const auto type = columns();
  const Buffer from = machine.take(2000, *type, 1);
  std::vector<std::byte> out(static_cast<std::size_t>(from.bytes)), expected(out.size());
  types::pack(machine.host(from), 0, expected);
  const auto chunk = static_cast<std::size_t>(machine.chunk);
  const Counted before;
  Awaited packed;
  from.device->pack(from, 0, out, &packed);
  machine.wait(packed);
  const Counted after;
  CHECK(out == expected);
  CHECK(after.to_host == before.to_host);  // no copy of the driver's: kernels write to the host
  CHECK(after.launches - before.launches == (out.size() + chunk - 1) / chunk);
}

TEST_CASE("no GPU copies for a device that refuses all", "[device]") {
  Machine machine;
  const auto laid_out = columns();
  const types::Datatype& type = *types::predefined_type(kInt);
  const Buffer usable[] = {machine.take(200, type, 1), machine.take(20, *laid_out, 2)};
  Buffer refused[] = {machine.take(200, type, 3), machine.take(20, *laid_out, 4)};
  const Buffer gone = machine.take(16, type, 5);
  cuMemFree(reinterpret_cast<CUdeviceptr>(gone.data));
  types::Device* const refusing = machine.vendor->owner_of(gone.data);
  REQUIRE_FALSE(refusing->is_usable());
  for (std::size_t i = 0; i < 2; ++i) {
    refused[i].device = refusing;
    Awaited into, from;
    types::begin_copy(usable[i], refused[i], &into);
    types::begin_copy(refused[i], usable[i], &from);
    while (!into.ended || !from.ended) machine.vendor->progress();
    CHECK_FALSE(into.ok);
    CHECK_FALSE(from.ok);
    CHECK(machine.content(refused[i]) == machine.contents.at(refused[i].data));
    CHECK(machine.content(usable[i]) == machine.contents.at(usable[i].data));
  }
}

TEST_CASE("parts of a message are packed and unpacked from any byte to any other", "[device]") {
  Machine machine;
  const auto type = columns();
  const Buffer from = machine.take(20, *type, 1), into = machine.take(20, *type, 2);
  Buffer expected = machine.host(into);
  for (Count offset = 0; offset < from.bytes; offset += 1201) {
    const Count bytes = std::min<Count>(1201, from.bytes - offset);
    std::vector<std::byte> part(static_cast<std::size_t>(bytes));
    Awaited packed, unpacked;
    from.device->pack(from, offset, part, &packed);
    machine.wait(packed);
    into.device->unpack(into, offset, part, &unpacked);
    machine.wait(unpacked);
    types::unpack(expected, offset, part);
  }
  CHECK(machine.content(into) == machine.contents.at(into.data));
}

// Runs of many lengths at odd distances: no rows of equal blocks.
types::TypeRef irregular(Count runs) {
  std::vector<Count> lengths, places;
  Count at = 0;
  for (Count i = 0; i < runs; ++i) {
    lengths.push_back(i == runs / 2 ? 1000 : 1 + i * i % 17);
    places.push_back(at + i % 3);
    at += lengths.back() + 3 + i % 5;
  }
  auto type = *types::make_indexed(lengths, places, *types::predefined_type(kInt));
  type->commit();
  return type;
}

TEST_CASE("an irregular layout is listed once, and is one kernel from then on", "[device]") {
  Machine machine;
  const auto type = irregular(4000);
  const types::Datatype& ints = *types::predefined_type(kInt);
  const Buffer from = machine.take(3, *type, 1), into = machine.take(3, *type, 3);
  const Buffer plain = machine.take(3 * type->size() / 4, ints, 2);
  for (int round = 0; round < 3; ++round)
    for (const auto& [one, other] : {std::pair(from, plain), std::pair(plain, into)}) {
      types::copy(machine.host(one), machine.host(other));
      const Counted before;
      Awaited copied;
      one.device->copy(one, other, &copied);
      machine.wait(copied);
      const Counted after;
      CHECK(after.launches - before.launches == 1);
      CHECK((after.from_host == before.from_host) == (round > 0 || one.data != from.data));
      CHECK(machine.content(other) == machine.contents.at(other.data));
    }
}

TEST_CASE("irregular layouts are packed from any byte to any other", "[device]") {
  Machine machine;
  const auto type = irregular(700);
  const Buffer from = machine.take(5, *type, 1), into = machine.take(5, *type, 2);
  Buffer expected = machine.host(into);
  for (Count offset = 0, bytes = 1; offset < from.bytes; offset += bytes) {
    bytes = std::min<Count>(4001 + offset % 7, from.bytes - offset);
    std::vector<std::byte> part(static_cast<std::size_t>(bytes)), same(part.size());
    Awaited packed, unpacked;
    from.device->pack(from, offset, part, &packed);
    machine.wait(packed);
    types::pack(machine.host(from), offset, same);
    CHECK(part == same);
    into.device->unpack(into, offset, part, &unpacked);
    machine.wait(unpacked);
    types::unpack(expected, offset, part);
  }
  CHECK(machine.content(into) == machine.contents.at(into.data));
}

TEST_CASE("more irregular layouts than there is room for are right, too", "[device]") {
  Machine machine;
  const types::Datatype& ints = *types::predefined_type(kInt);
  for (Count i = 0; i < 9; ++i) {
    const auto type = irregular(i == 4 ? 600'000 : 120'000 + i);  // one is too long for any room
    const Buffer from = machine.take(1, *type, 1);
    const Buffer plain = machine.take(type->size() / 4, ints, 2);
    types::copy(machine.host(from), machine.host(plain));
    Awaited copied;
    from.device->copy(from, plain, &copied);
    machine.wait(copied);
    CHECK(machine.content(plain) == machine.contents.at(plain.data));
  }
}

TEST_CASE("copies within a GPU meet no host memory, whatever their layouts", "[device]") {
  Machine machine;
  const auto type = columns();
  const types::Datatype& ints = *types::predefined_type(kInt);
  const Count count = test::rounds(20'000);
  const Count all = count * type->size() / 4;
  const Buffer rows[] = {machine.take(count, *type, 1), machine.take(all, ints, 2)};
  for (const Buffer& from : rows)
    for (const int kind : {0, 1}) {
      const Buffer into = kind == 0 ? machine.take(count, *type, 3) : machine.take(all, ints, 4);
      types::copy(machine.host(from), machine.host(into));
      Awaited first, copied;
      from.device->copy(from, into, &first);  // with it come the layouts' tables
      machine.wait(first);
      const Counted before;
      from.device->copy(from, into, &copied);
      machine.wait(copied);
      const Counted after;
      CHECK(after.to_host == before.to_host);
      CHECK(after.from_host == before.from_host);
      CHECK(machine.content(into) == machine.contents.at(into.data));
    }
}

TEST_CASE("folds within a GPU are one launch and meet no host memory", "[device]") {
  Machine machine;
  const types::Datatype& type = *types::predefined_type(kInt);
  const Buffer from = machine.take(1'000'000, type, 1), into = machine.take(1'000'000, type, 2);
  const types::Op& sum = *types::predefined_op(kSum);
  const Buffer expected = machine.host(into);
  sum.fold(machine.host(from).data, expected.data, 1'000'000, type);
  const Counted before;
  Awaited folded;
  const types::Fold fold{&sum, from, into, true};
  REQUIRE(into.device->folds(fold));
  into.device->fold(fold, &folded);
  machine.wait(folded);
  const Counted after;
  CHECK(after.to_host == before.to_host);
  CHECK(after.from_host == before.from_host);
  CHECK(after.launches - before.launches == 1);
  CHECK(machine.content(into) == machine.contents.at(into.data));
}

TEST_CASE("more work than there are chunks waits for them", "[device]") {
  Machine machine;
  const types::Datatype& type = *types::predefined_type(kDouble);
  const Buffer from = machine.take(100'000, type, 1);
  std::vector<std::vector<std::byte>> outs(
      30, std::vector<std::byte>(static_cast<std::size_t>(from.bytes)));
  std::vector<Awaited> works(outs.size());
  for (std::size_t i = 0; i < outs.size(); ++i) from.device->pack(from, 0, outs[i], &works[i]);
  for (std::size_t i = 0; i < outs.size(); ++i) {
    machine.wait(works[i]);
    CHECK(outs[i] == machine.contents.at(from.data));
  }
}

// Each of its two kernels is told its rows in a chunk. With only one left it waits: were the first
// begun, its chunk would go to others, whose bytes it would take for rows.
TEST_CASE("a copy between two layouts begins nothing until there is room for all of it",
          "[device]") {
  Machine machine;
  const auto type = columns();
  const types::Datatype& plain = *types::predefined_type(kInt);
  const Buffer from = machine.take(1000, *type, 1), into = machine.take(1000, *type, 2);
  const Count chunk_ints = machine.chunk / 4;
  const Count chunks = static_cast<Count>(device::cuda::Staging::kBytes) / machine.chunk;
  const Buffer all = machine.take((chunks - 1) * chunk_ints, plain, 3);
  const Buffer last = machine.take(chunk_ints, plain, 4);
  types::copy(machine.host(from), machine.host(into));

  std::atomic<bool> goes{false};  // release, acquire
  const auto stand = [](void* until) {
    while (!static_cast<std::atomic<bool>*>(until)->load(std::memory_order_acquire)) {
    }
  };
  cuLaunchHostFunc(CU_STREAM_LEGACY, stand, &goes);
  machine.vendor->owner_of(from.data);  // all that follows comes behind it
  std::vector<std::byte> out(static_cast<std::size_t>(all.bytes));
  std::vector<std::byte> in(static_cast<std::size_t>(last.bytes), std::byte{0xa5});
  Awaited packed, copied, unpacked;
  all.device->pack(all, 0, out, &packed);
  from.device->copy(from, into, &copied);
  last.device->unpack(last, 0, in, &unpacked);
  goes.store(true, std::memory_order_release);
  for (Awaited* each : {&packed, &copied, &unpacked}) machine.wait(*each);
  CHECK(machine.content(into) == machine.contents.at(into.data));
  CHECK(machine.content(last) == in);
}

TEST_CASE("work that the driver refuses fails alone", "[device]") {
  Machine machine;
  const types::Datatype& type = *types::predefined_type(kInt);
  const Buffer from = machine.take(100, type, 1);
  Buffer beyond = from;
  beyond.count = 100'000;
  beyond.bytes = 400'000;
  std::vector<std::byte> out(400'000), good(400);
  Awaited refused, packed;
  from.device->pack(beyond, 0, out, &refused);
  from.device->pack(from, 0, good, &packed);
  while (!refused.ended) machine.vendor->progress();
  CHECK_FALSE(refused.ok);
  machine.wait(packed);
  CHECK(good == machine.contents.at(from.data));
}
