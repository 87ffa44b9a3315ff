// Counting, and the functions of libc that are replaced for it.
//
// Time stands still between two looks at the clock and moves a little with each: what the library
// decides by time it decides alike in every run. Under valgrind a look would be a system call;
// outside it is none, hence a count of its own.
#include "instructions/counters.h"

#include <sched.h>
#include <valgrind/callgrind.h>

#include <cerrno>
#include <cstddef>
#include <ctime>

namespace tutti::ruler {
namespace {

constexpr std::int64_t kLook_ns = 50;         // what a look at the clock takes
constexpr std::int64_t kTick_ns = 4'000'000;  // of the coarse clock

bool g_counts = false;
Counts g_row;
std::int64_t g_now_ns = 1'000'000'000;

void note_allocation() {
  if (g_counts) ++g_row.allocations;
}

}  // namespace

void (*on_yield)() = nullptr;

void count() {
  g_counts = true;
  CALLGRIND_TOGGLE_COLLECT;
}

void pause() {
  CALLGRIND_TOGGLE_COLLECT;
  g_counts = false;
}

void begin_row() {
  g_row = {};
  CALLGRIND_ZERO_STATS;
}

Counts end_row(const char* name) {
  CALLGRIND_DUMP_STATS_AT(name);
  return g_row;
}

}  // namespace tutti::ruler

using namespace tutti::ruler;

// To be found by the libraries in place of libc's.
#pragma GCC visibility push(default)
extern "C" {

void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
  note_allocation();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  note_allocation();
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  note_allocation();
  return __libc_realloc(old, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  note_allocation();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  note_allocation();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** at, std::size_t alignment, std::size_t bytes) {
  note_allocation();
  *at = __libc_memalign(alignment, bytes);
  return *at == nullptr ? ENOMEM : 0;
}

int clock_gettime(clockid_t clock, timespec* time) {
  if (g_counts) ++g_row.clock_reads;
  g_now_ns += kLook_ns;
  const bool coarse = clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_REALTIME_COARSE;
  const std::int64_t now = coarse ? g_now_ns / kTick_ns * kTick_ns : g_now_ns;
  time->tv_sec = now / 1'000'000'000;
  time->tv_nsec = now % 1'000'000'000;
  return 0;
}

int sched_yield() {
  if (g_counts) ++g_row.yields;
  if (on_yield != nullptr) on_yield();
  return 0;
}
}
#pragma GCC visibility pop
