// Beginning and end of calls where several threads may be in MPI, or calls are recorded.
#include "mpi/call.h"

#include <string>

#include "base/log.h"

namespace tutti::mpi {

void CallScope::come_in_turn() {
  come_among(*entered_, number_);
  watch::enter(*process.watch, number_);
  if (process.recorder != nullptr) [[unlikely]]
    begin_ns_ = now_ns();
}

// A gate may have come meanwhile, which another thread has opened.
void CallScope::go_in_turn() noexcept {
  if (process.recorder != nullptr) [[unlikely]]
    process.recorder->end(number_, begin_ns_);
  watch::leave(*process.watch);
  if (entered_->is_inside()) go_from_among(*entered_, number_);
}

void CallScope::come_seen(When when) {
  if (when == inside) {
    if (has_company()) suspect();
    come_alone();
  }
  watch::enter(*process.watch, number_);
  if (process.recorder != nullptr) begin_ns_ = now_ns();
}

void CallScope::go_seen() noexcept {
  process.recorder->end(number_, begin_ns_);
  watch::leave(*process.watch);
}

// Once is enough. Which level the program asked for is what it got.
void CallScope::suspect() const {
  static std::atomic<bool> is_told{false};
  const std::uint32_t other = process.watch->function.load(std::memory_order_relaxed);
  if (other == 0 || kAnytime[other - 1] || process.callbacks > 0 || is_told.exchange(true)) return;
  log::warn(std::string("two threads are in MPI at once, in ") + kNames[other - 1] + " and " +
            kNames[number_] +
            ", which goes wrong: ask for MPI_THREAD_MULTIPLE, by MPI_Init_thread");
}

}  // namespace tutti::mpi
