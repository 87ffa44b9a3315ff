// What batch systems say.
#include <map>

#include "catch.h"
#include "hosts/hosts.h"

using namespace tutti::launch;  // NOLINT(google-build-using-namespace): a test of one namespace
using namespace tutti::launch::hosts;  // NOLINT(google-build-using-namespace): a test of one
                                       // namespace

namespace {

using Variables = std::map<std::string, std::string>;

std::string read_batch(const Variables& variables, const Variables& files = {}) {
  const auto found = batch_allocation(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto at = variables.find(name);
        return at == variables.end() ? std::nullopt : std::optional(at->second);
      },
      [&](const std::string& path) -> tutti::Result<std::string> {
        const auto at = files.find(path);
        if (at == files.end()) return tutti::fail(tutti::Code::arg, "cannot read " + path);
        return at->second;
      });
  if (!found) return "error: " + found.error().text;
  if (!*found) return "none";
  std::string text;
  for (const HostSlots& host : (*found)->hosts)
    text += host.name + ":" + std::to_string(host.slots) + " ";
  return text;
}

Allocation three() {
  Allocation allocation;
  allocation.given = true;
  for (const char* name : {"a", "b", "c"}) {
    HostSlots host;
    host.name = name;
    host.slots = 2;
    host.slots_given = true;
    host.source = "the job";
    allocation.hosts.push_back(host);
    allocation.sequence.emplace_back(name);
  }
  return allocation;
}

tutti::Result<Allocation> with_batch(const std::string& dash_host) {
  return allocate({{{dash_host}, {}}}, {}, "here", 4, three());
}

}  // namespace

TEST_CASE("Slurm's hosts and tasks", "[hosts]") {
  CHECK(read_batch({}) == "none");
  CHECK(read_batch({{"SLURM_JOB_ID", "7"},
                    {"SLURM_JOB_NODELIST", "fz[1-2,07],gpu3"},
                    {"SLURM_TASKS_PER_NODE", "2(x2),1,4"}}) == "fz1:2 fz2:2 fz07:1 gpu3:4 ");
  CHECK(read_batch({{"SLURM_JOB_ID", "7"},
                    {"SLURM_NODELIST", "n[08-10]"},
                    {"SLURM_JOB_CPUS_PER_NODE", "16(x3)"}}) == "n08:16 n09:16 n10:16 ");
  CHECK(read_batch({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n[2-1]"}}).starts_with("error"));
  CHECK(read_batch(
            {{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "a"}, {"SLURM_TASKS_PER_NODE", "x(x"}})
            .starts_with("error"));
}

TEST_CASE("a heterogeneous job's hosts are those of all components", "[hosts]") {
  CHECK(read_batch({{"SLURM_JOB_ID", "7"},
                    {"SLURM_HET_SIZE", "2"},
                    {"SLURM_JOB_NODELIST", "a[1-2]"},  // in a job script: of the first
                    {"SLURM_JOB_NODELIST_HET_GROUP_0", "a[1-2]"},
                    {"SLURM_TASKS_PER_NODE_HET_GROUP_0", "2(x2)"},
                    {"SLURM_JOB_NODELIST_HET_GROUP_1", "b1"},
                    {"SLURM_TASKS_PER_NODE_HET_GROUP_1", "4"}}) == "a1:2 a2:2 b1:4 ");
}

TEST_CASE("localhost is the job's host that this one is", "[hosts]") {
  Allocation job = three();
  CHECK(allocate({{{"localhost"}, {}}}, {}, "b", 4, job)->hosts[0].name == "b");
  CHECK_FALSE(allocate({{{"localhost"}, {}}}, {}, "head", 4, job));
  job.here = "c";
  CHECK(allocate({{{"localhost"}, {}}}, {}, "head", 4, job)->hosts[0].name == "c");
}

TEST_CASE("a hostfile picks from the batch system's hosts, too", "[hosts]") {
  const auto file = [](const std::string&) -> tutti::Result<std::string> {
    return "c\nb slots=1\n";
  };
  const auto picked = allocate({{{}, {"file"}}}, file, "here", 4, three());
  REQUIRE(picked);
  REQUIRE(picked->hosts.size() == 2);
  CHECK(picked->hosts[0].name == "c");
  CHECK(picked->hosts[0].slots == 2);
  CHECK(picked->hosts[1].slots == 1);
  Allocation open = three();
  open.is_open = true;
  CHECK(allocate({{{"z"}, {}}}, file, "here", 4, open)->hosts[0].name == "z");
}

TEST_CASE("which task of a Slurm step this is", "[hosts]") {
  const auto task = [](const Variables& variables) {
    return slurm_task([&](const std::string& name) -> std::optional<std::string> {
      const auto at = variables.find(name);
      return at == variables.end() ? std::nullopt : std::optional(at->second);
    });
  };
  CHECK_FALSE(task({{"SLURM_PROCID", "0"}}).in_step);  // a job script
  Variables step{{"SLURM_PROCID", "1"},
                 {"SLURM_STEP_ID", "0"},
                 {"SLURM_NODEID", "1"},
                 {"SLURM_STEP_NUM_TASKS", "4"}};
  CHECK(task(step).tasks == 4);
  CHECK(task(step).node == 1);
  step["SLURM_PTY_PORT"] = "4711";
  CHECK(task(step).tasks == 4);
  step["SLURM_PROCID"] = "0";
  CHECK(task(step).tasks == 1);
}

TEST_CASE("PBS, Grid Engine and LSF", "[hosts]") {
  CHECK(read_batch({{"PBS_NODEFILE", "f"}}, {{"f", "a\na\nb\n"}}) == "a:2 b:1 ");
  CHECK(read_batch({{"PBS_NODEFILE", "f"}}) == "error: cannot read f");
  CHECK(read_batch({{"PE_HOSTFILE", "f"}},
                   {{"f", "a 4 all.q@a UNDEFINED\nb 2 all.q@b <NULL>\n"}}) == "a:4 b:2 ");
  CHECK(read_batch({{"LSB_DJOB_HOSTFILE", "f"}}, {{"f", "a\nb\nb\n"}}) == "a:1 b:2 ");
  CHECK(read_batch({{"LSB_MCPU_HOSTS", "a 4 b 2"}}) == "a:4 b:2 ");
  CHECK(read_batch({{"LSB_MCPU_HOSTS", "a many"}}).starts_with("error"));
}

TEST_CASE("-H picks from the batch system's hosts, by name or by place", "[hosts]") {
  CHECK(with_batch("c,a:1")->hosts[0].name == "c");
  CHECK(with_batch("c,a:1")->hosts[1].slots == 1);
  CHECK(with_batch("+n1")->hosts[0].name == "b");
  CHECK(with_batch("+e:2")->hosts.size() == 2);
  CHECK(with_batch("a.domain:1")->hosts[0].name == "a");
  REQUIRE_FALSE(with_batch("elsewhere"));
  CHECK(with_batch("elsewhere").error().text.find("elsewhere of -H is not in the job") !=
        std::string::npos);
  CHECK(with_batch("a:3")->hosts[0].slots == 2);
  CHECK(with_batch("a:3")->notes.size() == 1);
  CHECK(allocate({}, {}, "here", 4, three())->hosts.size() == 3);
}

TEST_CASE("hosts that are not wanted are left out", "[hosts]") {
  Allocation all = three();
  REQUIRE(keep_wanted(all, {{"b"}, 0, {}}));
  CHECK(all.hosts.size() == 2);
  CHECK(all.sequence == std::vector<std::string>{"a", "c"});
  CHECK_FALSE(keep_wanted(all, {{"b"}, 0, {}}));
  REQUIRE(keep_wanted(all, {{}, 1, {}}));
  CHECK(all.hosts.size() == 1);
  CHECK_FALSE(keep_wanted(all, {{}, 2, {}, 2}));
  REQUIRE(keep_wanted(all, {{}, 2, {}, 1}));
  CHECK_FALSE(keep_wanted(all, {{}, 0, [](const std::string& name) { return name != "a"; }}));
}

TEST_CASE("ranges of names on the command line", "[hosts]") {
  CHECK(parse_dash_host({"a[1-2]:2,b"})->hosts.size() == 3);
  CHECK(parse_dash_host({"a[1-2]:2,b"})->hosts[1].slots == 2);
  CHECK(*expand_ranges("r[1-2]n[08-09,11]") ==
        std::vector<std::string>{"r1n08", "r1n09", "r1n11", "r2n08", "r2n09", "r2n11"});
  CHECK(*expand_ranges("n[1-2][3-4]") == std::vector<std::string>{"n13", "n14", "n23", "n24"});
  std::string many = "n";
  for (int i = 0; i < 100'000; ++i) many += "[1]";
  CHECK_FALSE(expand_ranges(many));
  CHECK_FALSE(expand_ranges("n[0-999999][0-999999]"));
  CHECK(parse_dash_host({"[fe80::1]:2"})->hosts[0].slots == 2);
  CHECK(*expand_ranges("r[1-2]c[3,5]") == std::vector<std::string>{"r1c3", "r1c5", "r2c3", "r2c5"});
}
