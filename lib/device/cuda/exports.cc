// What of this process's memory neighbours can open.
#include <algorithm>
#include <cstring>

#include "device/cuda/current.h"
#include "device/cuda/ipc.h"

namespace tutti::device::cuda {
// Which allocation it is in, and where. Of memory mapped by address: which mapping.
Result<IpcKey> Exports::describe(const Memory& memory, const Pointer& known) const {
  const auto at = reinterpret_cast<CUdeviceptr>(memory.data);
  CUdeviceptr begin = known.begin;
  std::size_t bytes = known.end - known.begin;
  if (known.kind == PointerKind::vmm) {
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
                                   CU_POINTER_ATTRIBUTE_MAPPING_SIZE};
    void* values[] = {&begin, &bytes};
    const CUresult said = driver_.cuPointerGetAttributes(std::size(which), which, values, at);
    if (said != CUDA_SUCCESS) return refused(driver_, "cuPointerGetAttributes", said);
  }
  if (known.id == 0 || at < begin || at - begin > bytes || memory.bytes > bytes - (at - begin))
    return fail(Code::unsupported, "it is not in one allocation");
  IpcKey key;
  key.id = known.id;
  key.place = begin;
  key.allocated = bytes;
  key.offset = at - begin;
  key.bytes = memory.bytes;
  return key;
}

Result<UniqueFd> Exports::mapped_fd(CUdeviceptr address) const {
  CUmemGenericAllocationHandle handle = 0;
  CUresult said = driver_.cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(address));
  if (said != CUDA_SUCCESS) return refused(driver_, "cuMemRetainAllocationHandle", said);
  int fd = -1;
  said = driver_.cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                              0);
  driver_.cuMemRelease(handle);
  if (said == CUDA_SUCCESS) return UniqueFd(fd);
  return fail(Code::unsupported,
              "the allocation was made without a handle type that can be exported "
              "(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR): cuMemExportToShareableHandle: " +
                  driver_.text_of(said));
}

Result<UniqueFd> Exports::pool_fd(CUdeviceptr address, CUmemPoolPtrExportData& pointer) const {
  CUmemoryPool pool = nullptr;
  CUresult said =
      driver_.cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address);
  if (said != CUDA_SUCCESS) return refused(driver_, "cuPointerGetAttribute", said);
  int fd = -1;
  said = driver_.cuMemPoolExportToShareableHandle(&fd, pool,
                                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (said != CUDA_SUCCESS)
    return fail(Code::unsupported,
                "its pool was made without a handle type that can be exported (a GPU's default "
                "pool never has one): cuMemPoolExportToShareableHandle: " +
                    driver_.text_of(said));
  UniqueFd exported(fd);
  said = driver_.cuMemPoolExportPointer(&pointer, address);
  if (said != CUDA_SUCCESS) return refused(driver_, "cuMemPoolExportPointer", said);
  return exported;
}

// Those whose memory is no more, and the oldest of too many.
void Exports::drop_held() {
  const auto drop = [&](std::uint64_t id) {
    Kept& kept = kept_[id % kKept];
    if (kept.key.id != id) return true;
    unsigned long long now = 0;
    const CUresult said =
        driver_.cuPointerGetAttribute(&now, CU_POINTER_ATTRIBUTE_BUFFER_ID, kept.key.place);
    if (said == CUDA_SUCCESS && now == id) return false;
    kept = {};
    return true;
  };
  std::erase_if(held_, drop);
  if (held_.size() < kMostHeld) return;
  kept_[held_.front() % kKept] = {};
  held_.erase(held_.begin());
}

Result<void> Exports::open_way(PointerKind kind, types::Courier& courier, Kept& kept) const {
  IpcKey& key = kept.key;
  std::byte* room = key.room.data();
  if (kind == PointerKind::device) {
    CUipcMemHandle handle;
    const CUresult said = driver_.cuIpcGetMemHandle(&handle, key.place);
    if (said != CUDA_SUCCESS) return refused(driver_, "cuIpcGetMemHandle", said);
    key.way = Way::handle;
    key.room_bytes = sizeof handle;
    std::memcpy(room, &handle, sizeof handle);
    return {};
  }
  if (kind != PointerKind::vmm && kind != PointerKind::pool)
    return fail(Code::unsupported, std::string("it is ") + name_of(kind));
  CUmemPoolPtrExportData pointer;
  const bool is_pooled = kind == PointerKind::pool;
  TUTTI_TRY(fd, is_pooled ? pool_fd(key.place, pointer) : mapped_fd(key.place));
  TUTTI_TRY(given, courier.give(fd.get()));
  const std::size_t before = is_pooled ? sizeof pointer : 0;
  if (before + given.key.size() > key.room.size())
    return fail(Code::intern, "a descriptor's key is too long");
  key.way = is_pooled ? Way::pooled : Way::mapped;
  key.room_bytes = static_cast<std::uint16_t>(before + given.key.size());
  if (is_pooled) std::memcpy(room, &pointer, sizeof pointer);
  std::memcpy(room + before, given.key.data(), given.key.size());
  kept.hold = std::move(given.hold);
  return {};
}

Result<types::Exported> Exports::share(const Memory& memory, const Pointer& at,
                                       types::Courier& courier, const Gpu& gpu) {
  TUTTI_TRY(part, describe(memory, at));
  const auto make = [&]() -> Result<Kept> {
    const Current current(driver_, gpu.context());
    Kept fresh;
    fresh.key = part;
    fresh.key.kind = static_cast<std::uint8_t>(MemoryKind::cuda);
    fresh.key.gpu = uuid_of(driver_, gpu.number());
    TUTTI_DO(open_way(at.kind, courier, fresh));
    return fresh;
  };
  if (at.kind == PointerKind::pool) {  // opened anew for each message
    TUTTI_TRY(fresh, make());
    return exported(fresh, part);
  }
  Kept& kept = kept_[part.id % kKept];
  // Of memory mapped by address one number may stand for several mappings.
  if (kept.key.id != part.id || kept.key.place != part.place) {
    drop_held();
    TUTTI_TRY(fresh, make());
    if (fresh.hold != nullptr) held_.push_back(part.id);
    kept = std::move(fresh);
  }
  return exported(kept, part);
}

// A part of what is kept.
types::Exported Exports::exported(const Kept& kept, const IpcKey& part) {
  IpcKey key = kept.key;
  key.offset = part.offset;
  key.bytes = part.bytes;
  const auto* const bytes = reinterpret_cast<const std::byte*>(&key);
  return types::Exported{Blob(bytes, bytes + kIpcKeyHead + key.room_bytes), kept.hold};
}

}  // namespace tutti::device::cuda
