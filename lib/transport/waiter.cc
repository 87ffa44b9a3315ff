// Waiting: poll, then yield, then sleep.
//
// With a core for every rank it polls for a while, because waking costs 10 us and more. In a
// crowd (more ranks than cores) it yields at once, since the awaited rank may be the one that
// has no core. Both end in sleep. Where programs of others run on the same cores it does not yield,
// and sleeps with a short time slice (foreign.h, slice.h).
//
// Sleep takes two calls. The first one arms: it says in the segment how to wake this rank, lets
// a fence pass through everybody's core, and returns, so that the caller looks once more at
// everything it waits for. The second one sleeps. Who makes something visible after that last
// look sees the sleep word (wake.h). One thread sleeps on the rank's word or descriptors, the
// leader; further threads of the process wait for it to come back.
#include <sched.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "transport/foreign.h"
#include "transport/slice.h"
#include "transport/transport.h"
#include "transport/wake.h"
#include "wireup/doorbell.h"
#include "wireup/wireup.h"

namespace tutti::transport {
namespace {

using wireup::SleepState;

constexpr int kFirstSleepMs = 100;
constexpr int kLongestSleepMs = 1000;
constexpr std::uint64_t kClockEvery = 16;  // polls per look at the clock
constexpr std::uint64_t kGateEvery = 32;   // polls between letting other threads in
constexpr std::int64_t kLookEveryNs = 10'000'000;

// How long the phases last, from the facts of this host.
struct Budget {
  std::int64_t poll_ns;          // plain polling
  std::int64_t yield_ns;         // polling and yielding, counted from the beginning
  std::uint64_t polls_at_least;  // before the clock decides
};

Budget derive(const wireup::Wireup& wireup, const Knobs& knobs) {
  const wireup::SegmentHeader& header = wireup.segment().header();
  const bool crowded = header.is_crowded();
  Budget budget = crowded ? Budget{0, 400'000, 8} : Budget{50'000, 1'000'000, 64};
  if (const std::int64_t forced = knobs.integer("TUTTI_POLL_US"); forced >= 0) {
    budget.poll_ns = forced * 1000;
    budget.yield_ns = std::max(budget.yield_ns, budget.poll_ns);
    if (forced == 0) budget.polls_at_least = 0;
  }
  return budget;
}

class Policy final : public Waiter {
 public:
  Policy(const Surroundings& around, std::span<const std::unique_ptr<Transport>> transports)
      : segment_(around.wireup->segment()),
        local_(static_cast<std::uint32_t>(around.wireup->local_rank())),
        own_(segment_.local(local_)),
        budget_(derive(*around.wireup, *around.knobs)),
        looks_for_others_(around.knobs->text("TUTTI_SHARED_CORES") == "auto"),
        beside_others_(around.knobs->text("TUTTI_SHARED_CORES") == "on") {
    for (const auto& transport : transports) transports_.push_back(transport.get());
    register_barriers(own_);
    join_descriptors();
  }

  ~Policy() override {
    own_.sleep.store(static_cast<std::uint32_t>(SleepState::awake), std::memory_order_relaxed);
  }

  void busy() override {
    idle_ = 0;
    looks_ = 0;
    if (stage_ != Stage::polling) [[unlikely]]
      busy_after_arming();
  }

  void pause(const Gate& gate) override {
    switch (stage_) {
      case Stage::polling:
        return poll(gate);
      case Stage::armed:
        return lead(gate);
      case Stage::sleeping:
        return follow(gate);
    }
  }

  // In a crowd one look in vain is enough; else they must have come for as long as polling takes.
  bool relent(const Gate& gate) override {
    if (++looks_ == 1) {
      first_look_ns_ = 0;
      lingers_ = budget_.poll_ns == 0;
      return false;
    }
    if (looks_ % kClockEvery == 0) note_time();
    if (!lingers_) return false;
    with_open_gate(gate, [] { ::sched_yield(); });
    return true;
  }

  void wake_self() override {
    wake_if_asleep(segment_, local_, own_, true);
    call_followers();
  }

 private:
  enum class Stage : std::uint8_t { polling, armed, sleeping };

  void poll(const Gate& gate) {
    if (++idle_ == 1) {
      began_ns_ = 0;
      sleep_ms_ = first_sleep_ms_;
    }
    // Returns then: another thread may have armed or gone to sleep meanwhile.
    if (gate.release != nullptr && idle_ % kGateEvery == 0) return with_open_gate(gate, [] {});
    if (idle_ <= budget_.polls_at_least) return;
    if (!yielding_now() && idle_ % kClockEvery != 0) return;
    const std::int64_t now = now_ns();
    if (began_ns_ == 0) began_ns_ = now;
    waited_ns_ = now - began_ns_;
    if (now - looked_ns_ > kLookEveryNs) look_around(now);
    // A yield lets others run for their whole slices, a sleeper's wake-up takes the core from them.
    const std::int64_t yield_ns = beside_others_ ? budget_.poll_ns : budget_.yield_ns;
    if (waited_ns_ >= yield_ns) return arm();
    if (waited_ns_ >= budget_.poll_ns) with_open_gate(gate, [] { ::sched_yield(); });
  }

  void note_time() {
    const std::int64_t now = now_ns();
    if (first_look_ns_ == 0) first_look_ns_ = now;
    lingers_ = now - first_look_ns_ >= budget_.poll_ns;
    if (now - looked_ns_ > kLookEveryNs) look_around(now);
  }

  bool yielding_now() const { return began_ns_ != 0 && waited_ns_ >= budget_.poll_ns; }

  // Says how to be woken; the caller then looks once more at what it waits for.
  void arm() {
    // acquire: pairs with the waker's release; a bump after this ends the sleep at once.
    seen_word_ = own_.wake_word.load(std::memory_order_acquire);
    for (Transport* transport : transports_) transport->wait_fd();
    const auto state = epoll_.is_open() ? SleepState::doorbell : SleepState::futex;
    // relaxed: heavy_fence orders it before our next look and against every sender.
    own_.sleep.store(static_cast<std::uint32_t>(state), std::memory_order_relaxed);
    heavy_fence(own_);
    look_around(now_ns());  // a daemon that saw us awake rings no bell
    stage_ = Stage::armed;
  }

  void busy_after_arming() {
    if (stage_ == Stage::sleeping) {
      // This thread may have completed what the sleeping one waits for.
      if (!std::exchange(called_leader_, true)) wake_self();
      return;
    }
    // relaxed: an extra wake does no harm.
    own_.sleep.store(static_cast<std::uint32_t>(SleepState::awake), std::memory_order_relaxed);
    stage_ = Stage::polling;
  }

  void lead(const Gate& gate) {
    // acquire: pairs with wake_sleeper's exchange.
    const bool woken =
        own_.sleep.load(std::memory_order_acquire) == static_cast<std::uint32_t>(SleepState::awake);
    if (!woken) {
      stage_ = Stage::sleeping;
      called_leader_ = false;
      with_open_gate(gate, [this, with_others = beside_others_] { sleep(with_others); });
    }
    own_.sleep.store(static_cast<std::uint32_t>(SleepState::awake), std::memory_order_relaxed);
    // Polling starts where it ended: one fruitless round, and we sleep again.
    stage_ = Stage::polling;
    sleep_ms_ = std::min(2 * sleep_ms_, longest_sleep_ms_);
    look_around(now_ns());
    call_followers();
  }

  void sleep(bool with_others) {
    if (with_others) slice_.take();
    rest();
    slice_.give_back();
  }

  // Until woken, or for as long as a sleep may take.
  void rest() {
    if (!epoll_.is_open()) return futex_sleep(own_.wake_word, seen_word_, sleep_ms_);
    std::array<epoll_event, 4> events{};
    const int ready =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), sleep_ms_);
    for (int i = 0; i < ready; ++i)
      if (events[static_cast<std::size_t>(i)].data.fd == doorbell_.get())
        wireup::drain_doorbell(doorbell_.get());
  }

  // Another thread is the leader.
  void follow(const Gate& gate) {
    const std::uint32_t seen = follow_word_.load(std::memory_order_acquire);
    followers_.fetch_add(1, std::memory_order_relaxed);
    with_open_gate(gate, [this, seen] { futex_sleep(follow_word_, seen, kFirstSleepMs); });
    followers_.fetch_sub(1, std::memory_order_relaxed);
  }

  void call_followers() {
    // relaxed: a follower counts itself with the gate held, which the leader has now too; for
    // wake_self a miss is bounded by the follower's time limit.
    if (followers_.load(std::memory_order_relaxed) == 0) return;
    // release: pairs with the acquire in follow().
    follow_word_.fetch_add(1, std::memory_order_release);
    futex_wake(follow_word_);
  }

  void look_around(std::int64_t now) {
    looked_ns_ = now;
    if (looks_for_others_) look_for_others(now);
    for (Transport* transport : transports_) transport->look_around();
  }

  void look_for_others(std::int64_t now) {
    beside_others_ = foreign_.is_there(now);
    if (beside_others_ && !std::exchange(said_others_, true))
      log::explain("others run on this rank's cores: it sleeps at once, with a short time slice");
  }

  template <class Body>
  static void with_open_gate(const Gate& gate, Body&& body) {
    if (gate.release != nullptr) gate.release(gate.self);
    body();
    if (gate.retake != nullptr) gate.retake(gate.self);
  }

  // Descriptors to sleep on, if any transport has one; the doorbell joins them.
  void join_descriptors() {
    for (Transport* transport : transports_) {
      const int fd = transport->wait_fd();
      if (fd < 0) continue;
      if (!epoll_.is_open()) epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
      watch(fd);
    }
    if (!epoll_.is_open()) return;
    doorbell_ = wireup::open_doorbell(segment_, local_);
    if (doorbell_.is_open()) return watch(doorbell_.get());
    // Nobody can ring: neighbours are found by looking often, at some cost.
    first_sleep_ms_ = longest_sleep_ms_ = 1;
  }

  void watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }

  const wireup::Segment& segment_;
  std::uint32_t local_;
  wireup::LocalRecord& own_;
  Budget budget_;
  bool looks_for_others_, beside_others_, said_others_ = false;  // programs of others
  ForeignLoad foreign_{kernel_counters(segment_, local_)};
  ShortSlice slice_{kernel_scheduler()};
  std::vector<Transport*> transports_;
  UniqueFd epoll_;
  UniqueFd doorbell_;
  Stage stage_ = Stage::polling;
  bool called_leader_ = false;
  std::uint64_t idle_ = 0;  // fruitless polls since something happened
  std::int64_t began_ns_ = 0;
  std::uint64_t looks_ = 0;  // fruitless ones by callers that may not wait, since then
  std::int64_t first_look_ns_ = 0;
  bool lingers_ = false;  // they have come for as long as polling takes
  std::int64_t waited_ns_ = 0;
  std::int64_t looked_ns_ = 0;
  int sleep_ms_ = kFirstSleepMs;
  int first_sleep_ms_ = kFirstSleepMs;
  int longest_sleep_ms_ = kLongestSleepMs;
  std::uint32_t seen_word_ = 0;
  std::atomic<std::uint32_t> follow_word_{0};  // bumped when a leader comes back
  std::atomic<std::uint32_t> followers_{0};
};

}  // namespace

std::unique_ptr<Waiter> make_waiter(const Surroundings& around,
                                    std::span<const std::unique_ptr<Transport>> transports) {
  return std::make_unique<Policy>(around, transports);
}

}  // namespace tutti::transport
