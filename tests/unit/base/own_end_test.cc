// A socket that calls a free port of its own machine from that port.
#include "base/own_end.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/unique_fd.h"
#include "catch.h"

using namespace tutti;  // NOLINT(google-build-using-namespace): a test

namespace {

UniqueFd bound(sockaddr_in& at) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), length) == 0);
  REQUIRE(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&at), &length) == 0);
  return fd;
}

}  // namespace

TEST_CASE("A connection to its own port is told from one to a listener", "[base]") {
  sockaddr_in own{}, door{};
  const UniqueFd caller = bound(own);
  CHECK_FALSE(reaches_itself(caller.get()));
  REQUIRE(::connect(caller.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0);
  CHECK(reaches_itself(caller.get()));

  const UniqueFd listener = bound(door);
  REQUIRE(::listen(listener.get(), 1) == 0);
  const UniqueFd visitor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(visitor.get(), reinterpret_cast<const sockaddr*>(&door), sizeof door) == 0);
  CHECK_FALSE(reaches_itself(visitor.get()));
}
