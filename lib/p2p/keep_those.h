// Lists of what there is to do: a walk along one, and what is undone of a step that did not happen.
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

// Room for so many: adding one allocates nothing.
template <class T>
void make_room(std::vector<T>& list, std::size_t count) {
  if (list.capacity() < count) list.reserve(2 * count);
}

// What was booked before a frame is posted, since that may call back, is undone unless it is: where
// the link is full, or throws.
template <class Undo>
class Booked {
 public:
  explicit Booked(Undo undo) : undo_(undo) {}
  ~Booked() {
    if (!is_posted_) undo_();
  }
  Booked(const Booked&) = delete;
  Booked& operator=(const Booked&) = delete;
  bool holds(bool is_posted) { return is_posted_ = is_posted; }

 private:
  Undo undo_;
  bool is_posted_ = false;
};

}  // namespace tutti::p2p
