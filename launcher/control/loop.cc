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

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <csignal>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "control/control.h"

namespace tutti::launch {

struct Loop::Inside {
  struct Watch {
    bool always_ready = false;
    Callback on_read, on_write;
    std::uint64_t generation = 0;
    bool waiting = false;
  };

  Inside() : context(1), gate(context, ::epoll_create1(EPOLL_CLOEXEC)) {}

  void set_interest(int fd, Watch& watch);
  void wait_for_any();
  void dispatch_ready();
  void dispatch(int fd, std::uint64_t generation, std::uint32_t events);
  void run_always_ready();

  asio::io_context context;
  asio::posix::stream_descriptor gate;  // one epoll for all watched descriptors
  std::map<int, Watch> watches;
  std::map<TimerId, asio::steady_timer> timers;
  TimerId last_timer = 0;
  std::uint64_t last_generation = 0;
  UniqueFd signals;
  bool always_posted = false;
};

void Loop::Inside::set_interest(int fd, Watch& watch) {
  epoll_event event{};
  event.events = (watch.on_read ? EPOLLIN | EPOLLRDHUP : 0U) | (watch.on_write ? EPOLLOUT : 0U);
  event.data.u64 = (watch.generation << 32) | static_cast<std::uint32_t>(fd);
  const bool wanted = watch.on_read || watch.on_write;
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
    std::vector<std::pair<int, std::uint64_t>> ready;
    for (auto& [fd, watch] : watches)
      if (watch.always_ready && (watch.on_read || watch.on_write))
        ready.emplace_back(fd, watch.generation);
    for (const auto& [fd, generation] : ready) dispatch(fd, generation, EPOLLIN | EPOLLOUT);
    for (auto& [fd, watch] : watches)
      if (watch.always_ready && (watch.on_read || watch.on_write)) return run_always_ready();
  });
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
    dispatch(static_cast<int>(events[i].data.u64 & 0xffffffffU), events[i].data.u64 >> 32,
             events[i].events);
}

// A callback may have forgotten or replaced the watch: the generation tells.
void Loop::Inside::dispatch(int fd, std::uint64_t generation, std::uint32_t events) {
  const auto current = [&]() -> Watch* {
    const auto found = watches.find(fd);
    return found != watches.end() && found->second.generation == generation ? &found->second
                                                                            : nullptr;
  };
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0)
    if (Watch* watch = current(); watch != nullptr && watch->on_read) Callback(watch->on_read)();
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0)
    if (Watch* watch = current(); watch != nullptr && watch->on_write) Callback(watch->on_write)();
}

Loop::Loop() : inside_(std::make_unique<Inside>()) {
  // Writes that cannot succeed are told by their errors.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  inside_->wait_for_any();
}
Loop::~Loop() = default;

void Loop::on_readable(int fd, Callback ready) {
  auto& watch = inside_->watches[fd];
  if (watch.generation == 0) watch.generation = ++inside_->last_generation;
  watch.on_read = std::move(ready);
  inside_->set_interest(fd, watch);
}

void Loop::on_writable(int fd, Callback ready) {
  auto& watch = inside_->watches[fd];
  if (watch.generation == 0) watch.generation = ++inside_->last_generation;
  watch.on_write = std::move(ready);
  inside_->set_interest(fd, watch);
}

void Loop::forget(int fd) {
  const auto found = inside_->watches.find(fd);
  if (found == inside_->watches.end()) return;
  if (found->second.waiting) ::epoll_ctl(inside_->gate.native_handle(), EPOLL_CTL_DEL, fd, nullptr);
  inside_->watches.erase(found);
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

void Loop::on_signals(std::initializer_list<int> signals, std::function<void(int)> deliver) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
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

}  // namespace tutti::launch
