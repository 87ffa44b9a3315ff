// memory.h: what kinds of memory there are, a piece of one, and how the end of work on it is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace tutti {

// Host memory is what the processor may load and store; of other kinds only a types::Device does.
enum class MemoryKind : std::uint8_t { host, cuda };

inline constexpr std::size_t kMemoryKinds = 2;
using MemoryKinds = unsigned;  // a set of them
constexpr MemoryKinds kinds_of(MemoryKind kind) {
  return 1U << static_cast<unsigned>(kind);
}
inline constexpr MemoryKinds kEveryKind = (1U << kMemoryKinds) - 1;

struct Memory {
  void* data = nullptr;
  std::size_t bytes = 0;
  MemoryKind kind = MemoryKind::host;
  int device = 0;
};

// Called once when something that was begun has ended, and its memory may be changed again.
struct Done {
  void (*fire)(Done* self, bool ok) = nullptr;
};

// One whose beginner learns whether it has fired meanwhile: its `fire` says so first of all.
struct WatchedDone : Done {
  void note_fired() {
    if (has_fired_ != nullptr) *std::exchange(has_fired_, nullptr) = true;
  }
  // Whether `begin` has handed it to who will fire it, or has already. False: there is no memory to
  // begin that, and nobody will. What who was told of its end throws is thrown on.
  template <class Begin>
  bool begins(const Begin& begin) {
    bool has_fired = false;
    has_fired_ = &has_fired;
    const struct Unwatch {
      WatchedDone* self;
      const bool& has_fired;
      ~Unwatch() {
        if (!has_fired) self->has_fired_ = nullptr;
      }
    } unwatch{this, has_fired};
    try {
      begin();
    } catch (const std::bad_alloc&) {
      if (has_fired) throw;
      return false;
    }
    return true;
  }

 private:
  bool* has_fired_ = nullptr;
};

}  // namespace tutti
