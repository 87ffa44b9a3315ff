// elements: what each rank gives to a reduction, and what comes of it.
#pragma once

#include <cstddef>
#include <vector>

#include "../ranks/check.h"

namespace gpu {

inline int element(int of, std::size_t i) {
  return static_cast<int>((static_cast<std::size_t>(of) * 7 + i) % 1000);
}
// Of the ranks from 0 to `last`.
inline int sum(int last, std::size_t i) {
  int all = 0;
  for (int of = 0; of <= last; ++of) all += element(of, i);
  return all;
}
// This rank's.
inline std::vector<int> own(std::size_t count) {
  std::vector<int> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = element(ranks::rank, i);
  return all;
}

}  // namespace gpu
