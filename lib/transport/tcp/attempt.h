// attempt: our own try to connect to one peer, over its addresses in order.
//
// The next address is tried when one fails, and also when one is slow, beside it: a firewall
// that swallows packets costs a second, not minutes. The first that completes the handshake
// wins. Once an address answers, patience has no limit: the peer may be computing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "transport/tcp/handshake.h"
#include "transport/tcp/poller.h"
#include "transport/tcp/socket.h"

namespace tutti::transport::tcp {

class Attempt {
 public:
  Attempt(const Identity& own, int peer, std::vector<SocketAddress> candidates, Poller& poller);
  ~Attempt();

  // Time passes: starts further tries, ends hopeless ones.
  void tick(std::int64_t now);
  // The established socket, once; it is no longer in the poller.
  UniqueFd take_winner() { return std::move(winner_); }
  bool has_won() const { return winner_.is_open(); }
  bool has_failed() const { return failed_; }
  // Whether the peer may have seen who we are: then it decides, too, which connection stays.
  bool has_introduced_itself() const { return introduced_; }
  // "10.0.0.2:4711 (Connection refused), ..." for has_failed().
  std::string reasons() const;

 private:
  struct Try;
  void start(std::size_t candidate, std::int64_t now);
  void advance(Try& one);
  bool introduce(Try& one);
  void end(Try& one, const std::string& why);
  void reap(std::int64_t now);

  const Identity& own_;
  int peer_;
  std::vector<SocketAddress> candidates_;
  std::vector<std::string> outcomes_;  // by candidate: why it failed last
  Poller& poller_;
  std::vector<std::unique_ptr<Try>> tries_;
  UniqueFd winner_;
  std::size_t next_ = 0;
  int rounds_left_ = 3;
  std::int64_t next_at_ns_ = 0;  // when the next candidate may be tried
  bool introduced_ = false;
  bool failed_ = false;
};

}  // namespace tutti::transport::tcp
