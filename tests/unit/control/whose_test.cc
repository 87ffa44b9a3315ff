// Who holds the other end of a connection on this machine.
#include "control/whose.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/unique_fd.h"
#include "catch.h"

namespace {

using namespace tutti;
using launch::control::Whose;
using launch::control::whose_end;

struct Pair {
  UniqueFd here, there;
};

Pair connected() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const UniqueFd door(::socket(AF_INET, SOCK_STREAM, 0));
  REQUIRE(::bind(door.get(), any, length) == 0);
  REQUIRE(::listen(door.get(), 1) == 0);
  REQUIRE(::getsockname(door.get(), any, &length) == 0);
  UniqueFd here(::socket(AF_INET, SOCK_STREAM, 0));
  REQUIRE(::connect(here.get(), any, length) == 0);
  return {std::move(here), UniqueFd(::accept(door.get(), nullptr, nullptr))};
}

}  // namespace

TEST_CASE("a connection of this user is told from one whose end was closed", "[control]") {
  Pair pair = connected();
  REQUIRE(whose_end(pair.here.get()) == Whose::ours);
  REQUIRE(whose_end(pair.there.get()) == Whose::ours);
  // Closed by its process, not yet by the kernel: a node that joins would name another user.
  pair.there.reset();
  REQUIRE(whose_end(pair.here.get()) == Whose::gone);
}
