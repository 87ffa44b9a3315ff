// ipc: GPU memory that neighbours read, and theirs that we read.
//
// An allocation is exported, a message is a part of it: the key says which allocation of its
// process (the driver's number for it), where in it the message lies, and by what it can be opened.
// Nothing tells an importer that memory went; so what it has opened is known by number and place,
// and a place under another number closes what was there. Keys are what another process says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "device/cuda/gpu.h"
#include "device/cuda/pointers.h"
#include "topo/nvml.h"

namespace tutti::device::cuda {

// How an allocation can be opened; the rest of the key is for that.
enum class Way : std::uint8_t { handle, mapped, pooled };

// Plain bytes. `room` holds a CUipcMemHandle, or a courier's key behind a CUmemPoolPtrExportData.
struct IpcKey {
  std::uint8_t kind = 0;  // MemoryKind
  Way way = Way::handle;
  std::uint16_t room_bytes = 0;
  std::uint32_t unused = 0;
  std::uint64_t id = 0;  // of the allocation
  std::uint64_t place = 0, allocated = 0;
  std::uint64_t offset = 0, bytes = 0;  // of the message in it
  std::array<std::uint8_t, 16> gpu = {};
  std::array<std::byte, 128> room = {};
};
inline constexpr std::size_t kIpcKeyHead = offsetof(IpcKey, room);

// The error of a call that the driver refused; of the code `access` where it always will, `no_mem`
// where it lacks memory now.
tl::unexpected<Error> refused(const Driver& driver, const char* call, CUresult said);

std::array<std::uint8_t, 16> uuid_of(const Driver& driver, CUdevice device);

// What neighbours can open.
class Exports {
 public:
  explicit Exports(const Driver& driver) : driver_(driver) {}
  // `at` is what its first byte is to CUDA.
  Result<types::Exported> share(const Memory& memory, const Pointer& at, types::Courier& courier,
                                const Gpu& gpu);

 private:
  struct Kept {
    IpcKey key;                  // of the whole allocation; id 0: none
    std::shared_ptr<void> hold;  // its descriptor at the courier
  };
  Result<IpcKey> describe(const Memory& memory, const Pointer& at) const;
  Result<void> open_way(PointerKind kind, types::Courier& courier, Kept& kept) const;
  static types::Exported exported(const Kept& kept, const IpcKey& part);
  Result<UniqueFd> mapped_fd(CUdeviceptr address) const;
  Result<UniqueFd> pool_fd(CUdeviceptr address, CUmemPoolPtrExportData& pointer) const;
  void drop_held();

  static constexpr std::size_t kKept = 64;
  // With a descriptor, which keeps memory in being that its owner has given back.
  static constexpr std::size_t kMostHeld = 16;
  const Driver& driver_;
  std::array<Kept, kKept> kept_;     // by number
  std::vector<std::uint64_t> held_;  // numbers of those with a descriptor, the oldest first
};

// How many use each pool of a neighbour's: importing one again gives the same.
using PoolUsers = std::map<CUmemoryPool, int>;

// An allocation of a neighbour's as one GPU here reaches it; closed when its last user ends.
class OpenedMemory {
 public:
  OpenedMemory(const Driver& driver, PoolUsers& pools, const Gpu& gpu, int from, const IpcKey& key)
      : driver_(driver), pools_(pools), gpu_(gpu), from_(from), key_(key) {}
  ~OpenedMemory();
  OpenedMemory(const OpenedMemory&) = delete;
  OpenedMemory& operator=(const OpenedMemory&) = delete;
  Result<void> open(types::Courier& courier);
  std::byte* address() const { return reinterpret_cast<std::byte*>(address_); }
  const Gpu& reader() const { return gpu_; }
  // Memory of a pool may not stay open when its owner goes on, and is opened once at a time: a
  // second opening has the same address, which the first closing takes away. So the last of those
  // who read it closes it.
  bool is_kept() const { return key_.way != Way::pooled; }
  void begin_read() { ++readers_; }
  Result<void> end_read() { return --readers_ == 0 ? close_pooled() : Result<void>(); }
  bool is_closed() const { return address_ == 0; }
  bool is(const Gpu& gpu, int from, const IpcKey& key) const {
    return &gpu_ == &gpu && from_ == from && key_.id == key.id && key_.place == key.place &&
           key_.allocated == key.allocated && key_.way == key.way;
  }
  // The same one's memory of a pool, reached by another GPU: it would have the same address.
  bool is_elsewhere(const Gpu& gpu, int from, const IpcKey& key) const {
    return !is_kept() && !is_closed() && &gpu_ != &gpu && from_ == from && key_.id == key.id;
  }
  // Another allocation lies there by now.
  bool is_replaced_by(int from, const IpcKey& key) const {
    const bool overlaps =
        key.place < key_.place + key_.allocated && key_.place < key.place + key.allocated;
    return from_ == from && key_.id != key.id && overlaps;
  }

 private:
  const Driver& driver_;
  PoolUsers& pools_;
  const Gpu& gpu_;
  const int from_;
  const IpcKey key_;
  Result<void> open_handle();
  Result<void> open_mapped(types::Courier& courier);
  Result<void> open_pooled(types::Courier& courier);
  Result<void> check_range();
  Result<void> close_pooled();
  BlobView room() const { return {key_.room.data(), key_.room_bytes}; }
  CUmemAccessDesc access() const;

  CUdeviceptr address_ = 0, reserved_ = 0;
  int readers_ = 0;  // of a pool's
  CUmemoryPool pool_ = nullptr;
};

// What neighbours have exported.
class Imports {
 public:
  static constexpr std::size_t kMostOpened = 64;  // beyond, the least recently used are closed
  Imports(const Driver& driver, const std::vector<std::unique_ptr<Gpu>>& gpus)
      : driver_(driver), gpus_(gpus) {}
  Result<std::unique_ptr<types::Imported>> import(int from, BlobView key, types::Courier& courier);
  // `into`: the device whose memory it is copied to; null: host memory.
  Result<std::pair<Gpu*, std::shared_ptr<OpenedMemory>>> open(int from, const IpcKey& key,
                                                              const types::Device* into,
                                                              types::Courier& courier);
  std::string reach_text(int from) const;
  std::size_t opened() const { return opened_.size(); }
  void close_retired();

 private:
  using GpuPair = std::pair<topo::GpuUuid, topo::GpuUuid>;
  // Opening by one way. What has never worked and was refused so often never will, as in
  // containers. Where it has worked, a refusal is about the one allocation (which was freed, say).
  struct Tried {
    bool has_worked = false;
    int refusals = 0;
    std::string why;
  };
  static constexpr int kMostRefusals = 4;
  Result<Gpu*> reader_for(const IpcKey& key, const types::Device* into) const;
  std::string join_of(const GpuPair& gpus) const;
  std::shared_ptr<OpenedMemory> make(const Gpu& gpu, int from, const IpcKey& key);
  Tried& tried_of(const Gpu& gpu, int from, const IpcKey& key) {
    return tried_[{from, key.way, &gpu, key.gpu}];
  }
  const std::string* known_refusal(const Gpu& gpu, int from, const IpcKey& key);
  void note_refusal(const Gpu& gpu, int from, const IpcKey& key, const Error& why);

  const Driver& driver_;
  const std::vector<std::unique_ptr<Gpu>>& gpus_;
  PoolUsers pools_;
  // Unused, and not closed yet: the driver waits for all streams then, which may stand still until
  // whoever closes lets somebody else work.
  std::vector<std::unique_ptr<OpenedMemory>> retired_;
  std::vector<std::shared_ptr<OpenedMemory>> opened_;  // the latest used last
  // By neighbour: why not, or which GPU here read which there.
  std::map<int, std::pair<std::string, GpuPair>> reached_;
  mutable std::optional<topo::Nvml> nvml_;  // opened when a report asks
  // GPUs here that do not reach one there, as a neighbour calls it, and why: not tried for each
  // message.
  std::map<std::tuple<int, const Gpu*, std::array<std::uint8_t, 16>>, std::string> refused_;
  // By neighbour, way, GPU here and GPU there.
  std::map<std::tuple<int, Way, const Gpu*, std::array<std::uint8_t, 16>>, Tried> tried_;
};

}  // namespace tutti::device::cuda
