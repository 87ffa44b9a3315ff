// reception: connections that others made to us, until they have proved who they are.
//
// A stranger costs a descriptor for a few seconds and never any waiting. Whoever breaks the
// protocol, is slow to introduce itself, or does not know the key is dropped and counted; the
// first one is reported.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>

#include "transport/tcp/handshake.h"
#include "transport/tcp/poller.h"
#include "transport/tcp/socket.h"

namespace tutti::transport::tcp {

// A proved connection that waits for our word.
struct Guest {
  UniqueFd fd;
  Acceptor handshake;
};

class Reception {
 public:
  using Proved = std::function<void(Guest guest)>;
  Reception(const Identity& own, Poller& poller, Proved proved);
  ~Reception();

  // Opens the listeners of a family, with its port.
  Result<std::uint16_t> open(bool ipv6);
  bool is_empty() const { return waiting_.empty(); }
  void tick(std::int64_t now);  // drops the slow
  std::uint64_t strangers() const { return strangers_; }

 private:
  struct Listener;
  struct Visitor;
  void accept_all(int listener);
  void advance(Visitor& visitor);
  void refuse(Visitor& visitor, const char* why);
  void drop(Visitor& visitor);
  void make_room();

  const Identity& own_;
  Poller& poller_;
  Proved proved_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::list<std::unique_ptr<Visitor>> waiting_;  // oldest first
  std::uint64_t strangers_ = 0;
};

}  // namespace tutti::transport::tcp
