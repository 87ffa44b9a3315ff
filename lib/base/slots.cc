// The range, and the list of slots that are free.
#include "base/slots.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <mutex>

#include "base/check.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

// There where the program is sanitized, also if this library is not.
extern "C" [[gnu::weak]] void __lsan_register_root_region(const void* begin, std::size_t bytes);

namespace tutti::slots {

constinit Range range;

namespace {

constexpr std::size_t kReserved = std::size_t{16} << 30;  // 64 million objects at a time
constexpr std::size_t kLeast = std::size_t{1} << 20;
constexpr std::size_t kStep =
    256 << 10;  // made memory at a time; what is not touched costs nothing

struct SharedSlots {
  std::mutex lock;
  std::size_t reserved = 0;
  std::size_t taken = 0;   // bytes of slots that were taken at least once
  Handle* free = nullptr;  // slots; each one's object begins with the next
};
constinit SharedSlots shared;

// A sanitizer sees who uses a slot after its end.
#if defined(__SANITIZE_ADDRESS__)
void forbid(Handle* slot) {
  __asan_poison_memory_region(slot + 1, kRoom);
}
void allow(Handle* slot) {
  __asan_unpoison_memory_region(slot + 1, kRoom);
}
#else
void forbid(Handle* /*slot*/) {}
void allow(Handle* /*slot*/) {}
#endif

// What objects point to has not leaked.
void show_to_sanitizer(const void* begin, std::size_t bytes) {
  if (__lsan_register_root_region != nullptr) __lsan_register_root_region(begin, bytes);
}

// Little where the user has little address space (ulimit -v).
std::size_t wanted() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kReserved;
  const std::size_t part = std::max<std::size_t>(limit.rlim_cur / 16, kLeast);
  return std::min(kReserved, part / kBytes * kBytes);
}

void reserve() {
  for (std::size_t bytes = wanted(); bytes >= kLeast; bytes /= 2) {
    void* const at =
        ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) continue;
    shared.reserved = bytes / kStep * kStep;
    range.first = reinterpret_cast<Handle>(at);
    show_to_sanitizer(at, shared.reserved);
    return;
  }
  TUTTI_CHECK(false, "there are no addresses left for objects; look at ulimit -v");
}

void grow() {
  if (range.first == 0) reserve();
  const std::size_t used = range.used.load(std::memory_order_relaxed);
  TUTTI_CHECK(used < shared.reserved, "objects of MPI fill all " + std::to_string(used >> 20) +
                                          " MiB there are for them; does the program free them?");
  void* const next = reinterpret_cast<void*>(range.first + used);
  TUTTI_CHECK(::mprotect(next, kStep, PROT_READ | PROT_WRITE) == 0,
              "there is no memory for more objects of MPI");
  // release: partner is the acquire in find().
  range.used.store(used + kStep, std::memory_order_release);
}

Handle* never_taken() {
  if (shared.taken == range.used.load(std::memory_order_relaxed)) grow();
  auto* const slot = reinterpret_cast<Handle*>(range.first + shared.taken);
  shared.taken += kBytes;
  return slot;
}

Handle* first_free() {
  Handle* const slot = shared.free;
  allow(slot);
  shared.free = reinterpret_cast<Handle*>(slot[1]);
  return slot;
}

}  // namespace

void* take() {
  Handle* slot = nullptr;
  {
    const std::scoped_lock hold(shared.lock);
    slot = shared.free != nullptr ? first_free() : never_taken();
  }
  renew(slot + 1);
  return slot + 1;
}

void give(void* object) {
  retire(object);
  Handle* const slot = word_of(object);
  allow(slot);
  const std::scoped_lock hold(shared.lock);
  slot[1] = reinterpret_cast<Handle>(shared.free);
  shared.free = slot;
  forbid(slot);
}

void retire(void* object) {
  hide(object);
  forbid(word_of(object));
}

// The generation counts in the upper bits, and what overflows there in the lower ones.
void renew(void* object) {
  Handle* const slot = word_of(object);
  const Handle before = *slot & ~kAddress;
  Handle next = before + (Handle{1} << 48);
  if (next < before) ++next;
  *slot = (next & ~kAddress) | reinterpret_cast<Handle>(slot);
  allow(slot);
}

bool was_freed(Handle word) {
  const Handle slot = word & kAddress;
  if (slot - range.first >= range.used.load(std::memory_order_acquire)) return false;
  const Handle now = *reinterpret_cast<const Handle*>(slot) & ~kAddress;
  return slot % kBytes == range.first % kBytes && now != 0 && (word & ~kAddress) != 0 &&
         find(word) == nullptr;
}

int number_of(Handle handle) {
  if (find(handle) == nullptr) return 0;
  return static_cast<int>(((handle & kAddress) - range.first) / kBytes) + 1;
}

Handle handle_at(int number) {
  const std::size_t begin = static_cast<std::size_t>(number - 1) * kBytes;
  if (number <= 0 || begin >= range.used.load(std::memory_order_acquire)) return 0;
  const Handle word = *reinterpret_cast<const Handle*>(range.first + begin);
  return (word & kAddress) != 0 ? word : 0;
}

}  // namespace tutti::slots
