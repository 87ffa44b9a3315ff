// The thread that makes progress beside the program's own.
#include "world/helper.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/clock.h"
#include "base/quiet_thread.h"

namespace tutti::world {
namespace {

constexpr std::int64_t kLongestSleep_us = 20'000;
constexpr std::int64_t kQuiet_ns = 5'000;    // without an event: nothing moves any more
constexpr unsigned long kTimerSlack_ns = 1;  // the kernel's own 50 us would double short sleeps

}  // namespace

Result<std::unique_ptr<Helper>> Helper::start(Gate& gate, p2p::Endpoint& endpoint,
                                              std::int64_t every_us) {
  std::unique_ptr<Helper> helper(new Helper(gate, endpoint, every_us));
  helper->thread_ = quiet_thread([self = helper.get()] { self->work(); });
  if (!helper->thread_.joinable())
    return fail(Code::no_mem,
                "no thread for progress can be started; unset TUTTI_PROGRESS_US or raise the limit "
                "of processes (ulimit -u)");
  return helper;
}

// The thread never waits for the gate, so it comes to its end while the caller holds it.
Helper::~Helper() {
  {
    const std::scoped_lock hold(mutex_);
    is_over_ = true;
  }
  ends_.notify_all();
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();  // exit() was called in a callback
  else
    thread_.join();
}

void Helper::work() {
  ::prctl(PR_SET_TIMERSLACK, kTimerSlack_ns, 0, 0, 0);
  std::int64_t sleep_us = every_us_;
  std::uint64_t seen = gate_.entries();
  while (sleep(sleep_us)) {
    const bool others_call = gate_.entries() != seen;
    const bool has_moved = move();
    sleep_us = has_moved || others_call ? every_us_ : std::min(2 * sleep_us, kLongestSleep_us);
    seen = gate_.entries();
  }
}

bool Helper::move() {
  bool has_moved = false;
  std::int64_t last_ns = 0;
  while (gate_.try_enter()) {
    const bool moves = endpoint_.progress() > 0;
    if (moves) endpoint_.active();
    gate_.leave();
    if (!moves && !has_moved) return false;
    const std::int64_t now = now_ns();
    if (!moves && now - last_ns > kQuiet_ns) break;
    if (moves) last_ns = now;
    has_moved = true;
  }
  return has_moved;
}

bool Helper::sleep(std::int64_t for_us) {
  std::unique_lock hold(mutex_);
  return !ends_.wait_for(hold, std::chrono::microseconds(for_us), [this] { return is_over_; });
}

}  // namespace tutti::world
