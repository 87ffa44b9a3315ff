// Descriptions of machines: the text that a rank finds in its segment, and what a daemon says of
// its host, who may be anybody where torchrun's nodes meet without a key. It is planned with, or it
// is no machine.
#include <algorithm>

#include "catch.h"
#include "cli/cli.h"
#include "control/control.h"
#include "daemon/daemon.h"
#include "mutate.h"
#include "plan/plan.h"
#include "topo/topo.h"

using namespace tutti;                  // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch;          // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::daemon;  // NOLINT(google-build-using-namespace): a test

namespace {

void check(const topo::Machine& machine) {
  REQUIRE(topo::is_sound(machine));
  REQUIRE(machine.usable_cores() >= 1);
  REQUIRE(machine.usable_threads() >= 1);
  for (const topo::Thread& thread : machine.threads) REQUIRE(thread.os_index >= 0);
}

topo::Machine model() {
  auto machine = topo::synthetic("package:2 numa:1 l3:2 core:2 pu:2");
  REQUIRE(machine);
  machine->devices.push_back({topo::PciDevice::Kind::gpu, {"card0", "0000:41:00.0"}, {0, 1}});
  machine->devices.push_back({topo::PciDevice::Kind::nic, {"mlx5_0"}, {8, 9}});
  machine->cpu_quota = 2.5;
  return *machine;
}

// Lines, and nothing that steers a terminal.
bool is_plain(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  });
}

// Two hosts, of which one is what it says; ranks placed and bound by chance.
void plan_with(fuzz::Random& random, const topo::Machine& machine) {
  static const std::vector<std::vector<std::string>> lines{{},
                                                           {"--bind-to", "core"},
                                                           {"--bind-to", "socket"},
                                                           {"--bind-to", "hwthread"},
                                                           {"--map-by", "ppr:1:socket"},
                                                           {"--map-by", "numa"},
                                                           {"--map-by", "slot:PE=2"},
                                                           {"--bind-to", "l3cache"},
                                                           {"--map-by", "ppr:2:l3cache"}};
  std::vector<std::string> argv{"prun", "-np", "4", "-H", "a:2,b:2"};
  const auto& more = lines[random.below(lines.size())];
  argv.insert(argv.end(), more.begin(), more.end());
  argv.emplace_back("./app");
  const auto job = cli::parse_command_line(argv);
  REQUIRE(job);
  const auto read = [](const std::string&) -> Result<std::string> { return std::string(); };
  const auto found = hosts::allocate(launch::plan::wishes_of(*job), read, "here", 4);
  REQUIRE(found);
  auto plan = plan::map_ranks(*job, *found);
  if (!plan) return;
  const std::vector<topo::Machine> machines{model(), machine};
  if (plan->hosts.size() != machines.size() || !plan::bind_ranks(*plan, *job, machines)) return;
  REQUIRE_FALSE(plan::print_plan(*plan, *job).empty());
  REQUIRE(is_plain(plan::print_bindings(*plan, *job, machines)));
  REQUIRE(is_plain(plan::print_topology(*plan, machines)));
}

}  // namespace

TEST_CASE("a bent text of a machine gives a machine or a reason", "[fuzz][machine_text]") {
  const std::string whole = topo::text_of(model());
  const std::vector<std::string> seeds{whole, topo::text_of(*topo::synthetic("core:4 pu:2"))};
  fuzz::Rounds rounds("machine_text", 20000);
  int accepted = 0;
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    const std::string text =
        random.below(2) == 0 ? fuzz::mutate(random, seeds, " \n0-19") : fuzz::bend(random, seeds);
    INFO("round " << rounds.number() << ": " << text);
    const auto machine = topo::from_text(text);
    if (!machine) {
      REQUIRE_FALSE(machine.error().text.empty());
      continue;
    }
    ++accepted;
    check(*machine);
    REQUIRE(topo::text_of(*topo::from_text(topo::text_of(*machine))) == topo::text_of(*machine));
  }
  CHECK(accepted > 0);
  CHECK(accepted < rounds.done());
}

TEST_CASE("what a daemon says of its machine is planned with, or is none",
          "[fuzz][machine_message]") {
  control::Hello hello;
  hello.machine = machine_part(model());
  const std::vector<std::string> seeds{control::encode(hello)};
  fuzz::Rounds rounds("machine_message", 10000);
  int accepted = 0;
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    control::MachinePart part = hello.machine;
    if (random.below(2) == 0) {
      const auto message = control::decode(fuzz::bend(random, seeds));
      if (!message || !std::holds_alternative<control::Hello>(*message)) continue;
      part = std::get<control::Hello>(*message).machine;
    }
    if (random.below(4) == 0 && !part.devices.empty())
      part.devices[0].names.insert(part.devices[0].names.begin(), "\033[2J");
    for (std::size_t changes = random.below(3); changes > 0 && !part.threads.empty(); --changes) {
      static constexpr int odd[] = {-1, 0, 1, 7, 1 << 19, 1 << 20, 0x7fffffff, -0x7fffffff};
      part.threads[random.below(part.threads.size())] = odd[random.below(std::size(odd))];
      if (random.below(4) == 0) part.threads.resize(random.below(part.threads.size() + 1));
      if (random.below(4) == 0) part.cores = odd[random.below(std::size(odd))];
    }
    const topo::Machine machine = machine_of(part);
    if (!machine.threads.empty()) {
      ++accepted;
      check(machine);
    }
    plan_with(random, machine);
  }
  CHECK(accepted > 0);
}
