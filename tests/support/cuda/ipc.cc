// Memory of other processes: a handle says in which file of which process it lies. Behind a GPU's
// memory its file holds the ids of what is exported: one that was freed cannot be opened any more.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "standin.h"

namespace standin {
namespace {

std::uint64_t offset_of(const Allocation& of) {
  const Gpu& gpu = *state().gpus[static_cast<std::size_t>(of.device)];
  return of.begin - reinterpret_cast<std::uintptr_t>(gpu.forbidden);
}
off_t id_place(std::uint64_t offset) {
  return static_cast<off_t>(kWindow + offset / kApart * sizeof(unsigned long long));
}

// Of the id of memory that another process has opened by a pool.
constexpr unsigned long long kIsOpened = 1ULL << 63;

// As this process counts it; below 0: it does not see that GPU.
int device_numbered(int number) {
  const auto& gpus = state().gpus;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    if (gpus[i]->number == number) return static_cast<int>(i);
  return -1;
}

// Whole pages of the file, for the GPU and, forbidden, for everybody else.
CUresult map(int file, const Place& handle, Allocation& made) {
  const std::uint64_t lead = handle.offset % 4096;
  made.mapped = (lead + handle.bytes + 4095) / 4096 * 4096;
  const auto at = static_cast<off_t>(handle.offset - lead);
  void* const open = ::mmap(nullptr, made.mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, at);
  void* const seen = ::mmap(nullptr, made.mapped, PROT_NONE, MAP_SHARED, file, at);
  if (open == MAP_FAILED || seen == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  made.open = static_cast<std::byte*>(open) + lead;
  made.begin = reinterpret_cast<std::uintptr_t>(seen) + lead;
  return CUDA_SUCCESS;
}

CUresult open(const Place& handle, const std::string& whole, CUdeviceptr* address) {
  State& all = state();
  if (handle.magic != Place{}.magic) return CUDA_ERROR_INVALID_VALUE;
  if (handle.process == ::getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  if (!all.has_ipc) return CUDA_ERROR_MAP_FAILED;
  if (!may_open(current()->device, handle.device)) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  for (auto& [begin, each] : all.allocations)
    if (each.opened > 0 && each.context == current() && each.handle == whole) {
      ++each.opened;
      *address = begin;
      return CUDA_SUCCESS;
    }
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", handle.process, handle.file);
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return CUDA_ERROR_INVALID_VALUE;
  Allocation made;
  made.opened = 1;
  let_in(made.open_to, current()->device);  // peer access comes with it
  made.handle = whole;
  const CUresult said = import_place(file, handle, &made);
  ::close(file);
  if (said != CUDA_SUCCESS) return said;
  all.allocations[made.begin] = made;
  *address = made.begin;
  return CUDA_SUCCESS;
}

}  // namespace

int number_of(int file) {
  char path[32], name[64] = {};
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (::readlink(path, name, sizeof name - 1) < 0) return -1;
  int number = -1;
  std::sscanf(name, "/memfd:standin-%d", &number);
  return number;
}
int device_of(int file) {
  return device_numbered(number_of(file));
}

int new_file(int number, std::size_t bytes) {
  const std::string name = "standin-" + std::to_string(number);
  const int file = ::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0 || (::ftruncate(file, static_cast<off_t>(bytes)) == 0 &&
                   ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0))
    return file;
  ::close(file);
  return -1;
}

CUresult export_place(const Allocation& of, Place* place) {
  place->process = ::getpid();
  const Gpu& gpu = *state().gpus[static_cast<std::size_t>(of.device)];
  place->device = gpu.number;
  place->file = gpu.file;
  place->offset = offset_of(of);
  place->bytes = of.bytes;
  place->id = of.id;
  return ::pwrite(place->file, &place->id, sizeof place->id, id_place(place->offset)) ==
                 sizeof place->id
             ? CUDA_SUCCESS
             : CUDA_ERROR_OUT_OF_MEMORY;
}

// Fails where it was freed meanwhile.
CUresult import_place(int file, const Place& place, Allocation* made) {
  unsigned long long id = 0;
  if (::pread(file, &id, sizeof id, id_place(place.offset)) != sizeof id ||
      (id & ~kIsOpened) != place.id)
    return CUDA_ERROR_INVALID_VALUE;
  made->bytes = place.bytes;
  made->far = place.offset;
  made->far_id = place.id;
  made->device = device_numbered(place.device);
  made->context = current();
  made->id = state().next_id++;
  return map(file, place, *made);
}

void note_opened(int file, const Allocation& of, bool is_open) {
  const unsigned long long id = is_open ? of.far_id | kIsOpened : of.far_id;
  [[maybe_unused]] const auto told = ::pwrite(file, &id, sizeof id, id_place(of.far));
}

void unmap(const Allocation& gone) {
  const std::uintptr_t lead = gone.begin % 4096;
  ::munmap(reinterpret_cast<void*>(gone.begin - lead), gone.mapped);
  ::munmap(gone.open - lead, gone.mapped);
}

// Memory of a pool is freed last by its owner, CUDA says; what happens else, it does not say.
void end_export(const Allocation& gone) {
  const unsigned long long none = 0;
  const Gpu& gpu = *state().gpus[static_cast<std::size_t>(gone.device)];
  unsigned long long id = 0;
  if (gone.kind == Kind::pool &&
      ::pread(gpu.file, &id, sizeof id, id_place(offset_of(gone))) == sizeof id &&
      (id & kIsOpened) != 0 && id == (gone.id | kIsOpened)) {
    std::fprintf(stderr,
                 "stand-in: memory of a pool was freed while another process has it open\n");
    std::abort();
  }
  [[maybe_unused]] const auto told =
      ::pwrite(gpu.file, &none, sizeof none, id_place(offset_of(gone)));
}

}  // namespace standin

using namespace standin;

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  ENTER("cuDeviceGetUuid");
  std::memset(uuid, 0, sizeof *uuid);
  std::snprintf(uuid->bytes, sizeof uuid->bytes, "stand-in %d",
                state().gpus[static_cast<std::size_t>(device)]->number);
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  ENTER("cuDeviceCanAccessPeer");
  const auto number = [](CUdevice of) {
    return state().gpus[static_cast<std::size_t>(of)]->number;
  };
  *can = device != peer && are_peers(number(device), number(peer)) ? 1 : 0;
  return CUDA_SUCCESS;
}
CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  ENTER("cuIpcGetMemHandle");
  const Allocation* const found = find(address);
  if (found == nullptr || found->kind != Kind::device || found->open != nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  Place made;
  if (const CUresult said = export_place(*found, &made); said != CUDA_SUCCESS) return said;
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &made, sizeof made);
  return CUDA_SUCCESS;
}
CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  ENTER("cuIpcOpenMemHandle");
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return CUDA_ERROR_INVALID_VALUE;
  Place words;
  std::memcpy(static_cast<void*>(&words), &handle, sizeof words);
  const CUresult said =
      open(words, std::string(reinterpret_cast<const char*>(&handle), sizeof handle), address);
  if (said == CUDA_SUCCESS) ++state().counts.opened;
  return said;
}
CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  ENTER("cuIpcCloseMemHandle");
  await_all(lock);
  const auto found = state().allocations.find(address);
  if (found == state().allocations.end() || found->second.opened == 0)
    return CUDA_ERROR_INVALID_VALUE;
  ++state().counts.closed;
  if (--found->second.opened > 0) return CUDA_SUCCESS;
  const Allocation gone = found->second;
  state().allocations.erase(found);
  unmap(gone);
  return CUDA_SUCCESS;
}
