// attempt: our own try to connect to one peer, over its addresses in order.
//
// The next address is tried when one fails, and also when one is slow, beside it: a firewall
// that swallows packets costs a second, not minutes. The first that completes the handshake
// wins. Once an address answers, patience has no limit: the peer may be computing. As long as its
// daemon says that the peer lives, nothing is an end: a full queue, a table of connections that
// overflowed or a network that is away passes. Where nobody says so, or its process has ended, a
// clear no from every address, three times, is one, and so is silence, after very long. So it is
// where all addresses are loopback ones: no network is between, and nobody listens there. What the
// peer itself refuses, such as another TUTTI_LINK_SECURITY, it refuses as long as it lives: an end.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "transport/tcp/handshake.h"
#include "transport/tcp/poller.h"
#include "transport/tcp/socket.h"

namespace tutti::transport::tcp {

class Attempt {
 public:
  // Whether somebody who knows says that the peer lives.
  using Lives = std::function<bool()>;
  struct Whom {
    int rank;
    int rail = 0;
    // Its sockets are descriptors below this one: those from it on are for others.
    std::int64_t below = std::numeric_limits<std::int64_t>::max();
  };
  Attempt(const Identity& own, Whom peer, std::vector<SocketAddress> candidates, Poller& poller,
          Lives lives);
  ~Attempt();

  // Time passes: starts further tries, ends hopeless ones.
  void tick(std::int64_t now);
  // The established socket, once; it is no longer in the poller.
  UniqueFd take_winner() { return std::move(winner_); }
  const LinkSession& session() const { return session_; }  // of the winner
  bool has_won() const { return winner_.is_open(); }
  bool has_failed() const { return failed_; }
  // True now and then: nobody talks to us for so long that a person should hear of it.
  bool take_complaint(std::int64_t now);
  // This rank itself lacks what a connection takes; the peer has nothing to do with it.
  bool is_short() const { return is_short_; }
  // In three rounds in a row the peer let go of this rank when it had proved itself: a reception
  // that is full for a moment does so once.
  bool is_turned_away() const { return rounds_turned_away_ >= 3; }
  bool is_talking() const;                           // the peer may be about to take it
  bool was_answered() const;                         // by the peer itself: it will go on by MPI
  bool lacks_files() const { return lacks_files_; }  // is_short, by this process's own limit
  // Whether the peer may have seen who we are: then it decides, too, which connection stays.
  bool has_introduced_itself() const { return introduced_; }
  // "10.0.0.2:4711 (Connection refused), ..." for has_failed().
  std::string reasons() const;

 private:
  struct Try;
  void start(std::size_t candidate, std::int64_t now);
  void advance(Try& one);
  bool introduce(Try& one);
  enum class TryEnd : std::uint8_t { none, no, turned_away, never };
  void end(Try& one, TryEnd answer, const std::string& why);
  void begin_round(std::int64_t now);
  void reap(std::int64_t now);
  bool count_refusal(std::int64_t now);  // one more round was in vain; true: it was the last

  const Identity& own_;
  Whom peer_;
  std::vector<SocketAddress> candidates_;
  std::vector<std::string> outcomes_;  // by candidate: why it failed last
  Poller& poller_;
  Lives lives_;
  std::vector<std::unique_ptr<Try>> tries_;
  UniqueFd winner_;
  LinkSession session_;
  std::size_t next_ = 0;
  int rounds_turned_away_ = 0;
  bool was_turned_away_ = false;  // in this round
  int refusals_left_ = 3;         // rounds that end with a clear no from everybody
  bool is_worth_more_ = false;    // in this round somebody was silent, or turned us away
  std::int64_t heard_ns_;         // when anybody answered last
  std::int64_t pause_ns_;         // before the next round
  std::int64_t complain_at_ns_;
  std::int64_t next_at_ns_ = 0;  // when the next candidate may be tried
  bool introduced_ = false;
  bool is_short_ = false, lacks_files_ = false;
  bool failed_ = false;
};

}  // namespace tutti::transport::tcp
