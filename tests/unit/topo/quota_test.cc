// The processor quota of control groups, on invented /proc and /sys trees.
#include "topo/quota.h"

#include <map>

#include "catch.h"

using namespace tutti;  // NOLINT(google-build-using-namespace): a test of one namespace

namespace {
topo::ReadText files(std::map<std::string, std::string> tree) {
  return [tree = std::move(tree)](const std::string& path) -> std::optional<std::string> {
    const auto found = tree.find(path);
    if (found == tree.end()) return std::nullopt;
    return found->second;
  };
}
}  // namespace

TEST_CASE("cpu.max is quota over period, and max is no limit", "[topo]") {
  CHECK(topo::parse_cpu_max("150000 100000\n") == Approx(1.5));
  CHECK(topo::parse_cpu_max("max 100000\n") == 0);
  CHECK(topo::parse_cpu_max("") == 0);
  CHECK(topo::parse_cpu_max("100000 0") == 0);
}

TEST_CASE("the tightest quota between our group and the root counts", "[topo]") {
  CHECK(topo::cpu_quota(files({{"/proc/self/cgroup", "0::/job/step\n"},
                               {"/sys/fs/cgroup/job/step/cpu.max", "400000 100000"},
                               {"/sys/fs/cgroup/job/cpu.max", "200000 100000"}})) == Approx(2));
  CHECK(topo::cpu_quota(files({{"/proc/self/cgroup", "0::/job\n"},
                               {"/sys/fs/cgroup/job/cpu.max", "max 100000"}})) == 0);
}

TEST_CASE("a container whose group path is not visible still finds its own root", "[topo]") {
  CHECK(topo::cpu_quota(files({{"/proc/self/cgroup", "0::/../../elsewhere\n"},
                               {"/sys/fs/cgroup/cpu.max", "50000 100000"}})) == Approx(0.5));
}

TEST_CASE("version 1 groups name their quota in two files", "[topo]") {
  CHECK(topo::cpu_quota(files({{"/proc/self/cgroup", "4:cpu,cpuacct:/box\n1:cpuset:/box\n"},
                               {"/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "300000\n"},
                               {"/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n"}})) ==
        Approx(3));
  CHECK(topo::cpu_quota(files({{"/proc/self/cgroup", "4:cpu,cpuacct:/\n"},
                               {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
                               {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}})) == 0);
}

TEST_CASE("no control groups means no quota", "[topo]") {
  CHECK(topo::cpu_quota(files({})) == 0);
}

TEST_CASE("memory left is what is available, within the tightest limit", "[topo]") {
  const std::string info = "MemTotal:  99999 kB\nMemAvailable:    2000 kB\nCached: 1 kB\n";
  CHECK(topo::memory_left(files({{"/proc/meminfo", info}})) == 2000 * 1024);
  CHECK(topo::memory_left(files({{"/proc/meminfo", info},
                                 {"/proc/self/cgroup", "0::/job/step\n"},
                                 {"/sys/fs/cgroup/job/step/memory.max", "max\n"},
                                 {"/sys/fs/cgroup/job/memory.max", "1000000\n"}})) == 1000000);
  CHECK(topo::memory_left(
            files({{"/proc/meminfo", info},
                   {"/proc/self/cgroup", "5:memory:/job\n3:cpu:/\n"},
                   {"/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "70000\n"}})) == 70000);
  CHECK(topo::memory_left(files({{"/proc/self/cgroup", "0::/\n"}})) == 0);
}
