// Accepts one connection after another; rests for a moment where descriptors have run out.
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/shortage.h"
#include "control/control.h"

namespace tutti::launch::control {
namespace {

constexpr std::chrono::milliseconds kRest{100};

}  // namespace

void Listener::open(int listener, std::function<void(UniqueFd)> enter,
                    std::function<bool()> make_room) {
  close();
  listener_ = listener;
  enter_ = std::move(enter);
  make_room_ = std::move(make_room);
  watch();
}

void Listener::close() {
  if (listener_ < 0) return;
  loop_.cancel(std::exchange(rest_, 0));
  loop_.forget(std::exchange(listener_, -1));
}

void Listener::watch() {
  loop_.on_readable(listener_, [this] { accept_one(); });
}

void Listener::accept_one() {
  UniqueFd fd(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd.is_open()) return enter_(std::move(fd));
  if (!is_shortage(errno) || make_room_()) return;
  loop_.forget(listener_);
  rest_ = loop_.after(kRest, [this] {
    rest_ = 0;
    watch();
  });
}

}  // namespace tutti::launch::control
