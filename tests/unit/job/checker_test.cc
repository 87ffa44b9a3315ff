// prun --check judges what hosts say about themselves and about each other.
#include "job/checker.h"

#include <set>

#include "catch.h"

using namespace tutti::launch;
using namespace tutti::launch::job;

namespace {

control::Findings in_order(const std::vector<std::string>& names, int port = 1000) {
  control::Findings findings;
  findings.port = port;
  for (const std::string& name : names) findings.names.push_back({name, {"ip-" + name}, name});
  return findings;
}

HostChecker reached_hosts(const std::vector<std::string>& names) {
  HostChecker checker(names, "token");
  for (std::size_t i = 0; i < names.size(); ++i) {
    control::Findings findings = in_order(names);
    findings.addresses = {{"eth0", "ip-" + names[i], 1500}};
    checker.reached(static_cast<int>(i), "by ssh", "");
    checker.examined(static_cast<int>(i), findings);
  }
  return checker;
}

control::ProbedPair arrived(int at, int mtu = 1500) {
  return {{"eth0", "here", 1500}, {"eth0", "there", 1500}, "", at, mtu, 1e9, 20};
}

// Every host asked answers with the bytes having arrived.
void answer_all(HostChecker& checker, int mtu = 1500) {
  for (auto round = checker.next_round(); !round.empty(); round = checker.next_round())
    for (const auto& [from, probe] : round)
      checker.probed(from, {probe.to, {arrived(probe.to, mtu)}});
}

}  // namespace

TEST_CASE("every pair is probed in both directions, no host twice in a round", "[job][check]") {
  for (int hosts = 1; hosts < 9; ++hosts) {
    std::vector<std::string> names;
    for (int i = 0; i < hosts; ++i) names.push_back("h" + std::to_string(i));
    HostChecker checker = reached_hosts(names);
    std::set<std::pair<int, int>> seen;
    for (auto round = checker.next_round(); !round.empty(); round = checker.next_round()) {
      std::set<int> busy;
      for (const auto& [from, probe] : round) {
        CHECK(busy.insert(from).second);
        CHECK(busy.insert(probe.to).second);
        CHECK(seen.insert({from, probe.to}).second);
        checker.probed(from, {probe.to, {arrived(probe.to)}});
      }
      CHECK(checker.round_is_over());
    }
    CHECK(seen.size() == static_cast<std::size_t>(hosts * (hosts - 1)));
    CHECK(checker.status() == 0);
  }
}

TEST_CASE("a host that is lost in the middle holds nobody up", "[job][check]") {
  HostChecker checker = reached_hosts({"a", "b", "c"});
  const auto round = checker.next_round();
  REQUIRE(round.size() == 1);
  checker.unreachable(round[0].first, 206, "its daemon was lost; look at its log");
  CHECK(checker.round_is_over());
  answer_all(checker);
  CHECK(checker.status() == 206);
  CHECK(checker.report().find("cure: look at its log") != std::string::npos);
}

TEST_CASE("long packets that vanish are bad, though bytes arrive", "[job][check]") {
  HostChecker checker = reached_hosts({"a", "b"});
  answer_all(checker, 1400);
  CHECK(checker.status() == 201);
  CHECK(checker.report().find("packets of MTU 1500 are lost, of 1400 arrive") != std::string::npos);
  CHECK(checker.report().find("mtu 1400") != std::string::npos);
}

TEST_CASE("one pair of interfaces that works is enough", "[job][check]") {
  HostChecker checker = reached_hosts({"a", "b"});
  for (auto round = checker.next_round(); !round.empty(); round = checker.next_round())
    for (const auto& [from, probe] : round) {
      control::ProbedPair refused = arrived(-1), itself = arrived(from);
      refused.problem = "Connection refused";
      checker.probed(from, {probe.to, {refused, itself, arrived(probe.to)}});
    }
  CHECK(checker.status() == 0);
  CHECK(checker.report().find("leads back to a itself") != std::string::npos);
  CHECK(checker.report().find("Connection refused") != std::string::npos);
}

TEST_CASE("a name that leads elsewhere is told", "[job][check]") {
  HostChecker checker({"a", "b"}, "token");
  control::Findings findings = in_order({"a", "b"});
  findings.addresses = {{"eth0", "ip-a", 1500}};
  findings.names[1].addresses = {"127.0.1.1"};
  checker.reached(0, "here", "");
  checker.examined(0, findings);
  findings = in_order({"a", "b"});
  findings.addresses = {{"eth0", "ip-b", 1500}};
  findings.names[0].back = "stranger.example";
  checker.reached(1, "here", "\033[31mWelcome\n");
  checker.examined(1, findings);
  answer_all(checker);
  const std::string report = checker.report();
  CHECK(report.find("b leads to 127.0.1.1, none of its addresses") != std::string::npos);
  CHECK(report.find("ip-a of a leads back to stranger.example") != std::string::npos);
  CHECK(report.find("prints before every command: \"\\x1b[31mWelcome\"") != std::string::npos);
  CHECK(checker.status() == 0);
}

TEST_CASE("a bad finding of a host decides the status", "[job][check]") {
  HostChecker checker({"a"}, "token");
  control::Findings findings = in_order({"a"});
  findings.all = {{"memlock", control::kBad, "64 KiB at most", "limits.conf"}};
  checker.reached(0, "here", "");
  checker.examined(0, findings);
  answer_all(checker);
  CHECK(checker.status() == 212);
  CHECK(checker.report().find("BAD   memlock: 64 KiB at most\n          cure: limits.conf") !=
        std::string::npos);
}
