// What srun is told of a daemon's step.
#include "spawn/slurm.h"

#include <algorithm>

#include "catch.h"

using namespace tutti::launch::spawn;  // NOLINT(google-build-using-namespace): a test of one
                                       // namespace

TEST_CASE("a job's resources by host, as scontrol shows them", "[spawn]") {
  const auto found = resources_by_host(
      "   NumNodes=3 NumCPUs=4\n"
      "     Nodes=n[1-2] CPU_IDs=0-1 Mem=0 GRES=gpu:a100:2(IDX:0-1),nic:1(IDX:0)\n"
      "     Nodes=n3 CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:0)\n"
      "     Nodes=n4 CPU_IDs=0 Mem=0 GRES=\n");
  CHECK(found.size() == 3);
  CHECK(found.at("n2") == "gpu:a100:2,nic:1");
  CHECK(found.at("n3") == "gpu:1");
  CHECK(resources_by_host("").empty());
  CHECK(resources_by_host("Nodes=n[2-1] GRES=gpu:1").empty());
}

TEST_CASE("srun is not told how the job is shaped, and the daemon is", "[spawn]") {
  const SlurmSteps steps({"PATH=/bin", "SLURM_NTASKS_PER_NODE=2", "SLURM_JOB_ID=7"});
  CHECK(steps.environment() == Environment{"PATH=/bin", "SLURM_JOB_ID=7", "TUTTI_STARTS_DAEMON=1"});
  const auto words = steps.words_for("n1", "line");
  CHECK(std::vector<std::string>(words.end() - 5, words.end()) ==
        std::vector<std::string>{"env", "SLURM_NTASKS_PER_NODE=2", "/bin/sh", "-c", "line"});
}

TEST_CASE("a step is of the component that has its host", "[spawn]") {
  const SlurmSteps steps({"SLURM_JOB_ID=7", "SLURM_JOB_ID_HET_GROUP_0=7",
                          "SLURM_JOB_NODELIST_HET_GROUP_0=a[1-2]", "SLURM_JOB_ID_HET_GROUP_1=8",
                          "SLURM_JOB_NODELIST_HET_GROUP_1=b"});
  const auto has = [&](const std::string& host, const std::string& word) {
    const auto words = steps.words_for(host, "line");
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  CHECK(has("a2", "--het-group=0"));
  CHECK(has("b", "--het-group=1"));
}

TEST_CASE("what is to be tried is a line that works", "[spawn]") {
  CHECK(trial_line("ssh", "b") == "ssh b true");
  CHECK(trial_line("/usr/bin/srun", "b") == "/usr/bin/srun --overlap -N1 -n1 -w b true");
}
