// poller: sockets and who wants to hear of them, over one epoll descriptor.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <unordered_map>

#include "base/unique_fd.h"

namespace tutti::transport::tcp {

class Watched {
 public:
  virtual ~Watched() = default;
  virtual void on_ready(std::uint32_t events) = 0;  // may destroy itself and others
};

class Poller {
 public:
  Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}
  bool is_open() const { return epoll_.is_open(); }
  int fd() const { return epoll_.get(); }
  // The program has closed the descriptor; its number may be another file's, an epoll of the
  // program's perhaps.
  bool is_lost() const { return is_lost_; }

  // watched may be null: then readiness only ends a wait.
  bool add(int fd, std::uint32_t events, Watched* watched) {
    if (!control(EPOLL_CTL_ADD, fd, events)) return false;
    watched_[fd] = watched;
    return true;
  }
  void change(int fd, std::uint32_t events) { control(EPOLL_CTL_MOD, fd, events); }
  void hand_over(int fd, std::uint32_t events, Watched* watched) {
    watched_[fd] = watched;
    change(fd, events);
  }
  void remove(int fd) {
    control(EPOLL_CTL_DEL, fd, 0);
    watched_.erase(fd);
  }

  // Serves what is ready now, or within `wait_ms` (-1: whenever); how many descriptors that were.
  // Descriptors are looked up one by one: an earlier one may have closed a later one.
  int serve(int wait_ms = 0) {
    std::array<epoll_event, 32> events;
    const int ready =
        ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms);
    if (ready < 0 && errno != EINTR) is_lost_ = true;
    for (int i = 0; i < ready; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      is_lost_ = is_lost_ || (event.data.u64 & ~kNumber) != kOurs;
      if (is_lost_) return 0;
      const auto found = watched_.find(static_cast<int>(event.data.u64 & kNumber));
      if (found != watched_.end() && found->second != nullptr)
        found->second->on_ready(event.events);
    }
    return ready > 0 ? ready : 0;
  }

 private:
  // What each event carries besides its descriptor's number: no other epoll's does.
  static constexpr std::uint64_t kOurs = 0x7475747400000000, kNumber = 0xffffffff;

  bool control(int operation, int fd, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = kOurs | static_cast<std::uint32_t>(fd);
    return ::epoll_ctl(epoll_.get(), operation, fd, &event) == 0;
  }

  UniqueFd epoll_;
  bool is_lost_ = false;
  std::unordered_map<int, Watched*> watched_;
};

}  // namespace tutti::transport::tcp
