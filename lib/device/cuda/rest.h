// rest: calls in the user's streams rest while this lives, so that none stands still.
#pragma once

#include "types/types.h"

namespace tutti::device::cuda {

class Rest {
 public:
  // Null: there are no streams of the user's.
  explicit Rest(types::Enqueued* enqueued)
      : enqueued_(enqueued), holds_(enqueued == nullptr || enqueued->begin_rest()) {}
  ~Rest() {
    if (holds_ && enqueued_ != nullptr) enqueued_->end_rest();
  }
  Rest(const Rest&) = delete;
  Rest& operator=(const Rest&) = delete;
  // False: some are under way, or rest already for somebody else.
  explicit operator bool() const { return holds_; }

 private:
  types::Enqueued* const enqueued_;
  const bool holds_;
};

}  // namespace tutti::device::cuda
