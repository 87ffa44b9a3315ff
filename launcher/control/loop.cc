// The event loop, over asio. The only file that includes asio, so that others compile fast.
//
// Descriptors are watched through one epoll of our own, which is all that asio sees: asio makes
// what it watches non-blocking, and prun's stdin and stdout are shared with other processes that
// do not expect that. A regular file cannot be watched and is always ready. Signals come by
// signalfd, so that a forked child inherits no handlers.
#define ASIO_STANDALONE
#define ASIO_NO_DEPRECATED
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <array>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <csignal>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "control/control.h"

namespace tutti::launch::control {

struct Loop::Inside {
  // A daemon has three for every rank: what few need is on the heap.
  struct Watch {
    Callback on_read;
    std::unique_ptr<Callback> on_write;
    std::uint32_t generation = 0;  // 0: nobody watches this descriptor
    bool always_ready = false;
    bool waiting = false;
    bool wanted() const { return on_read || on_write; }
  };
  // Descriptors with neighbouring numbers lie together.
  static constexpr int kRun = 16;
  using Watches = std::array<Watch, kRun>;

  Inside() : context(1), gate(context, ::epoll_create1(EPOLL_CLOEXEC)) {}

  Watch& watch_of(int fd);
  Watch* find(int fd);
  void set_interest(int fd, Watch& watch);
  void wait_for_any();
  void dispatch_ready();
  void dispatch(int fd, std::uint32_t generation, std::uint32_t events);
  void run_always_ready();
  std::vector<std::pair<int, std::uint32_t>> always_ready() const;

  asio::io_context context;
  asio::posix::stream_descriptor gate;  // one epoll for all watched descriptors
  std::map<int, Watches> watches;       // by number / kRun
  std::map<TimerId, asio::steady_timer> timers;
  TimerId last_timer = 0;
  std::uint32_t last_generation = 0;
  UniqueFd signals;
  bool always_posted = false;
};

Loop::Inside::Watch* Loop::Inside::find(int fd) {
  const auto run = watches.find(fd / kRun);
  if (run == watches.end()) return nullptr;
  Watch& watch = run->second[static_cast<std::size_t>(fd % kRun)];
  return watch.generation != 0 ? &watch : nullptr;
}

Loop::Inside::Watch& Loop::Inside::watch_of(int fd) {
  Watch& watch = watches[fd / kRun][static_cast<std::size_t>(fd % kRun)];
  if (watch.generation != 0) return watch;
  if (++last_generation == 0) ++last_generation;
  watch.generation = last_generation;
  return watch;
}

void Loop::Inside::set_interest(int fd, Watch& watch) {
  epoll_event event{};
  event.events = (watch.on_read ? EPOLLIN | EPOLLRDHUP : 0U) | (watch.on_write ? EPOLLOUT : 0U);
  event.data.u64 = (std::uint64_t{watch.generation} << 32) | static_cast<std::uint32_t>(fd);
  const bool wanted = watch.wanted();
  if (watch.always_ready) {
    if (wanted) run_always_ready();
    return;
  }
  const int what = !watch.waiting ? EPOLL_CTL_ADD : wanted ? EPOLL_CTL_MOD : EPOLL_CTL_DEL;
  if (!watch.waiting && !wanted) return;
  if (::epoll_ctl(gate.native_handle(), what, fd, &event) == 0) {
    watch.waiting = wanted;
  } else if (errno == EPERM) {
    watch.always_ready = true;
    run_always_ready();
  } else {
    check_failed(__FILE__, __LINE__, "epoll_ctl", "descriptor " + std::to_string(fd));
  }
}

void Loop::Inside::run_always_ready() {
  if (always_posted) return;
  always_posted = true;
  asio::post(context, [this] {
    always_posted = false;
    for (const auto& [fd, generation] : always_ready())
      dispatch(fd, generation, EPOLLIN | EPOLLOUT);
    if (!always_ready().empty()) run_always_ready();
  });
}

std::vector<std::pair<int, std::uint32_t>> Loop::Inside::always_ready() const {
  std::vector<std::pair<int, std::uint32_t>> ready;
  for (const auto& [number, run] : watches)
    for (std::size_t i = 0; i < run.size(); ++i)
      if (run[i].generation != 0 && run[i].always_ready && run[i].wanted())
        ready.emplace_back(number * kRun + static_cast<int>(i), run[i].generation);
  return ready;
}

void Loop::Inside::wait_for_any() {
  gate.async_wait(asio::posix::stream_descriptor::wait_read, [this](const asio::error_code& bad) {
    if (bad) return;
    dispatch_ready();
    wait_for_any();
  });
}

void Loop::Inside::dispatch_ready() {
  epoll_event events[64];
  const int count = ::epoll_wait(gate.native_handle(), events, 64, 0);
  for (int i = 0; i < count; ++i)
    dispatch(static_cast<int>(events[i].data.u64 & 0xffffffffU),
             static_cast<std::uint32_t>(events[i].data.u64 >> 32), events[i].events);
}

// A callback may have forgotten or replaced the watch: the generation tells.
void Loop::Inside::dispatch(int fd, std::uint32_t generation, std::uint32_t events) {
  const auto current = [&]() -> Watch* {
    Watch* const found = find(fd);
    return found != nullptr && found->generation == generation ? found : nullptr;
  };
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0)
    if (Watch* watch = current(); watch != nullptr && watch->on_read) Callback(watch->on_read)();
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0)
    if (Watch* watch = current(); watch != nullptr && watch->on_write)
      Callback (*watch->on_write)();
}

Loop::Loop() : inside_(std::make_unique<Inside>()) {
  // Writes that cannot succeed are told by their errors.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  inside_->wait_for_any();
}
Loop::~Loop() = default;

void Loop::on_readable(int fd, Callback ready) {
  auto& watch = inside_->watch_of(fd);
  watch.on_read = std::move(ready);
  inside_->set_interest(fd, watch);
}

void Loop::on_writable(int fd, Callback ready) {
  auto& watch = inside_->watch_of(fd);
  watch.on_write = ready ? std::make_unique<Callback>(std::move(ready)) : nullptr;
  inside_->set_interest(fd, watch);
}

void Loop::forget(int fd) {
  Inside::Watch* const found = inside_->find(fd);
  if (found == nullptr) return;
  if (found->waiting) ::epoll_ctl(inside_->gate.native_handle(), EPOLL_CTL_DEL, fd, nullptr);
  *found = {};
}

Loop::TimerId Loop::after(std::chrono::milliseconds delay, Callback fire) {
  const TimerId id = ++inside_->last_timer;
  auto [at, fresh] = inside_->timers.try_emplace(id, inside_->context, delay);
  at->second.async_wait([this, id, fire = std::move(fire)](const asio::error_code& bad) {
    if (bad || inside_->timers.erase(id) == 0) return;
    fire();
  });
  return id;
}

void Loop::cancel(TimerId timer) {
  inside_->timers.erase(timer);
}

// Who starts a program with SIGHUP ignored (nohup, a service) wants it to outlive its terminal. INT
// and QUIT are heard all the same: shells ignore them for everything in the background.
void Loop::on_signals(std::initializer_list<int> signals, std::function<void(int)> deliver) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) {
    struct sigaction before {};
    const bool stays_ignored = signal == SIGHUP && ::sigaction(signal, nullptr, &before) == 0 &&
                               before.sa_handler == SIG_IGN;
    if (!stays_ignored) ::sigaddset(&set, signal);
  }
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  inside_->signals.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  const int fd = inside_->signals.get();
  on_readable(fd, [fd, deliver = std::move(deliver)] {
    signalfd_siginfo info{};
    while (::read(fd, &info, sizeof info) == static_cast<ssize_t>(sizeof info))
      deliver(static_cast<int>(info.ssi_signo));
  });
}

void Loop::post(Callback work) {
  asio::post(inside_->context, std::move(work));
}
void Loop::run() {
  inside_->context.restart();
  inside_->context.run();
}
void Loop::stop() {
  inside_->context.stop();
}

}  // namespace tutti::launch::control
