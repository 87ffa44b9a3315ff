// A rank's door while strangers stand at it who know the job's number, which every user of a
// machine can read in the names of its sockets.
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <vector>

#include "catch.h"
#include "transport/tcp/reception.h"

using namespace tutti;                  // NOLINT(google-build-using-namespace): a test
using namespace tutti::transport::tcp;  // NOLINT(google-build-using-namespace): a test

namespace {

constexpr std::size_t kRoom = 8;  // of an eighth of the descriptors

Identity identity() {
  Identity own;
  own.job = 77;
  own.rank = 1;
  own.ranks = 2;
  return own;
}

// A door of rank 1 of two, with little room.
struct SmallDoor {
  Identity own = identity();
  rlimit before{};
  Reception reception;
  std::uint16_t port = 0;

  SmallDoor() : before(lowered()), reception(own) {
    ::setrlimit(RLIMIT_NOFILE, &before);
    SocketAddress at;
    at.bytes = {127, 0, 0, 1};
    const auto opened = reception.open(at);
    REQUIRE(opened);
    port = *opened;
    REQUIRE(reception.begin());
  }
  static rlimit lowered() {
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const rlimit less{8 * kRoom, limit.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &less) == 0);
    return limit;
  }
  UniqueFd visitor() const {
    SocketAddress at;
    at.bytes = {127, 0, 0, 1};
    at.port = port;
    sockaddr_storage storage{};
    const socklen_t bytes = at.fill(storage);
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), bytes) == 0);
    return fd;
  }
};

// What rank 0 says first; it needs no key.
void say_hello(const UniqueFd& fd) {
  TcpHello hello{};
  hello.magic = kMagic;
  hello.version = kVersion;
  hello.to = 1;
  hello.job = 77;
  REQUIRE(::send(fd.get(), &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello);
}

bool is_challenged(const UniqueFd& fd) {
  Challenge challenge{};
  return ::recv(fd.get(), &challenge, sizeof challenge, MSG_WAITALL) == sizeof challenge;
}

std::size_t count_sent_away(const std::vector<UniqueFd>& all) {
  std::size_t away = 0;
  for (const UniqueFd& each : all) {
    char byte = 0;
    if (::recv(each.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0) ++away;
  }
  return away;
}

}  // namespace

TEST_CASE("strangers who introduce themselves keep nobody out who is about to", "[tcp]") {
  const SmallDoor door;
  std::vector<UniqueFd> all;
  for (std::size_t i = 0; i < kRoom; ++i) {
    all.push_back(door.visitor());
    say_hello(all.back());
    REQUIRE(is_challenged(all.back()));
  }
  const std::size_t rank = all.size();
  for (int i = 0; i < 3; ++i) all.push_back(door.visitor());  // and two who hurry in after it
  while (count_sent_away(all) < 3) ::poll(nullptr, 0, 1);
  say_hello(all[rank]);
  CHECK(is_challenged(all[rank]));
}
