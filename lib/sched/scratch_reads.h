// Which units of scratch are read by some steps; private to the builder.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>

#include "sched/sched.h"

namespace tutti::sched {

class ScratchReads {
 public:
  void add(const Slice& slice) {
    if (slice.space != Space::scratch || slice.count == 0) return;
    Count begin = slice.offset, end = slice.offset + slice.count;
    auto run = first_ending_at(begin);
    while (run != runs_.end() && run->first <= end) {
      begin = std::min(begin, run->first);
      end = std::max(end, run->second);
      run = runs_.erase(run);
    }
    runs_.emplace(begin, end);
  }

  bool meet(const Slice& slice) const {
    const auto run = first_ending_at(slice.offset + 1);
    return slice.count > 0 && run != runs_.end() && run->first < slice.offset + slice.count;
  }

 private:
  using Runs = std::map<Count, Count>;  // begin, end; they do not touch

  // The first run that ends at `at` or later.
  Runs::const_iterator first_ending_at(Count at) const {
    const auto next = runs_.upper_bound(at);
    return next != runs_.begin() && std::prev(next)->second >= at ? std::prev(next) : next;
  }

  Runs runs_;
};

}  // namespace tutti::sched
