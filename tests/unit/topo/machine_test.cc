// Machines from descriptions, from XML and from this host; binding by the affinity mask.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>

#include "catch.h"
#include "topo/topo.h"

using namespace tutti;  // NOLINT(google-build-using-namespace): a test of one namespace

namespace {

// Runs `body` in a child, so that this process keeps its affinity.
template <class Body>
bool in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::vector<int> affinity() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  std::vector<int> indices;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return indices;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &mask)) indices.push_back(i);
  return indices;
}

}  // namespace

TEST_CASE("a synthetic machine has the packages, cores and threads it names", "[topo]") {
  const auto machine = topo::synthetic("package:2 numa:1 l3:2 core:4 pu:2");
  REQUIRE(machine);
  REQUIRE(machine->threads.size() == 32);
  CHECK(machine->cores == 16);
  CHECK(machine->usable_cores() == 16);
  CHECK(machine->usable_threads() == 32);
  const topo::Thread& last = machine->threads.back();
  CHECK(last.core == 15);
  CHECK(last.l3 == 3);
  CHECK(last.numa == 1);
  CHECK(last.package == 1);
  CHECK(machine->threads[1].core == 0);
  CHECK(machine->threads[2].core == 1);
}

TEST_CASE("several NUMA nodes inside a package are told apart", "[topo]") {
  const auto machine = topo::synthetic("package:2 numa:2 core:3 pu:1");
  REQUIRE(machine);
  std::set<int> nodes;
  for (const auto& thread : machine->threads) nodes.insert(thread.numa);
  CHECK(nodes == std::set<int>{0, 1, 2, 3});
  CHECK(machine->threads[3].numa == 1);
  CHECK(machine->threads[3].package == 0);
}

TEST_CASE("a quota cuts the cores that ranks can use together, but never below one", "[topo]") {
  auto machine = topo::synthetic("core:4 pu:2");
  REQUIRE(machine);
  machine->cpu_quota = 2.5;
  CHECK(machine->usable_cores() == 2);
  CHECK(machine->usable_threads() == 2);
  machine->cpu_quota = 0.2;
  CHECK(machine->usable_cores() == 1);
  machine->cpu_quota = 100;
  CHECK(machine->usable_cores() == 4);
  CHECK(machine->usable_threads() == 8);
}

TEST_CASE("nonsense describes no machine and says what would", "[topo]") {
  const auto machine = topo::synthetic("cheese:2");
  REQUIRE_FALSE(machine);
  CHECK(machine.error().text.find("package:2") != std::string::npos);
  CHECK_FALSE(topo::from_xml("<not-a-topology/>"));
  CHECK_FALSE(topo::from_xml(""));
}

TEST_CASE("this machine survives the trip through a text", "[topo]") {
  const auto here = topo::read_this_machine();
  REQUIRE(here);
  CHECK(here->cores >= 1);
  const auto there = topo::from_text(topo::text_of(*here));
  REQUIRE(there);
  REQUIRE(there->threads.size() == here->threads.size());
  for (std::size_t i = 0; i < here->threads.size(); ++i) {
    CHECK(there->threads[i].os_index == here->threads[i].os_index);
    CHECK(there->threads[i].core == here->threads[i].core);
    CHECK(there->threads[i].numa == here->threads[i].numa);
    CHECK(there->threads[i].package == here->threads[i].package);
    CHECK(there->threads[i].l3 == here->threads[i].l3);
  }
  CHECK(there->cores == here->cores);
}

TEST_CASE("a process bound to one processor finds a machine of one thread", "[topo]") {
  const auto all = affinity();
  REQUIRE_FALSE(all.empty());
  const int last = all.back();
  CHECK(in_child([&] {
    if (!topo::bind_self({last})) return false;
    const auto machine = topo::read_this_machine();
    return affinity() == std::vector<int>{last} && machine && machine->threads.size() == 1 &&
           machine->threads[0].os_index == last && machine->cores == 1;
  }));
}

TEST_CASE("binding to processors that do not exist fails", "[topo]") {
  CHECK_FALSE(topo::bind_self({}));
  CHECK_FALSE(topo::bind_self({-1}));
  CHECK_FALSE(topo::bind_self({8192}));
  CHECK(in_child([] { return !topo::bind_self({8191}); }));
}

TEST_CASE("GPUs and network cards come with the processors near them, when asked for", "[topo]") {
  std::ifstream file(TUTTI_MACHINES "/four_gpus_crosswise.xml");
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  const auto without = topo::from_xml(text.str());
  REQUIRE(without);
  CHECK(without->devices.empty());
  const auto machine = topo::from_xml(text.str(), topo::DeviceReading::read);
  REQUIRE(machine);
  REQUIRE(machine->devices.size() == 6);
  CHECK(machine->devices[0].names == std::vector<std::string>{"card1", "rsmi0", "0000:41:00.0"});
  CHECK(machine->devices[0].near == std::vector<int>{4, 5, 6, 7});
  CHECK(machine->devices[3].near == std::vector<int>{0, 1, 2, 3});
  CHECK(machine->devices[4].kind == topo::PciDevice::Kind::nic);
  CHECK(machine->devices[5].near.size() == 8);
}
