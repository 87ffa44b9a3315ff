// Virtual hosts: made without root, joined by a real TCP stack, gone with their processes.
#include "spawn/namespaces.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "catch.h"

using namespace tutti::launch;         // NOLINT(google-build-using-namespace): a test of one room
using namespace tutti::launch::spawn;  // NOLINT(google-build-using-namespace): a test of one room

namespace {

// Runs `command` in a shell on virtual host `host`; its exit status, 250 when entering failed.
int run_on(VirtualNet& net, int host, const std::string& command) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto entered = net.enter(host);
    if (!entered) {
      std::fprintf(stderr, "%s\n", entered.error().text.c_str());
      ::_exit(250);
    }
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(251);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 252;
}

}  // namespace

TEST_CASE("virtual hosts have names, addresses and a way to each other", "[spawn]") {
  auto net = VirtualNet::create({"a", "b"}, {});
  if (!net) {
    WARN("skipped: " + net.error().text);
    return;
  }
  CHECK(run_on(*net, 0, "test \"$(uname -n)\" = a") == 0);
  CHECK(run_on(*net, 1, "test \"$(uname -n)\" = b") == 0);
  CHECK(run_on(*net, 1,
               "test \"$(getent ahostsv4 a | head -n 1 | cut -d' ' -f1)\" = " +
                   VirtualNet::ipv4(0)) == 0);
  CHECK(run_on(*net, 0, "ip -o addr show dev eth0 | grep -q " + VirtualNet::ipv6(0)) == 0);
  CHECK(run_on(*net, 1, "test \"$(id -u)\" = " + std::to_string(::geteuid())) == 0);
}

TEST_CASE("a host that is being made hears that its network is gone", "[spawn]") {
  auto net = VirtualNet::create({"a"}, {});
  if (!net) {
    WARN("skipped: " + net.error().text);
    return;
  }
  const auto network_of = [](const std::string& process) {
    std::array<char, 64> name{};
    const ssize_t length =
        ::readlink(("/proc/" + process + "/ns/net").c_str(), name.data(), name.size());
    return std::string(name.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  };
  const tutti::UniqueFd network_holder = net->switch_ended();
  const auto tell_holder = [&network_holder](int signal) {
    return ::syscall(SYS_pidfd_send_signal, network_holder.get(), signal, nullptr, 0);
  };
  REQUIRE(tell_holder(SIGSTOP) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto entered = net->enter(0);
    ::_exit(!entered && entered.error().text == kSwitchKilled ? 7 : 1);
  }
  while (network_of(std::to_string(child)) == network_of("self")) ::usleep(1000);
  CHECK(tell_holder(SIGKILL) == 0);  // the host waits for its link, or is about to ask for it
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 7));
}

TEST_CASE("a link's rate is set on both ends, a wrong one refused in words", "[spawn]") {
  auto net = VirtualNet::create({"a"}, {.rate = "1gbit", .delay = ""});
  if (!net) {
    WARN("skipped: " + net.error().text);
    return;
  }
  CHECK(run_on(*net, 0, "tc qdisc show dev eth0 | grep -q 'tbf.*rate 1Gbit'") == 0);
  auto wrong = VirtualNet::create({"a"}, {.rate = "fast", .delay = ""});
  REQUIRE(wrong);
  CHECK(run_on(*wrong, 0, "true") == 250);
}

TEST_CASE("nothing of a virtual network outlives its owner", "[spawn]") {
  std::array<int, 2> pipe_ends{};
  REQUIRE(::pipe(pipe_ends.data()) == 0);
  {
    auto net = VirtualNet::create({"a"}, {});
    if (!net) {
      WARN("skipped: " + net.error().text);
      return;
    }
    ::close(pipe_ends[1]);  // the switch holds the only other copy of the write end
  }
  char byte = 0;
  CHECK(::read(pipe_ends[0], &byte, 1) == 0);  // end of file: it is gone
  ::close(pipe_ends[0]);
}

TEST_CASE("addresses stay distinct beyond 255 hosts", "[spawn]") {
  CHECK(VirtualNet::ipv4(0) == "10.77.0.1");
  CHECK(VirtualNet::ipv4(254) == "10.77.0.255");
  CHECK(VirtualNet::ipv4(255) == "10.77.1.0");
  CHECK(VirtualNet::ipv6(255) == "fd77:7475:7474:6900::100");
}
