// One walk along a list of what there is to do.
#pragma once

#include <cstddef>
#include <vector>

namespace tutti::p2p {

// Calls `stays` of each in turn, also of those that it adds behind, and drops those of which it
// says no. Where it throws, what it was called of stays, with all behind it.
template <class T, class Stays>
void keep_those(std::vector<T>& list, Stays stays) {
  struct Walk {
    std::vector<T>& list;
    std::size_t kept = 0, next = 0;
    ~Walk() {
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(kept),
                 list.begin() + static_cast<std::ptrdiff_t>(next));
    }
  } walk{list};
  while (walk.next < list.size()) {
    const T each = list[walk.next];
    const bool is_kept = stays(each);
    ++walk.next;
    if (is_kept) list[walk.kept++] = each;
  }
}

}  // namespace tutti::p2p
