// What work in streams touches, so that memory is not taken away below it. Of a kernel that is
// what it asks for while it runs: its parameters hold what was there before, too. One that is still
// to come is ended when it asks.
#include <dlfcn.h>
#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "standin.h"

namespace standin {
namespace {

constinit thread_local Touches* running = nullptr;

bool meets(const Touches& work, const Allocation& memory) {
  return std::any_of(work.ranges.begin(), work.ranges.end(), [&](const Touches::Range& each) {
    return each.begin < memory.begin + memory.bytes && memory.begin < each.begin + each.bytes;
  });
}

[[noreturn]] void end_test(const Touches& work, const Allocation& memory, const char* taken_by) {
  std::fprintf(stderr,
               "stand-in GPU: %s takes %zu bytes at %#zx away while a %s that touches them ",
               taken_by, memory.bytes, memory.begin, work.what);
  std::fprintf(stderr, "is %s; who put it into its stream:\n",
               work.is_under_way ? "under way" : "still to come");
  ::backtrace_symbols_fd(work.stack, work.depth, STDERR_FILENO);
  std::abort();
}

}  // namespace

TouchesRef touches(const char* what, std::vector<Touches::Range> ranges) {
  auto made = std::make_shared<Touches>();
  made->what = what;
  made->ranges = std::move(ranges);
  made->depth = ::backtrace(made->stack, static_cast<int>(std::size(made->stack)));
  return made;
}

void begin_touching(const TouchesRef& work) {
  running = work.get();
  if (work != nullptr) work->is_under_way = true;
}
void touch(std::uintptr_t begin, std::size_t bytes) {
  if (running != nullptr) running->ranges.push_back({begin, bytes});
}
void say_who_runs() {
  if (running != nullptr) ::backtrace_symbols_fd(running->stack, running->depth, STDERR_FILENO);
}
void end_touching(const TouchesRef& work) {
  running = nullptr;
  if (work != nullptr) std::erase(state().touches, work);
}

const void* library_of(const void* caller) {
  Dl_info place = {};
  return ::dladdr(caller, &place) != 0 ? place.dli_fbase : nullptr;
}

void must_be_untouched(std::uintptr_t address, const char* taken_by) {
  const Allocation* const memory = find(address);
  if (memory == nullptr) return;
  for (const TouchesRef& each : state().touches)
    if (meets(*each, *memory)) end_test(*each, *memory, taken_by);
}

void must_be_untouched_by_others(std::uintptr_t address, const char* taken_by, const void* caller) {
  const Allocation* const memory = find(address);
  if (memory == nullptr) return;
  const void* const library = library_of(caller);
  for (const TouchesRef& each : state().touches)
    if (each->stream_by != nullptr && each->stream_by != library && meets(*each, *memory))
      end_test(*each, *memory, taken_by);
}

}  // namespace standin
