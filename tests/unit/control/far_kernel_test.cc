// What our kernel knows of a connection, on a real one over loopback.
#include "control/far_kernel.h"

#include <netinet/in.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "catch.h"
#include "control/addresses.h"

namespace tutti::launch::control {
namespace {

struct Wire {
  UniqueFd near, far;
  Connection ends;
};

Wire make_wire() {
  Wire wire;
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  auto* generic = reinterpret_cast<sockaddr*>(&at);
  REQUIRE(::bind(listener.get(), generic, length) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  REQUIRE(::getsockname(listener.get(), generic, &length) == 0);
  wire.near.reset(::socket(AF_INET, SOCK_STREAM, 0));
  REQUIRE(::connect(wire.near.get(), generic, length) == 0);
  wire.far.reset(::accept(listener.get(), nullptr, nullptr));
  length = sizeof wire.ends.own;
  ::getsockname(wire.near.get(), reinterpret_cast<sockaddr*>(&wire.ends.own), &length);
  length = sizeof wire.ends.peer;
  ::getpeername(wire.near.get(), reinterpret_cast<sockaddr*>(&wire.ends.peer), &length);
  return wire;
}

TEST_CASE("the kernel of a peer that reads nothing answers, of one that left it does not",
          "[control]") {
  Wire wire = make_wire();
  REQUIRE(::write(wire.near.get(), "beat", 4) == 4);
  CHECK(far_kernel_answers(wire.near.get()));
  CHECK(far_kernel_answers(wire.ends));
  wire.far.reset();
  CHECK_FALSE(far_kernel_answers(wire.near.get()));
  CHECK_FALSE(far_kernel_answers(wire.ends));
  wire.near.reset();
  CHECK_FALSE(far_kernel_answers(wire.ends));
}

TEST_CASE("what is neither acknowledged nor was lately is no answer", "[control]") {
  tcp_info info{};
  info.tcpi_state = 1;
  info.tcpi_last_ack_recv = 300'000;
  CHECK(is_answered(info));
  info.tcpi_retransmits = 5;
  CHECK_FALSE(is_answered(info));
  info.tcpi_last_ack_recv = 100;
  CHECK(is_answered(info));
  info.tcpi_last_ack_recv = 300'000;
  info.tcpi_retransmits = 0;
  info.tcpi_probes = 1;
  CHECK_FALSE(is_answered(info));
}

TEST_CASE("a connection is believed only from the machine that started us", "[control]") {
  const std::vector<std::string> addresses{"127.0.0.1", "10.0.0.1", "fd00::1"};
  CHECK(connection_from("10.0.0.1 5000 10.0.0.2 22", addresses));
  CHECK(connection_from("fd00::1 5000 fd00::2 22", addresses));
  for (const char* words :
       {"", "10.0.0.1", "10.0.0.9 5000 10.0.0.2 22", "127.0.0.1 5000 127.0.0.1 22",
        "10.0.0.1 0 10.0.0.2 22", "10.0.0.1 70000 10.0.0.2 22", "10.0.0.1 5000 fd00::2 22",
        "10.0.0.1 5000 host 22", "10.0.0.1 5000 10.0.0.2 22 more"})
    CHECK_FALSE(connection_from(words, addresses));
}

TEST_CASE("loopback is among a machine's addresses", "[control]") {
  const auto all = own_addresses();
  CHECK(std::find(all.begin(), all.end(), "127.0.0.1") != all.end());
}

}  // namespace
}  // namespace tutti::launch::control
