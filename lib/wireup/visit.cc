// The other ranks' side: finding rank 0, and proving to each other that both belong to this run.
// Whoever else listens there, or holds a name, is passed by.
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/clock.h"
#include "base/file.h"
#include "base/own_end.h"
#include "base/socket_peer.h"
#include "base/text.h"
#include "wireup/reception.h"

namespace tutti::wireup {
namespace {

constexpr std::int64_t kAnswerNs = 3'000'000'000;

std::uint64_t hash(const std::string& text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return value;
}

// Not now: nobody is there, or (access) somebody who is not rank 0. Never: two are the same rank.
tl::unexpected<Error> nobody() {
  return fail(Code::pending, "nobody answered there as rank 0 of this run");
}
bool is_final(const Result<BoardConnection>& connection) {
  return connection || connection.error().code == Code::rank;
}

// Listening now, with a random end: "...: 00000002 00000000 00010000 0001 01 12345 @NAME".
std::vector<std::string> names_like(const std::string& start) {
  std::vector<std::string> names;
  for (const std::string& line : text::split(file_text("/proc/self/net/unix").value_or(""), '\n')) {
    const auto at = line.rfind(" @" + start);
    if (at != std::string::npos) names.push_back(line.substr(at + 2));
  }
  // Those that a listening socket has accepted are there under its name, too.
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

UniqueFd connect_here(const std::string& name) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof at.sun_path) return {};
  std::memcpy(at.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), length) != 0) return {};
  return fd;
}

UniqueFd connect_to(const addrinfo& at, int port) {
  UniqueFd fd(::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_storage to{};
  std::memcpy(&to, at.ai_addr, at.ai_addrlen);
  const auto number = htons(static_cast<std::uint16_t>(port));
  if (at.ai_family == AF_INET6)
    reinterpret_cast<sockaddr_in6*>(&to)->sin6_port = number;
  else
    reinterpret_cast<sockaddr_in*>(&to)->sin_port = number;
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), at.ai_addrlen) != 0) {
    pollfd look{fd.get(), POLLOUT, 0};
    int error = 0;
    socklen_t length = sizeof error;
    if (errno != EINPROGRESS || ::poll(&look, 1, static_cast<int>(kAnswerNs / 1'000'000)) <= 0 ||
        ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error != 0)
      return {};
  }
  if (reaches_itself(fd.get())) return {};
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

// Proofs of both sides; from then on the connection is sealed.
Result<void> prove(BoardConnection& connection, const JobRun& run, const std::string& name) {
  const std::int64_t until = now_ns() + kAnswerNs;
  secure::Exchange exchange(secure::Side::caller, *run.secret);
  const std::string claim =
      std::to_string(run.rank) + " " + secure::text_of(exchange.own_public()) + " " + name;
  connection.put(claim);
  const auto answer = connection.wait_for_text(kLongestWord, until);
  const auto theirs = answer ? secure::key_of(*answer) : std::nullopt;
  if (!theirs || !exchange.agree(*theirs, bytes_of_text(said_by_both(claim, *answer))))
    return nobody();
  connection.put(secure::text_of(exchange.proof()));
  const auto proof = connection.wait_for_text(kLongestWord, until);
  const auto shown = proof ? secure::key_of(*proof) : std::nullopt;
  if (!shown || !exchange.is_proof(*shown))
    return fail(Code::access,
                "who answered there does not know the key (is TUTTI_JOIN_KEY the same here?)");
  connection.seal(exchange.keys());
  return {};
}

Result<BoardConnection> introduce(UniqueFd fd, const JobRun& run) {
  if (!fd.is_open()) return nobody();
  BoardConnection connection(std::move(fd));
  if (run.secret) {
    TUTTI_DO(prove(connection, run, run.name));
  } else {
    connection.put(std::to_string(run.rank) + " - " + run.name);
  }
  const auto verdict = connection.wait_for_text(kLongestWord, now_ns() + kAnswerNs);
  if (verdict == "taken")
    return fail(Code::rank, "two processes say that they are rank " + std::to_string(run.rank) +
                                "; give each its own RANK");
  if (verdict != "seat") return nobody();
  return connection;
}

Result<BoardConnection> try_here(const JobRun& run) {
  for (const std::string& name : names_like(board_name(run))) {
    UniqueFd fd = connect_here(name);
    if (!fd.is_open() || !is_of_own_user(fd.get())) continue;
    auto connection = introduce(std::move(fd), run);
    if (is_final(connection)) return connection;
  }
  return fail(Code::pending, "no rank 0 of this run and user is on this host");
}

Result<BoardConnection> try_hosts(const JobRun& run, const std::string& master) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(master.c_str(), nullptr, &hints, &found); error != 0)
    return fail(Code::pending, ::gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  std::string why = nobody().value().text;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next)
    for (int index = 0; index < kBoardPorts; ++index) {
      auto connection = introduce(connect_to(*one, board_port(run, index)), run);
      if (is_final(connection)) return connection;
      if (connection.error().code == Code::access) why = connection.error().text;
    }
  return fail(Code::pending, why);
}

}  // namespace

// Who has neither the key nor seen a run of this name (another MASTER_PORT makes another) does not
// know the ports, and so cannot take them before rank 0. Who sees them learns 16 bits of what the
// key makes, too few to test guesses of the key by.
int board_port(const JobRun& run, int index) {
  const std::uint64_t number = secure::number_from(*run.secret, run.name + " ports") & 0xffff;
  const std::string place = std::to_string(number) + " " + run.name + " " + std::to_string(index);
  return 10000 + static_cast<int>(hash(place) % 50000);
}

std::string board_name(const JobRun& run) {
  return "tutti-board-" + std::to_string(::geteuid()) + "-" + std::to_string(hash(run.name)) + "-";
}

Result<BoardConnection> go_to_rank_0(const JobRun& run, const std::string& master) {
  const std::int64_t deadline = now_ns() + run.limit_ns;
  for (;;) {
    auto connection = run.secret ? try_hosts(run, master) : try_here(run);
    if (is_final(connection)) return connection;
    if (now_ns() > deadline)
      return fail(Code::other, "rank " + std::to_string(run.rank) +
                                   " did not find rank 0 at MASTER_ADDR=" + master + " within " +
                                   seconds_of(run.limit_ns) + ": " + connection.error().text +
                                   (run.secret ? "; TUTTI_JOIN_KEY must be the same there, and its "
                                                 "ports 10000 to 59999 reachable from here"
                                               : ""));
    ::usleep(50'000);
  }
}

}  // namespace tutti::wireup
