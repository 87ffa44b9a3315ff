// Accepting, and the patience with visitors.
#include "transport/tcp/reception.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/log.h"

namespace tutti::transport::tcp {
namespace {

constexpr std::size_t kMostVisitors = 256;
constexpr std::int64_t kHelloNs = 10'000'000'000;   // to introduce oneself
constexpr std::int64_t kProofNs = 600'000'000'000;  // a rank that computes may answer late
constexpr int kAcceptsPerCall = 64;

}  // namespace

struct Reception::Listener final : Watched {
  Listener(Reception& all, UniqueFd socket) : reception(all), fd(std::move(socket)) {
    reception.poller_.add(fd.get(), EPOLLIN, this);
  }
  ~Listener() override { reception.poller_.remove(fd.get()); }
  void on_ready(std::uint32_t) override { reception.accept_all(fd.get()); }
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
  Gather gather;
  std::int64_t began_ns = now_ns();
};

Reception::Reception(const Identity& own, Poller& poller, Proved proved)
    : own_(own), poller_(poller), proved_(std::move(proved)) {}

Reception::~Reception() = default;

Result<std::uint16_t> Reception::open(bool ipv6) {
  std::uint16_t port = 0;
  TUTTI_TRY(fd, listen_on(ipv6, port));
  listeners_.push_back(std::make_unique<Listener>(*this, std::move(fd)));
  return port;
}

void Reception::accept_all(int listener) {
  for (int i = 0; i < kAcceptsPerCall; ++i) {
    SocketAddress from;
    UniqueFd fd = accept_from(listener, from);
    if (!fd.is_open()) return;
    make_room();
    waiting_.push_back(std::make_unique<Visitor>(*this, std::move(fd), from));
    advance(*waiting_.back());
  }
}

// Many strangers must not keep ranks out: the oldest who has not introduced itself leaves.
void Reception::make_room() {
  if (waiting_.size() < kMostVisitors) return;
  const auto nameless = std::find_if(waiting_.begin(), waiting_.end(),
                                     [](const auto& each) { return !each->handshake.has_hello(); });
  refuse(nameless != waiting_.end() ? **nameless : *waiting_.front(),
         "it was pushed out by newer ones");
}

void Reception::advance(Visitor& visitor) {
  for (;;) {
    switch (visitor.gather.read(visitor.fd.get(), visitor.handshake.wants())) {
      case Gather::State::more:
        return;
      case Gather::State::ended:
        return drop(visitor);
      case Gather::State::whole:
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
  Guest guest{std::move(visitor.fd), visitor.handshake};
  drop(visitor);
  proved_(std::move(guest));
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

void Reception::tick(std::int64_t now) {
  for (auto each = waiting_.begin(); each != waiting_.end();) {
    Visitor& visitor = **each++;
    const std::int64_t patience = visitor.handshake.has_hello() ? kProofNs : kHelloNs;
    if (now - visitor.began_ns > patience) refuse(visitor, "it did not introduce itself in time");
  }
}

}  // namespace tutti::transport::tcp
