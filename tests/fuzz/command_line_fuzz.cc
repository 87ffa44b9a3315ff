// Command lines of nonsense, to the plan: no crash, no empty error, and a plan that adds up.
#include "catch.h"
#include "cli/cli.h"
#include "hosts/hosts.h"
#include "mutate.h"
#include "plan/plan.h"

using namespace tutti;                 // NOLINT(google-build-using-namespace): a test of
using namespace tutti::launch::cli;    // NOLINT(google-build-using-namespace): these rooms
using namespace tutti::launch::hosts;  // NOLINT(google-build-using-namespace)
using namespace tutti::launch::plan;   // NOLINT(google-build-using-namespace)

namespace {

const std::vector<std::string> kWords{"-np",
                                      "4",
                                      "-n=2",
                                      "-H",
                                      "a:2,b:2",
                                      "--hostfile",
                                      "f",
                                      "-x",
                                      "A=1",
                                      "-genv",
                                      "B",
                                      "./app",
                                      ":",
                                      "--",
                                      "-map-by",
                                      "ppr:2:node",
                                      "slot:PE=2",
                                      ":OVERSUBSCRIBE",
                                      "--bind-to",
                                      "core:2",
                                      "none",
                                      "-mca",
                                      "btl",
                                      "^openib",
                                      "--oversubscribe",
                                      "-N",
                                      "1",
                                      "--timeout",
                                      "0.5",
                                      "--stdin",
                                      "all",
                                      "--rank-by",
                                      "node",
                                      "--export=ALL,C",
                                      "-",
                                      "---",
                                      "=",
                                      "--=",
                                      "-wdir",
                                      "/tmp",
                                      "--launch-agent",
                                      "--tag_output",
                                      "-n3",
                                      "--output",
                                      "tag,dir=x",
                                      "--display",
                                      "map",
                                      "--check",
                                      "--unset-env"};
const std::string kLetters = "-_=:,. 01aHnxNP";

// Bounds what a fuzzed number may cost: the plan of 16 million ranks is right but slow.
bool is_small(const JobSpec& job) {
  for (const AppSpec& app : job.apps)
    if (app.ranks > 4096) return false;
  return job.placement.ranks_per_node <= 4096;
}

void plan(const JobSpec& job) {
  const ReadFile read = [](const std::string&) -> Result<std::string> {
    return std::string("a slots=3\nb slots=1 max_slots=2\n");
  };
  const auto allocation = allocate(tutti::launch::plan::wishes_of(job), read, "here", 4);
  if (!allocation) {
    CHECK_FALSE(allocation.error().text.empty());
    return;
  }
  for (const HostSlots& host : allocation->hosts)
    if (host.slots > 4096) return;
  auto plan = map_ranks(job, *allocation);
  if (!plan) {
    CHECK_FALSE(plan.error().text.empty());
    return;
  }
  const auto machine = topo::synthetic("package:2 core:2 pu:2");
  REQUIRE(machine);
  const std::vector<topo::Machine> machines(plan->hosts.size(), *machine);
  int local = 0;
  for (const PlannedHost& host : plan->hosts) local += host.local_ranks;
  CHECK(static_cast<std::size_t>(local) == plan->ranks.size());
  if (bind_ranks(*plan, job, machines)) {
    CHECK_FALSE(print_plan(*plan, job).empty());
    CHECK_FALSE(print_bindings(*plan, job, machines).empty());
  }
}

}  // namespace

TEST_CASE("no command line crashes prun's parser or planner", "[fuzz][command_line]") {
  int accepted = 0;
  fuzz::Rounds rounds("command_line", 20000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number() + 2000000);
    std::vector<std::string> argv{"prun"};
    for (std::size_t words = random.below(12); words > 0; --words)
      argv.push_back(random.below(3) == 0 ? fuzz::mutate(random, kWords, kLetters)
                                          : kWords[random.below(kWords.size())]);
    argv.emplace_back("./app");
    std::string line;
    for (const std::string& word : argv) line += word + " ";
    INFO("round " << rounds.number() << ": " << line);
    const auto job = parse_command_line(argv);
    if (!job) {
      CHECK_FALSE(job.error().text.empty());
      continue;
    }
    ++accepted;
    if (const auto* help = std::get_if<PrintHelp>(&job->command)) {
      const auto text = help_text(help->topic);
      CHECK_FALSE((text ? *text : text.error().text).empty());
    }
    if (!std::holds_alternative<RunJob>(job->command)) continue;
    REQUIRE_FALSE(job->apps.empty());
    for (const AppSpec& app : job->apps) REQUIRE_FALSE(app.argv.empty());
    if (is_small(*job)) plan(*job);
  }
  CHECK(accepted > rounds.done() / 20);
  CHECK(accepted < rounds.done());
}
