// The thread that makes progress beside the program's own.
#include "world/helper.h"

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/shortage.h"
#include "topo/topo.h"

namespace tutti::world {
namespace {

constexpr std::int64_t kLongestSleep_us = 20'000;
constexpr std::int64_t kQuiet_ns = 5'000;    // without an event: nothing moves any more
constexpr unsigned long kTimerSlack_ns = 1;  // the kernel's own 50 us would double short sleeps

// By itself.
constexpr Backoff::Phases kPhases{100'000, 1'000'000};
constexpr useconds_t kHelperLooksEvery_us = 50;

std::size_t processors_allowed() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return static_cast<std::size_t>(CPU_COUNT(&allowed));
}

}  // namespace

Result<std::unique_ptr<Helper>> Helper::start(Gate& gate, p2p::Endpoint& endpoint,
                                              std::int64_t every_us) {
  return begin(std::unique_ptr<Helper>(new Helper(gate, endpoint, every_us, {})));
}

Result<std::unique_ptr<Helper>> Helper::start(Gate& gate, p2p::Endpoint& endpoint, Duty duty) {
  const std::size_t processors =
      duty.processors.empty() ? processors_allowed() : duty.processors.size();
  if (processors < 2) return fail(Code::other, "the rank's core is its only one");
  return begin(std::unique_ptr<Helper>(new Helper(gate, endpoint, 0, std::move(duty))));
}

Result<std::unique_ptr<Helper>> Helper::begin(std::unique_ptr<Helper> helper) {
  helper->thread_ = QuietThread([self = helper.get()] {
    ::prctl(PR_SET_TIMERSLACK, kTimerSlack_ns, 0, 0, 0);
    self->every_us_ > 0 ? self->work() : self->attend();
  });
  if (!helper->thread_.joinable())
    return fail(Code::no_mem,
                std::string("no thread for progress can be started; unset TUTTI_PROGRESS_US or ") +
                    kMoreThreads);
  return helper;
}

// The thread never waits for the gate, so it comes to its end while the caller holds it.
Helper::~Helper() {
  {
    const std::scoped_lock hold(mutex_);
    is_over_.store(true, std::memory_order_relaxed);
  }
  called_.notify_all();
  if (!thread_.joinable()) return;
  if (thread_.is_caller())
    thread_.detach();  // exit() was called in a callback
  else
    thread_.join();
}

void Helper::call() {
  {
    const std::scoped_lock hold(mutex_);
    is_called_ = true;
  }
  called_.notify_all();
}

void Helper::work() {
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
  return !called_.wait_for(hold, std::chrono::microseconds(for_us), [this] { return is_over(); });
}

bool Helper::wait_for_call() {
  std::unique_lock hold(mutex_);
  called_.wait(hold, [this] { return is_over() || is_called_; });
  is_called_ = false;
  return !is_over();
}

// The program waits itself where it is inside of a call; then, and where nothing moves for long, it
// looks less often.
void Helper::attend() {
  // On the program's core it would only disturb.
  if (!duty_.processors.empty() && !topo::bind_self(duty_.processors)) return;
  while (wait_for_call()) {
    Backoff backoff(kPhases);
    for (bool is_wanted = true; is_wanted && !is_over();) {
      if (moves_some(is_wanted))
        backoff.restart();
      else if (!pause_awake(backoff))
        ::usleep(kHelperLooksEvery_us);
    }
  }
}

// Leaves `is_wanted` as it is where somebody else is inside.
bool Helper::moves_some(bool& is_wanted) {
  if (!gate_.try_enter()) return false;
  is_wanted = duty_.has_work(duty_.self);
  const bool moves = is_wanted && duty_.may_enter(duty_.self) && endpoint_.progress() > 0;
  if (moves) endpoint_.active();
  gate_.leave();
  return moves;
}

}  // namespace tutti::world
