// Accepting, and the patience with visitors.
#include "transport/tcp/reception.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/shortage.h"

namespace tutti::transport::tcp {
namespace {

constexpr std::size_t kMostVisitors = 256;
constexpr std::size_t kFewestVisitors = 8;
constexpr std::int64_t kHelloNs = 10'000'000'000;   // to introduce oneself
constexpr std::int64_t kProofNs = 600'000'000'000;  // a rank that computes may answer late
constexpr int kAcceptsPerCall = 64;
constexpr int kLookMs = 100;  // while somebody waits, or we are full

std::size_t share_of_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kFewestVisitors;
  const auto share = static_cast<std::size_t>(limit.rlim_cur / Reception::kOurShare);
  return std::clamp(share, kFewestVisitors, kMostVisitors);
}

bool somebody_waits_at(int door) {
  pollfd look{door, POLLIN, 0};
  return ::poll(&look, 1, 0) > 0;
}

void ring(const UniqueFd& bell) {
  // It can only fail when it rings already.
  [[maybe_unused]] const int done = ::eventfd_write(bell.get(), 1);
}

}  // namespace

struct Reception::Listener final : Watched {
  Listener(Reception& all, UniqueFd socket) : reception(all), fd(std::move(socket)) {
    reception.poller_.add(fd.get(), EPOLLIN, this);
  }
  ~Listener() override { reception.poller_.remove(fd.get()); }
  void on_ready(std::uint32_t) override { reception.accept_all(*this); }
  Reception& reception;
  UniqueFd fd;
};

struct Reception::Visitor final : Watched {
  Visitor(Reception& all, UniqueFd socket, const SocketAddress& address)
      : reception(all), fd(std::move(socket)), from(address), handshake(all.own_) {
    reception.poller_.add(fd.get(), EPOLLIN, this);
  }
  ~Visitor() override {
    if (fd.is_open()) reception.poller_.remove(fd.get());
  }
  void on_ready(std::uint32_t) override { reception.advance(*this); }
  Reception& reception;
  UniqueFd fd;
  SocketAddress from;
  Acceptor handshake;
  ArrivingMessage gather;
  std::int64_t began_ns = now_ns();
};

Reception::Reception(const Identity& own) : own_(own), most_visitors_(share_of_descriptors()) {}

Reception::~Reception() {
  if (!thread_.joinable()) return;
  is_over_.store(true, std::memory_order_release);
  ring(end_);
  thread_.join();
}

Result<std::uint16_t> Reception::open(const SocketAddress& at) {
  std::uint16_t port = 0;
  TUTTI_TRY(fd, listen_at(at, own_.congestion, port));
  listeners_.push_back(std::make_unique<Listener>(*this, std::move(fd)));
  return port;
}

Result<void> Reception::begin() {
  bell_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  end_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  // Nobody is asked when the end comes: that it wakes the thread is enough.
  if (!poller_.is_open() || !bell_.is_open() || !end_.is_open() ||
      !poller_.add(end_.get(), EPOLLIN, nullptr))
    return fail(Code::other, "out of file descriptors");
  thread_ = QuietThread([this] { work(); });
  if (!thread_.joinable())
    return fail(Code::other, std::string("no thread can be started; ") + kMoreThreads);
  return {};
}

std::vector<Guest> Reception::take_guests() {
  eventfd_t rung = 0;
  [[maybe_unused]] const int silent = ::eventfd_read(bell_.get(), &rung);
  const std::scoped_lock hold(mutex_);
  return std::exchange(guests_, {});
}

void Reception::work() {
  while (!is_over_.load(std::memory_order_acquire)) {
    poller_.serve(waiting_.empty() && doors_open_ ? -1 : kLookMs);
    if (poller_.is_lost()) return is_deaf_.store(true, std::memory_order_relaxed);
    const std::int64_t now = now_ns();
    drop_the_slow(now);
    if (!doors_open_ && now - shut_ns_ >= kLookMs * std::int64_t{1'000'000}) open_doors(true);
  }
}

void Reception::open_doors(bool open) {
  doors_open_ = open;
  if (!open) shut_ns_ = now_ns();
  for (const auto& each : listeners_) poller_.change(each->fd.get(), open ? EPOLLIN : 0U);
  const bool nobody_waits =
      std::none_of(listeners_.begin(), listeners_.end(),
                   [](const auto& each) { return somebody_waits_at(each->fd.get()); });
  if (nobody_waits) lacks_files_.store(false, std::memory_order_relaxed);
}

void Reception::accept_all(Listener& listener) {
  for (int i = 0; i < kAcceptsPerCall; ++i) {
    SocketAddress from;
    UniqueFd fd = accept_from(listener.fd.get(), from);
    const int error = fd.is_open() ? 0 : errno;
    // The kernel looks for room first: that there is none says nothing where nobody waits.
    const bool is_short = is_shortage(error) && somebody_waits_at(listener.fd.get());
    lacks_files_.store(is_short && error == EMFILE, std::memory_order_relaxed);
    if (is_short) {
      tell_of_shortage(error);
      // Out of descriptors: those who proved nothing give theirs back. Without any the doors stay
      // shut for a moment; whoever comes waits in the kernel's queue.
      if (!make_room()) return open_doors(false);
      continue;
    }
    if (!fd.is_open()) return;
    while (waiting_.size() >= most_visitors_) make_room();
    waiting_.push_back(std::make_unique<Visitor>(*this, std::move(fd), from));
    advance(*waiting_.back());
  }
}

// Strangers must not keep ranks out: the oldest leaves of those who have not introduced themselves,
// unless most have, which strangers of this machine can, too. A rank that is turned away so comes
// again.
bool Reception::make_room() {
  if (waiting_.empty()) return false;
  const auto has_hello = [](const auto& each) { return each->handshake.has_hello(); };
  const auto named = std::count_if(waiting_.begin(), waiting_.end(), has_hello);
  const bool most_have = 2 * named > static_cast<std::ptrdiff_t>(waiting_.size());
  drop(**std::find_if(waiting_.begin(), waiting_.end(),
                      [&](const auto& each) { return has_hello(each) == most_have; }));
  return true;
}

void Reception::tell_of_shortage(int error) {
  if (std::exchange(has_told_, true)) return;
  log::warn(std::string("connections that come must wait: ") + std::strerror(error) + "; " +
            advice_on_shortage());
}

void Reception::advance(Visitor& visitor) {
  for (;;) {
    switch (visitor.gather.read(visitor.fd.get(), visitor.handshake.wants())) {
      case ArrivingMessage::State::more:
        return;
      case ArrivingMessage::State::ended:
        return drop(visitor);
      case ArrivingMessage::State::whole:
        break;
    }
    Blob answer;
    const Outcome outcome = visitor.handshake.feed(visitor.gather.bytes(), answer);
    visitor.gather.clear();
    if (outcome == Outcome::refused) return refuse(visitor, visitor.handshake.reason());
    if (!answer.empty() && !send_whole(visitor.fd.get(), answer)) return drop(visitor);
    if (outcome == Outcome::proved) break;
  }
  poller_.remove(visitor.fd.get());
  hand_over({std::move(visitor.fd), std::move(visitor.handshake)});
  drop(visitor);
}

// A rank that comes again has given up what it came with before.
void Reception::hand_over(Guest guest) {
  const std::scoped_lock hold(mutex_);
  std::erase_if(guests_, [&guest](const Guest& each) {
    return each.handshake.peer() == guest.handshake.peer() &&
           each.handshake.rail() == guest.handshake.rail();
  });
  guests_.push_back(std::move(guest));
  ring(bell_);
}

void Reception::refuse(Visitor& visitor, const char* why) {
  if (strangers_++ == 0)
    log::warn("a stranger connected from " + visitor.from.text() + " and was dropped: " + why +
              "; further ones are only counted");
  drop(visitor);
}

void Reception::drop(Visitor& visitor) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&visitor](const auto& each) { return each.get() == &visitor; });
  if (found != waiting_.end()) waiting_.erase(found);
}

void Reception::drop_the_slow(std::int64_t now) {
  for (auto each = waiting_.begin(); each != waiting_.end();) {
    Visitor& visitor = **each++;
    const std::int64_t patience = visitor.handshake.has_hello() ? kProofNs : kHelloNs;
    if (now - visitor.began_ns > patience) refuse(visitor, "it did not introduce itself in time");
  }
}

}  // namespace tutti::transport::tcp
