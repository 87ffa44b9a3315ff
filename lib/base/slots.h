// Slots: memory for the objects behind handles, and how a handle is told from any other word.
//
// All slots lie in one range of addresses, reserved when the library is loaded and never unmapped,
// so that a handle, however old or invented, can be looked up without a fault. A slot begins with a
// word: the handle of what lies in it now. A handle is its slot's address, with the slot's
// generation (how often it was taken) above bit 47 and below bit 8; both halves of it wrap, after
// 16 million lives of one slot. Freed, the word keeps the generation but names no address.
//
// Owner: the process, as of the heap, whose place this takes. Any thread may call; only take() and
// give() lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti {
using Handle = std::uintptr_t;
}

namespace tutti::slots {

inline constexpr std::size_t kBytes = 256;  // of a slot
inline constexpr std::size_t kRoom = kBytes - sizeof(Handle);
inline constexpr std::size_t kAlign = alignof(Handle);
inline constexpr Handle kAddress = 0x0000'ffff'ffff'ff00;  // the other bits are the generation

// Memory for one object, at most kRoom bytes of it; its slot has a new handle. Where there is none
// the program ends by a line: nobody has to undo what came before.
void* take();
// Nobody knows it by its handle any more, and the memory may be taken again.
void give(void* object);

// The object lives on, but its handle is a stale one from now on.
inline void hide(const void* object);

// For who keeps slots for later: the same without the lock, and back.
void retire(void* object);
void renew(void* object);

struct Range {
  Handle first = 0;
  std::atomic<std::size_t> used{0};  // bytes from there that are memory
};
extern constinit Range range;

inline Handle* word_of(const void* object) {
  return const_cast<Handle*>(static_cast<const Handle*>(object)) - 1;
}
inline void hide(const void* object) {
  *word_of(object) &= ~kAddress;
}
inline Handle handle_of(const void* object) {
  return *word_of(object);
}
// What lies behind a handle that is known to be good.
inline void* object_of(Handle handle) {
  return reinterpret_cast<Handle*>(handle & kAddress) + 1;
}
// The same for any word; null unless it is the handle of a slot in use.
inline void* find(Handle word) {
  const Handle slot = word & kAddress;
  // acquire: partner is the release in take(), of the thread that made it memory.
  if (slot - range.first >= range.used.load(std::memory_order_acquire)) return nullptr;
  return *reinterpret_cast<const Handle*>(slot) == word ? object_of(word) : nullptr;
}

// Whether it was a handle once: a slot's address with a generation that is over. What is invented
// may look so, too; this is for sentences only.
bool was_freed(Handle word);

// Slots by number, for languages whose handles are ints. 0: not the handle of a slot in use.
int number_of(Handle handle);
Handle handle_at(int number);  // what is in it now

}  // namespace tutti::slots
