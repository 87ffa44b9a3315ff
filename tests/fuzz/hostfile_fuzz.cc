// Hostfiles of nonsense: no crash, and whatever is accepted is safe to hand to ssh.
#include "catch.h"
#include "hosts/hosts.h"
#include "mutate.h"

using namespace tutti;  // NOLINT(google-build-using-namespace): a test of one namespace
using namespace tutti::launch::hosts;  // NOLINT(google-build-using-namespace): a test of one
                                       // namespace

namespace {

const std::vector<std::string> kSeeds{"a slots=2 max_slots=4\n",
                                      "b:2\n",
                                      "# comment\n",
                                      "me@c slots = 5 port=22\n",
                                      "[fe80::1%eth0]:2\n",
                                      "fe80::1\n",
                                      "\n",
                                      "a.b-c_d:1 user=you count=3\r\n",
                                      "x slots=\n",
                                      "y\tcpus=1 # z"};
const std::string kLetters = "ab:@[]=#-_.% \t\r\n,019;$'\"\\/";

void check_safe(const Allocation& allocation) {
  CHECK_FALSE(allocation.hosts.empty());
  for (const HostSlots& host : allocation.hosts) {
    REQUIRE_FALSE(host.name.empty());
    CHECK(host.name.front() != '-');
    CHECK(host.name.find_first_of(" \t\n;$'\"`|&<>()") == std::string::npos);
    CHECK(host.user.find_first_of(" \t\n;$'\"`|&<>()") == std::string::npos);
    CHECK(host.slots >= 1);
    CHECK(host.max_slots >= 0);
    CHECK(host.port >= 0);
    CHECK(host.port <= 65535);
  }
}

void check_error(const Error& error) {
  CHECK_FALSE(error.text.empty());
  CHECK(error.text.find("f:") == 0);
}

}  // namespace

TEST_CASE("no hostfile crashes the reader or smuggles an option to ssh", "[fuzz][hostfile]") {
  int accepted = 0;
  fuzz::Rounds rounds("hostfile", 20000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    std::string text;
    for (std::size_t lines = random.below(4) + 1; lines > 0; --lines)
      text += fuzz::mutate(random, kSeeds, kLetters);
    INFO("round " << rounds.number() << ": " << text);
    const auto allocation = parse_hostfile("f", text);
    if (allocation)
      check_safe(*allocation);
    else
      check_error(allocation.error());
    accepted += allocation ? 1 : 0;
  }
  // The generator must reach both sides of the parser.
  CHECK(accepted > rounds.done() / 100);
  CHECK(accepted < rounds.done());
}

TEST_CASE("no -H crashes the reader or smuggles an option to ssh", "[fuzz][dash_host]") {
  fuzz::Rounds rounds("dash_host", 20000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number() + 1000000);
    const std::string word =
        fuzz::mutate(random, {"a:2,b:2", "a", "me@b:3", "[::1]:2", "-oX", "a,,b"}, kLetters);
    INFO("round " << rounds.number() << ": " << word);
    if (const auto allocation = parse_dash_host({word})) check_safe(*allocation);
  }
}
