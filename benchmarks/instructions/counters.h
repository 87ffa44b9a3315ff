// What is counted: instructions and system calls by callgrind; allocations, looks at the clock and
// yields by this program, which stands before libc with functions of the same names.
#pragma once

#include <cstdint>

namespace tutti::ruler {

struct Counts {
  std::uint64_t allocations = 0;
  std::uint64_t clock_reads = 0;
  std::uint64_t yields = 0;  // system calls that callgrind does not see, as they are replaced
};

// Nothing is counted but between count() and pause().
void count();
void pause();
// From zero.
void begin_row();
// Hands callgrind's figures out under this name; returns the others.
Counts end_row(const char* name);

// Called for each sched_yield() of the library; does nothing until it is set.
extern void (*on_yield)();

}  // namespace tutti::ruler
