// Every case of tests/plan/cases gives its golden text, and every plan keeps its invariants.
//
// TUTTI_UPDATE_GOLDEN=1 writes the texts anew.
#include "plan/plan.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "catch.h"
#include "cli/cli.h"
#include "hosts/hosts.h"
#include "read_case.h"
#include "topo/gpus.h"

using namespace tutti;  // NOLINT(google-build-using-namespace): a test of one namespace
using namespace tutti::launch::cli;  // NOLINT(google-build-using-namespace): a test of these rooms
using namespace tutti::launch::hosts;  // NOLINT(google-build-using-namespace): a test of these
                                       // rooms
using namespace tutti::launch::plan;  // NOLINT(google-build-using-namespace): a test of these rooms

namespace {

struct Outcome {
  std::string text;
  Plan plan;
  std::vector<topo::Machine> machines;
  bool planned = false;
};

// A machine recorded by read_this_machine(), as hwloc's XML.
Result<topo::Machine> recorded(const std::string& name) {
  std::ifstream file(std::filesystem::path(TUTTI_PLAN_CASES) / ".." / "machines" / name);
  REQUIRE(file);
  std::ostringstream text;
  text << file.rdbuf();
  return topo::from_xml(text.str(), topo::DeviceReading::read);
}

std::vector<topo::Machine> machines_of(const PlanCase& one, const Plan& plan) {
  std::vector<topo::Machine> machines;
  for (const PlannedHost& host : plan.hosts) {
    auto found = one.machines.find(host.name);
    if (found == one.machines.end()) found = one.machines.find("*");
    const std::string text = found == one.machines.end()
                                 ? "core:" + std::to_string(one.this_cores) + " pu:1"
                                 : found->second;
    auto machine = text.rfind("xml ", 0) == 0 ? recorded(text.substr(4)) : topo::synthetic(text);
    INFO(text);
    REQUIRE(machine);
    if (const auto quota = one.quotas.find(host.name); quota != one.quotas.end())
      machine->cpu_quota = quota->second;
    if (const auto boot = one.boots.find(host.name); boot != one.boots.end())
      machine->boot_id = boot->second;
    if (const auto visible = one.visible.find(host.name); visible != one.visible.end())
      topo::keep_usable_gpus(*machine, {}, visible->second);
    machines.push_back(std::move(*machine));
  }
  return machines;
}

Outcome run(const PlanCase& one) {
  Outcome out;
  const auto failed = [&](const char* stage, const Error& error) {
    out.text = std::string(stage) + ": " + error.text + "\n";
    return out;
  };
  const ReadFile read = [&](const std::string& path) -> Result<std::string> {
    const auto found = one.files.find(path);
    if (found == one.files.end()) return fail(Code::arg, "hostfile " + path + " cannot be read");
    return found->second;
  };
  const auto job = parse_command_line(one.command, {read, {}, {}, {}});
  if (!job) return failed("command line", job.error());
  const auto allocation =
      allocate(tutti::launch::plan::wishes_of(*job), read, one.this_host, one.this_cores);
  if (!allocation) return failed("hosts", allocation.error());
  // The machine prun runs on: what hosts are taken to be like.
  Plan here;
  here.hosts.push_back({one.this_host, 1, 1});
  const auto like = machines_of(one, here);
  auto plan = map_ranks(*job, *allocation, like.data());
  if (!plan) return failed("plan", plan.error());
  if (const auto named = check_streams(*job, *plan); !named) return failed("plan", named.error());
  out.machines = machines_of(one, *plan);
  if (const auto bound = bind_ranks(*plan, *job, out.machines); !bound)
    return failed("plan", bound.error());
  out.plan = *plan;
  out.planned = true;
  for (const std::string& note : job->notes) out.text += "note: " + note + "\n";
  out.text += print_plan(*plan, *job);
  if (job->display_topo) out.text += print_topology(*plan, out.machines);
  if (job->report_bindings) out.text += print_bindings(*plan, *job, out.machines);
  return out;
}

void check_invariants(const Outcome& out) {
  std::vector<int> local(out.plan.hosts.size(), 0);
  int app = 0;
  for (std::size_t r = 0; r < out.plan.ranks.size(); ++r) {
    const PlannedRank& rank = out.plan.ranks[r];
    CHECK(rank.rank == static_cast<int>(r));
    CHECK(rank.app >= app);
    app = rank.app;
    const auto h = static_cast<std::size_t>(rank.host);
    REQUIRE(h < out.plan.hosts.size());
    CHECK(rank.local_rank == local[h]++);
    CHECK(std::is_sorted(rank.cpus.begin(), rank.cpus.end()));
    std::set<int> there;
    for (const auto& thread : out.machines[h].threads) there.insert(thread.os_index);
    for (const int cpu : rank.cpus) CHECK(there.count(cpu) == 1);
  }
  for (std::size_t h = 0; h < local.size(); ++h) {
    CHECK(local[h] > 0);
    CHECK(local[h] == out.plan.hosts[h].local_ranks);
  }
}

std::vector<std::string> case_paths() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(TUTTI_PLAN_CASES))
    if (entry.path().extension() == ".case") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

TEST_CASE("every case gives its golden plan", "[plan]") {
  const auto paths = case_paths();
  CHECK(paths.size() >= 25);
  const char* update = std::getenv("TUTTI_UPDATE_GOLDEN");
  for (const std::string& path : paths) {
    INFO(path);
    const PlanCase one = read_case(path);
    const Outcome out = run(one);
    if (out.planned) check_invariants(out);
    if (update != nullptr)
      std::ofstream(path) << one.input << out.text;
    else
      CHECK(out.text == one.expected);
  }
}

TEST_CASE("the same input gives the same plan", "[plan]") {
  for (const std::string& path : case_paths()) {
    const PlanCase one = read_case(path);
    CHECK(run(one).text == run(one).text);
  }
}
