// Waiting of a rank: look at once, then yield, then sleep (base/backoff.h).
//
// With a core for every rank it polls for a while, because waking costs 10 us and more. Where
// the host is oversubscribed (more ranks than cores) it yields at once, since the awaited rank may
// be the one that has no core. Both end in sleep. Where programs of others run on the same cores it
// does not yield, and sleeps with a short time slice (foreign.h, slice.h).
//
// Sleep takes two calls. The first one arms: it says in the segment how to wake this rank, lets
// a fence pass through everybody's core, and returns, so that the caller looks once more at
// everything it waits for. The second one sleeps. Who makes something visible after that last
// look sees the sleep word (wake.h). One thread sleeps on the rank's word or descriptors, the
// leader; further threads of the process wait for it to come back.
#include "transport/waiter.h"

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

// A wait's first sleep, if nothing wakes it; each further one is twice as long.
constexpr int kFirstSleepMs = 100;
constexpr int kLongestSleepMs = 1000;
constexpr int kUnsignalledSleepMs = 1;  // while nothing wakes us when what we wait for has come
constexpr int kMostDoublings = 10;      // more would not fit an int

}  // namespace

// How a rank waits, from the facts of this host.
struct Waiter::Manner {
  Backoff::Phases phases;
  int looks_at_word;
  static Manner derive(const wireup::Wireup& wireup, const Knobs& knobs);
};

Waiter::Manner Waiter::Manner::derive(const wireup::Wireup& wireup, const Knobs& knobs) {
  // To sleep and be woken costs 0.1 ms where a core that sleeps is given away (virtual machines): a
  // hundredth of this wait, which is longer than most turns of all ranks of a crowded core.
  constexpr std::int64_t kYield_ns = 10'000'000;
  constexpr Manner kOversubscribed{{0, kYield_ns, 8}, 2};
  constexpr Manner kCoreEach{{50'000, kYield_ns, 64}, 100};  // the looks: about 2 us
  Manner manner = wireup.segment().header().is_oversubscribed() ? kOversubscribed : kCoreEach;
  Backoff::Phases& phases = manner.phases;
  if (const std::int64_t forced = knobs.integer("TUTTI_POLL_US"); forced >= 0) {
    phases.look_ns = forced * 1000;
    phases.yield_ns = std::max(phases.yield_ns, phases.look_ns);
    if (forced == 0) manner.looks_at_word = 1;
  }
  return manner;
}

class Waiter::Sleeper {
 public:
  Sleeper(Waiter& waiter, const Surroundings& around,
          std::span<const std::unique_ptr<Transport>> transports, const Manner& manner)
      : waiter_(waiter),
        segment_(around.wireup->segment()),
        local_(static_cast<std::uint32_t>(around.wireup->local_rank())),
        own_(segment_.local(local_)),
        phases_(manner.phases),
        looks_for_others_(around.knobs->text("TUTTI_SHARED_CORES") == "auto"),
        beside_others_(around.knobs->text("TUTTI_SHARED_CORES") == "on") {
    for (const auto& transport : transports) transports_.push_back(transport.get());
    register_barriers(own_);
    set_phases();
    join_descriptors();
  }

  ~Sleeper() {
    own_.sleep.store(static_cast<std::uint32_t>(SleepState::awake), std::memory_order_relaxed);
  }

  void wake_self() {
    wake_if_asleep(segment_, local_, own_, true);
    call_followers();
  }

  void wait_by_phase(Backoff::Next next, Gate* gate) {
    if (waiter_.stage_ == Stage::armed) return lead(gate);
    if (waiter_.stage_ == Stage::sleeping) return follow(gate);
    if (waiter_.is_due(waiter_.waits_)) look_around(waiter_.waits_.read_ns());
    if (next == Backoff::Next::sleep) return arm();
    give_way(next, gate);
  }

  // Returns then: another thread may have armed or gone to sleep meanwhile.
  bool give_way(Backoff::Next next, Gate* gate) {
    if (waiter_.is_due(waiter_.looks_)) look_around(waiter_.looks_.read_ns());
    if (next != Backoff::Next::look) {
      waiter_.gave_way_ns_ = std::max(waiter_.waits_.read_ns(), waiter_.looks_.read_ns());
      with_open_gate(gate, [] { ::sched_yield(); });
    } else if (gate != nullptr) {
      gate->let_in();
    }
    return next != Backoff::Next::look;
  }

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
    waiter_.stage_ = Stage::armed;
  }

  void busy_after_arming() {
    if (waiter_.stage_ == Stage::sleeping) {
      // This thread may have completed what the sleeping one waits for.
      if (!std::exchange(called_leader_, true)) wake_self();
      return;
    }
    // relaxed: an extra wake does no harm.
    own_.sleep.store(static_cast<std::uint32_t>(SleepState::awake), std::memory_order_relaxed);
    waiter_.stage_ = Stage::awake;
  }

  void lead(Gate* gate) {
    // acquire: pairs with wake_sleeper's exchange.
    const bool woken =
        own_.sleep.load(std::memory_order_acquire) == static_cast<std::uint32_t>(SleepState::awake);
    if (!woken) {
      waiter_.stage_ = Stage::sleeping;
      called_leader_ = false;
      with_open_gate(gate, [this, with_others = beside_others_, sleep_ms = sleep_ms()] {
        sleep(with_others, sleep_ms);
      });
    }
    own_.sleep.store(static_cast<std::uint32_t>(SleepState::awake), std::memory_order_relaxed);
    // Polling starts where it ended: one fruitless round, and we sleep again.
    waiter_.stage_ = Stage::awake;
    look_around(now_ns());
    waiter_.gave_way_ns_ = waiter_.looked_ns_;
    call_followers();
  }

  void sleep(bool with_others, int sleep_ms) {
    if (with_others) slice_.take();
    sleep_for(sleep_ms);
    slice_.give_back();
  }

  // Twice as long each time.
  int sleep_ms() const {
    if (waiter_.sleeps_shortly()) return kUnsignalledSleepMs;
    return std::min(first_sleep_ms_ << std::min(waiter_.waits_.sleeps() - 1, kMostDoublings),
                    longest_sleep_ms_);
  }

  // Until woken, or for so long.
  void sleep_for(int sleep_ms) {
    if (!epoll_.is_open()) return futex_sleep(own_.wake_word, seen_word_, sleep_ms);
    std::array<epoll_event, 4> events{};
    const int ready =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), sleep_ms);
    for (int i = 0; i < ready; ++i)
      if (events[static_cast<std::size_t>(i)].data.fd == doorbell_.get())
        wireup::drain_doorbell(doorbell_.get());
  }

  // Another thread is the leader.
  void follow(Gate* gate) {
    const std::uint32_t seen = follow_word_.load(std::memory_order_acquire);
    followers_.fetch_add(1, std::memory_order_relaxed);
    const int most_ms = waiter_.sleeps_shortly() ? kUnsignalledSleepMs : kFirstSleepMs;
    with_open_gate(gate, [this, seen, most_ms] { futex_sleep(follow_word_, seen, most_ms); });
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
    waiter_.looked_ns_ = now;
    if (looks_for_others_) look_for_others(now);
    for (Transport* transport : transports_) transport->look_around();
  }

  // A yield lets others run for their whole slices, a sleeper's wake-up takes the core from them.
  void set_phases() {
    Backoff::Phases phases = phases_;
    if (beside_others_) phases.yield_ns = phases.look_ns;
    waiter_.waits_.change(phases);
  }

  void look_for_others(std::int64_t now) {
    beside_others_ = foreign_.is_there(now);
    set_phases();
    if (beside_others_ && !std::exchange(said_others_, true))
      log::explain("others run on this rank's cores: it sleeps at once, with a short time slice");
  }

  template <class Body>
  static void with_open_gate(Gate* gate, Body&& body) {
    const int depth = gate != nullptr ? gate->release() : 0;
    body();
    if (gate != nullptr) gate->retake(depth);
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

  Waiter& waiter_;
  const wireup::Segment& segment_;
  std::uint32_t local_;
  wireup::LocalRecord& own_;
  const Backoff::Phases phases_;
  bool looks_for_others_, beside_others_, said_others_ = false;  // programs of others
  ForeignLoad foreign_{kernel_counters(segment_, local_)};
  ShortSlice slice_{kernel_scheduler()};
  std::vector<Transport*> transports_;
  UniqueFd epoll_;
  UniqueFd doorbell_;
  bool called_leader_ = false;
  int first_sleep_ms_ = kFirstSleepMs;
  int longest_sleep_ms_ = kLongestSleepMs;
  std::uint32_t seen_word_ = 0;
  std::atomic<std::uint32_t> follow_word_{0};  // bumped when a leader comes back
  std::atomic<std::uint32_t> followers_{0};
};

Waiter::Waiter(const Surroundings& around, std::span<const std::unique_ptr<Transport>> transports)
    : Waiter(around, transports, Manner::derive(*around.wireup, *around.knobs)) {}

Waiter::Waiter(const Surroundings& around, std::span<const std::unique_ptr<Transport>> transports,
               const Manner& manner)
    : waits_(manner.phases),
      looks_(manner.phases),
      looks_at_word_(manner.looks_at_word),
      sleeper_(std::make_unique<Sleeper>(*this, around, transports, manner)) {}

Waiter::~Waiter() = default;

void Waiter::wait_by_phase(Backoff::Next next, Gate* gate) {
  sleeper_->wait_by_phase(next, gate);
}

bool Waiter::give_way(Backoff::Next next, Gate* gate) {
  return sleeper_->give_way(next, gate);
}

void Waiter::busy_after_arming() {
  sleeper_->busy_after_arming();
}

void Waiter::wake_self() {
  sleeper_->wake_self();
}

}  // namespace tutti::transport
