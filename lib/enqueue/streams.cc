// The streams of a world, and the thread that works for them.
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/shortage.h"
#include "enqueue/call_queue.h"
#include "enqueue/enqueue.h"

namespace tutti::enqueue {
namespace {

// A stream wakes nobody: while something is enqueued our thread looks, less and less often.
constexpr Backoff::Phases kPhases{5'000, 200'000, 8};
constexpr std::int64_t kShortestNap_ns = 20'000, kLongestNap_ns = 1'000'000;
constexpr std::int64_t kLooksForLosses_ns = 100'000'000, kLooksAtMembers_ns = 10'000'000;
constexpr int kForEver_ms = 1 << 30;
constexpr unsigned long kTimerSlack_ns = 1;  // the kernel's own 50 us would double short naps

}  // namespace

CallStreams::CallStreams(world::World& world, Fatal fatal) : world_(world), fatal_(fatal) {}

CallStreams::~CallStreams() {
  stop();
  world_.endpoint().devices().set_enqueued(nullptr);
}

void CallStreams::stop() {
  if (is_over_.load(std::memory_order_acquire)) return;
  world_.give_gate_up();  // the thread may wait for it
  is_over_.store(true, std::memory_order_release);
  wake_word_.fetch_add(1, std::memory_order_release);
  futex_wake(wake_word_);
  if (thread_.joinable()) {
    if (thread_.is_caller())
      thread_.detach();  // exit() was called in a callback
    else
      thread_.join();
  }
  watch_word_.store(1, std::memory_order_relaxed);
  futex_wake(watch_word_);
  if (watch_.joinable()) watch_.join();
  const std::scoped_lock hold(mutex_);
  for (const auto& queue : queues_) queue->abandon();
}

// Tried, not waited for: whoever has a share may be blocked by a full stream, and we hold the
// gate.
bool CallStreams::begin_rest() {
  if (rests_ || !marks_.try_lock()) return false;
  rests_ = !is_under_way();
  if (!rests_) marks_.unlock();
  return rests_;
}

void CallStreams::end_rest() {
  rests_ = false;
  marks_.unlock();
}

Result<Ref<UserStream>> CallStreams::open(std::string_view type, std::uintptr_t handle,
                                          bool is_promised) {
  types::Vendor* const vendor = world_.gpus();
  if (vendor == nullptr)
    return fail(Code::unsupported,
                "there are no streams of type " + std::string(type) +
                    ": this process has no GPU that this Tutti could use (prun --check says why; "
                    "TUTTI_GPU_SUPPORT=yes where CUDA is loaded later)");
  if (type != vendor->queue_type())
    return fail(Code::unsupported, "streams of type " + std::string(type) +
                                       " are not known; there are those of " +
                                       vendor->queue_type());
  TUTTI_TRY(device_queue, vendor->open_queue(handle));
  TUTTI_DO(start());
  auto calls = std::make_shared<CallQueue>(*this, std::move(device_queue));
  {
    const std::scoped_lock hold(mutex_);
    queues_.push_back(calls);
  }
  return Ref<UserStream>::adopt(new UserStream(this, std::move(calls), is_promised));
}

Ref<UserStream> CallStreams::open_of_host() {
  return Ref<UserStream>::adopt(new UserStream(this, nullptr, false));
}

Result<void> CallStreams::start() {
  if (thread_.joinable()) return {};
  world_.open_gate();
  world_.endpoint().devices().set_enqueued(this);
  thread_ = QuietThread([this] { work(); });
  if (thread_.joinable()) {
    watch_ = QuietThread([this] { watch(); });  // without it all works, and nobody explains
    return {};
  }
  return fail(Code::no_mem,
              std::string("no thread for calls in streams can be started; ") + kMoreThreads);
}

void CallStreams::drain() {
  while (is_under_way()) pause();
  for (const auto& queue : queues_)
    while (const auto failure = queue->take_failure())
      log::warn(std::string(failure->call) + ", " + failure->why.text + ", failed with error " +
                std::to_string(static_cast<int>(failure->code)) +
                ", and no call came that could say so");
}

void CallStreams::forget(const CallQueue& queue) {
  const std::scoped_lock hold(mutex_);
  std::erase_if(queues_, [&queue](const auto& each) { return each.get() == &queue; });
}

void CallStreams::work() {
  ::prctl(PR_SET_TIMERSLACK, kTimerSlack_ns, 0, 0, 0);
  world_.leave_binding();
  world_.gpus()->begin_thread();
  Backoff backoff(kPhases);
  while (!is_over_.load(std::memory_order_acquire)) {
    if (streamed_.load(std::memory_order_relaxed) > 0) look_at_members();
    if (!is_under_way()) {
      sleep();
      backoff.restart();
    } else if (step()) {
      backoff.restart();
    } else {
      nap(backoff);
    }
  }
}

bool CallStreams::is_any_reached() {
  const std::scoped_lock hold(mutex_);
  return std::any_of(queues_.begin(), queues_.end(),
                     [](const auto& queue) { return queue->is_reached(); });
}

// Where the program is inside of a call it makes progress itself.
bool CallStreams::step() {
  const bool begins = is_any_reached();
  if (begins)
    world_.enter();
  else if (!world_.try_enter())
    return false;
  for (std::size_t i = 0; begins && i < queues_.size(); ++i) queues_[i]->begin_reached();
  p2p::Endpoint& endpoint = world_.endpoint();
  const bool moves = in_flight_ > 0 && endpoint.progress_or_yield() > 0;
  if (begins) endpoint.active();  // another thread may wait for what has begun
  world_.leave();
  return begins || moves;
}

void CallStreams::nap(Backoff& backoff) {
  const Backoff::Next next = backoff.next();
  if (next == Backoff::Next::look) return relax();
  if (next == Backoff::Next::yield) {
    ::sched_yield();
    return;
  }
  const std::int64_t now = backoff.read_ns();
  if (now - looked_ns_ > kLooksForLosses_ns) {
    looked_ns_ = now;
    look_for_losses();
  }
  // A nap is about a 16th of what was waited so far: a wait gets that much longer by naps, no more.
  constexpr int kNapsADoubling = 16;
  const auto nap =
      std::min(kLongestNap_ns, kShortestNap_ns << std::min(backoff.sleeps() / kNapsADoubling, 10));
  const timespec for_ns{0, nap};
  ::nanosleep(&for_ns, nullptr);
}

// Until something is put.
void CallStreams::sleep() {
  const std::uint32_t seen = wake_word_.load(std::memory_order_acquire);
  sleeps_.store(true, std::memory_order_seq_cst);
  if (!is_under_way() && !is_over_.load(std::memory_order_acquire))
    futex_sleep(wake_word_, seen, kForEver_ms);
  sleeps_.store(false, std::memory_order_relaxed);
}

void CallStreams::wake() {
  if (!sleeps_.load(std::memory_order_seq_cst)) return;
  sleeps_.store(false, std::memory_order_relaxed);
  wake_word_.fetch_add(1, std::memory_order_release);
  futex_wake(wake_word_);
}

// The library's kernels wait for other members, and nothing but we would end them.
void CallStreams::look_at_members() {
  const std::int64_t now = now_ns();
  if (now - looked_at_members_ns_ < kLooksAtMembers_ns) return;
  looked_at_members_ns_ = now;
  world_.enter();
  comm::look_in_streams(world_.world_comm().runtime());
  world_.leave();
}

void CallStreams::look_for_losses() {
  std::vector<std::shared_ptr<CallQueue>> lost;
  {
    const std::scoped_lock hold(mutex_);
    std::copy_if(queues_.begin(), queues_.end(), std::back_inserter(lost),
                 [](const auto& queue) { return !queue->is_empty() && queue->is_lost(); });
  }
  if (lost.empty()) return;
  world_.enter();
  for (const auto& queue : lost) queue->lose();
  world_.leave();
}

}  // namespace tutti::enqueue
