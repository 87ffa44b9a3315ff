// kernels: the loops of the predefined operations, by operation and element.
//
// The same sources are compiled once per level of vector instructions, each time in its own
// namespace; op.cc takes the highest level that this processor has. Because of that a kernel
// source calls no inline function that other code might share (the linker keeps one copy).
#pragma once

#include "types/types.h"

#ifndef TUTTI_KERNELS
#define TUTTI_KERNELS plain
#endif

namespace tutti::types {

enum class Operation : std::uint8_t {
  sum,
  min,
  max,
  prod,
  band,
  bor,
  bxor,
  land,
  lor,
  lxor,
  minloc,
  maxloc,
  replace,
  no_op
};
inline constexpr std::size_t kOperations = 14;

struct KernelTable {
  Op::Kernel rows[kOperations][kElements];
  // Of the elements whose sums and products are taken in a wider type; see types/op.h.
  Op::Convert widen[kElements], narrow[kElements];

  __attribute__((always_inline)) void set(Operation operation, Element element, Op::Kernel kernel) {
    rows[static_cast<std::size_t>(operation)][static_cast<std::size_t>(element)] = kernel;
  }
};

enum class KernelLevel : std::uint8_t { plain, avx2, avx512 };
// False when this processor, or this build, does not have the level.
bool fill_kernels(KernelLevel level, KernelTable& table);

// Each source fills in its part of the table.
#define TUTTI_KERNEL_LEVEL(level)           \
  namespace level {                         \
  void fill_arithmetic(KernelTable& table); \
  void fill_minmax(KernelTable& table);     \
  void fill_logic(KernelTable& table);      \
  void fill_loc(KernelTable& table);        \
  void fill_widening(KernelTable& table);   \
  }
TUTTI_KERNEL_LEVEL(plain)
TUTTI_KERNEL_LEVEL(avx2)
TUTTI_KERNEL_LEVEL(avx512)
#undef TUTTI_KERNEL_LEVEL

}  // namespace tutti::types
