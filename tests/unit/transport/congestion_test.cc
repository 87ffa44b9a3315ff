// congestion: which rule a socket sends by, from its beginning and when its way is known.
#include "transport/tcp/congestion.h"

#include <sys/socket.h>

#include "base/unique_fd.h"
#include "rig.h"

using namespace tutti;
using namespace tutti::test;
using tcp::Congestion;
using tcp::congestion_of;

namespace {

UniqueFd fresh_socket() {
  return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

}  // namespace

TEST_CASE("a host's rule that paces is not taken, another one is", "[congestion]") {
  const UniqueFd paced = fresh_socket(), plain = fresh_socket();
  const std::string system = congestion_of(plain.get());
  REQUIRE_FALSE(system.empty());
  for (const char* paces : {"bbr", "bbr2"}) {
    const Congestion congestion = Congestion::beside(paces);
    congestion.begin(paced.get());
    const std::string taken = congestion_of(paced.get());
    CHECK((taken == "cubic" || taken == "reno"));
    CHECK(congestion.for_long_way == paces);
  }
  Congestion::beside("cubic").begin(plain.get());
  CHECK(congestion_of(plain.get()) == system);
}

TEST_CASE("a connection over a long way gets the host's rule back", "[congestion]") {
  const UniqueFd fd = fresh_socket();
  const std::string system = congestion_of(fd.get());
  const Congestion congestion{"reno", system};
  congestion.begin(fd.get());
  REQUIRE(congestion_of(fd.get()) == "reno");
  congestion.settle(fd.get(), 0);  // not known
  congestion.settle(fd.get(), 300);
  CHECK(congestion_of(fd.get()) == "reno");
  congestion.settle(fd.get(), 20'000);
  CHECK(congestion_of(fd.get()) == system);
}

TEST_CASE("a rule can be asked for, and one that the host has not is an error", "[congestion]") {
  const UniqueFd fd = fresh_socket();
  const std::string system = congestion_of(fd.get());
  Congestion::named("system")->begin(fd.get());
  CHECK(congestion_of(fd.get()) == system);
  const auto reno = Congestion::named("reno");
  REQUIRE(reno.has_value());
  reno->begin(fd.get());
  reno->settle(fd.get(), 20'000);
  CHECK(congestion_of(fd.get()) == "reno");
  const auto none = Congestion::named("nosuch");
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().text.find("TUTTI_TCP_CONGESTION=nosuch") != std::string::npos);
  Rig rig({0, 1}, knobs_with({{"TUTTI_LINK", "tcp"}, {"TUTTI_TCP_CONGESTION", "nosuch"}}));
  CHECK(rig[0].transport("tcp") == nullptr);
}

TEST_CASE("ranks are joined by sockets of the rule that was asked for", "[congestion]") {
  Rig rig({0, 1}, knobs_with({{"TUTTI_LINK", "tcp"}, {"TUTTI_TCP_CONGESTION", "reno"}}));
  post(rig, rig.link("tcp", 0, 1), 1, pattern(5000, 2));
  rig.until([&] { return !rig[1].sink.frames.empty(); });
  // All sockets of this process that are connected are those of the two ranks.
  int connected = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_storage peer{};
    socklen_t bytes = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) != 0 ||
        (peer.ss_family != AF_INET && peer.ss_family != AF_INET6))
      continue;
    CHECK(congestion_of(fd) == "reno");
    ++connected;
  }
  CHECK(connected >= 2);
}
