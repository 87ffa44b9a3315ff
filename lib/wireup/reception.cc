// Rank 0's side: visitors are heard side by side, each with a time limit of its own; what one does
// wrong ends its own visit only.
#include "wireup/reception.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/numbers.h"
#include "base/random_bytes.h"
#include "base/shortage.h"
#include "base/socket_peer.h"
#include "base/text.h"

namespace tutti::wireup {
namespace {

constexpr std::size_t kMostVisitors = 256;
constexpr int kAcceptsPerLook = 64;                 // then those inside are heard, and the clock
constexpr std::int64_t kPenaltyNs = 1'000'000'000;  // after a wrong guess
constexpr std::ptrdiff_t kMostPenalties = 64;       // at a time: who guesses does not fill the room
constexpr int kLookMs = 100;

tl::unexpected<Error> cannot_listen() {
  return fail(Code::other,
              std::string("rank 0 cannot listen for the other ranks: ") + std::strerror(errno));
}

// At a random name: nobody can have taken it before.
Result<UniqueFd> listen_here(const JobRun& run) {
  UniqueFd door(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  std::uint64_t number = 0;
  if (!random_bytes(&number, sizeof number)) return cannot_listen();
  const std::string name = board_name(run) + std::to_string(number);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;  // sun_path[0] stays 0: abstract
  std::memcpy(at.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(door.get(), reinterpret_cast<const sockaddr*>(&at), length) != 0 ||
      ::listen(door.get(), 1024) != 0)
    return cannot_listen();
  return door;
}

UniqueFd socket_of_all() {
  UniqueFd door(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1, off = 0;
  if (door.is_open())
    ::setsockopt(door.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  else
    door.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Connections of a run that has ended keep its port for a minute; who listens keeps it all the
  // same.
  ::setsockopt(door.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return door;
}

bool listens(const UniqueFd& door, int port) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  if (::getsockname(door.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) return false;
  const auto number = htons(static_cast<std::uint16_t>(port));
  if (own.ss_family == AF_INET6)
    reinterpret_cast<sockaddr_in6*>(&own)->sin6_port = number;
  else
    reinterpret_cast<sockaddr_in*>(&own)->sin_port = number;
  return ::bind(door.get(), reinterpret_cast<const sockaddr*>(&own), length) == 0 &&
         ::listen(door.get(), 1024) == 0;
}

Result<UniqueFd> listen_to_hosts(const JobRun& run) {
  std::string ports;
  for (int index = 0; index < kBoardPorts; ++index) {
    const int port = board_port(run, index);
    UniqueFd door = socket_of_all();
    if (listens(door, port)) return door;
    ports += (index > 0 ? ", " : "") + std::to_string(port);
  }
  return fail(Code::other, cannot_listen().value().text + "; tried were the ports " + ports +
                               ": another MASTER_PORT gives others");
}

struct Visitor {
  BoardConnection connection;
  std::int64_t until_ns = 0;
  int rank = 0;                                  // that it says it is
  std::unique_ptr<secure::Exchange> exchange{};  // between hosts, once it has said so
  std::string claim{};
  bool waits_for_no = false, is_done = false;
};

class RankGathering {
 public:
  RankGathering(const JobRun& run, UniqueFd door)
      : run_(run), door_(std::move(door)), seats_(static_cast<std::size_t>(run.size)) {}
  Result<std::vector<BoardConnection>> gather();

 private:
  void look();
  void let_in();
  bool make_room();
  void hear(Visitor& visitor);
  void hear_claim(Visitor& visitor, const std::string& claim);
  void hear_proof(Visitor& visitor, const std::string& text);
  void make_wait(Visitor& visitor);
  void seat(Visitor& visitor);
  bool keep_up(BoardConnection& seat);
  Error late() const;

  const JobRun& run_;
  UniqueFd door_;
  std::vector<BoardConnection> seats_;
  std::vector<std::unique_ptr<Visitor>> visitors_;
  int missing_ = 0;
  bool rests_ = false;  // no descriptor is left, and nobody is inside who could give one back
};

// The one that has proved nothing for longest goes; who guessed wrongly sits out its time.
bool RankGathering::make_room() {
  const auto oldest = std::find_if(visitors_.begin(), visitors_.end(),
                                   [](const auto& one) { return !one->waits_for_no; });
  if (oldest == visitors_.end()) return false;
  visitors_.erase(oldest);
  return true;
}

void RankGathering::let_in() {
  for (int i = 0; i < kAcceptsPerLook; ++i) {
    UniqueFd fd(::accept4(door_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.is_open()) {
      rests_ = is_shortage(errno) && !make_room();
      return;
    }
    if (!run_.secret && !is_of_own_user(fd.get())) continue;
    if (visitors_.size() >= kMostVisitors && !make_room()) return;
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto visitor = std::make_unique<Visitor>();
    visitor->connection = BoardConnection(std::move(fd));
    visitor->until_ns = now_ns() + kVisitorNs;
    visitors_.push_back(std::move(visitor));
  }
}

void RankGathering::hear(Visitor& visitor) {
  if (!visitor.connection.move()) {
    visitor.is_done = true;
    return;
  }
  if (visitor.waits_for_no) return;
  const auto text = visitor.connection.take(kLongestWord);
  if (!visitor.connection.is_open()) visitor.is_done = true;
  if (!text) return;
  if (visitor.exchange)
    hear_proof(visitor, *text);
  else
    hear_claim(visitor, *text);
  visitor.is_done = visitor.is_done || !visitor.connection.is_open();
}

void RankGathering::hear_claim(Visitor& visitor, const std::string& claim) {
  const auto one = claim.find(' '), two = claim.find(' ', one + 1);
  const auto rank = text::parse_int(claim.substr(0, one));
  if (one == std::string::npos || two == std::string::npos || !rank || *rank < 1 ||
      *rank >= run_.size || claim.substr(two + 1) != run_.name) {
    visitor.is_done = true;
    return;
  }
  visitor.rank = static_cast<int>(*rank);
  if (!run_.secret) return seat(visitor);
  const auto theirs = secure::key_of(std::string_view(claim).substr(one + 1, two - one - 1));
  visitor.exchange = std::make_unique<secure::Exchange>(secure::Side::answerer, *run_.secret);
  const std::string answer = secure::text_of(visitor.exchange->own_public());
  visitor.is_done =
      !theirs || !visitor.exchange->agree(*theirs, bytes_of_text(said_by_both(claim, answer)));
  visitor.connection.put(answer);
}

void RankGathering::hear_proof(Visitor& visitor, const std::string& text) {
  const auto proof = secure::key_of(text);
  if (!proof || !visitor.exchange->is_proof(*proof)) return make_wait(visitor);
  visitor.connection.put(secure::text_of(visitor.exchange->proof()));
  visitor.connection.seal(visitor.exchange->keys());
  seat(visitor);
}

void RankGathering::make_wait(Visitor& visitor) {
  const auto waits = [](const auto& one) { return one->waits_for_no && !one->is_done; };
  if (std::count_if(visitors_.begin(), visitors_.end(), waits) >= kMostPenalties)
    (*std::find_if(visitors_.begin(), visitors_.end(), waits))->is_done = true;
  visitor.waits_for_no = true;
  visitor.until_ns = now_ns() + kPenaltyNs;
}

// One that has left already gets none, one that leaves then has it all the same: the fence says
// that it is lost.
void RankGathering::seat(Visitor& visitor) {
  visitor.is_done = true;
  if (!visitor.connection.move()) return;
  BoardConnection& seat = seats_[static_cast<std::size_t>(visitor.rank)];
  const bool is_taken = keep_up(seat);
  visitor.connection.put(is_taken ? "taken" : "seat");
  static_cast<void>(visitor.connection.move());
  if (is_taken) return;
  seat = std::move(visitor.connection);
  --missing_;
}

// A rank to whom we were too slow may have left, and comes again: its seat is free for it.
bool RankGathering::keep_up(BoardConnection& seat) {
  if (!seat.is_open()) return false;
  if (seat.move()) return true;
  seat.close();
  ++missing_;
  return false;
}

// Once round: the door, and every visitor. A door that cannot be passed would be announced again
// and again: it is left out for one round.
void RankGathering::look() {
  std::vector<pollfd> all;
  all.push_back({std::exchange(rests_, false) ? -1 : door_.get(), POLLIN, 0});
  for (const auto& one : visitors_)
    all.push_back({one->waits_for_no ? -1 : one->connection.fd(),
                   static_cast<short>(one->connection.has_queued() ? POLLIN | POLLOUT : POLLIN),
                   0});
  ::poll(all.data(), all.size(), kLookMs);
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i].revents != 0) hear(*visitors_[i - 1]);
  const std::int64_t now = now_ns();
  std::erase_if(visitors_, [now](const auto& one) { return one->is_done || now > one->until_ns; });
  if (all[0].revents != 0) let_in();
}

Result<std::vector<BoardConnection>> RankGathering::gather() {
  const std::int64_t deadline = now_ns() + run_.limit_ns;
  for (missing_ = run_.size - 1; missing_ > 0;) {
    look();
    if (now_ns() > deadline && missing_ > 0) return tl::unexpected<Error>(late());
  }
  return std::move(seats_);
}

Error RankGathering::late() const {
  std::vector<bool> absent(seats_.size());
  for (std::size_t rank = 1; rank < seats_.size(); ++rank) absent[rank] = !seats_[rank].is_open();
  return {Code::other,
          ranks_of(absent) + " of " + std::to_string(run_.size) +
              " (WORLD_SIZE) did not come to rank 0 within " + seconds_of(run_.limit_ns) +
              "; see what became of them" +
              (run_.secret ? ", and whether all nodes have the same TUTTI_JOIN_KEY" : "")};
}

}  // namespace

std::string seconds_of(std::int64_t ns) {
  return std::to_string(ns / 1'000'000'000) + " s";
}

std::string ranks_of(const std::vector<bool>& marked) {
  constexpr int kNamed = 8;
  std::string list;
  int count = 0;
  for (std::size_t rank = 0; rank < marked.size(); ++rank)
    if (marked[rank] && ++count <= kNamed) list += (count > 1 ? ", " : "") + std::to_string(rank);
  if (count > kNamed) list += " and " + std::to_string(count - kNamed) + " more";
  return text::plural(count, "rank") + " " + list;
}

Result<std::vector<BoardConnection>> receive_ranks(const JobRun& run) {
  TUTTI_TRY(door, run.secret ? listen_to_hosts(run) : listen_here(run));
  return RankGathering(run, std::move(door)).gather();
}

}  // namespace tutti::wireup
