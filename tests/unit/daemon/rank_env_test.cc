// The environment of a rank.
#include "daemon/rank_env.h"

#include "base/environment.h"
#include "catch.h"

namespace tutti::launch::daemon {
namespace {

RankFacts some_facts() {
  RankFacts facts;
  facts.rank = 3;
  facts.size = 4;
  facts.local_rank = 1;
  facts.local_size = 2;
  facts.host = 1;
  facts.hosts = 2;
  facts.segment_fd = 960;
  facts.control_fd = 961;
  facts.spec.master_address = "10.0.0.1";
  facts.spec.master_port = 4242;
  return facts;
}

TEST_CASE("a rank sees Open MPI's and torchrun's variables", "[daemon]") {
  const auto environment = rank_environment({}, some_facts());
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"OMPI_COMM_WORLD_RANK", "3"},
                                                        {"OMPI_COMM_WORLD_SIZE", "4"},
                                                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                                                        {"OMPI_COMM_WORLD_NODE_RANK", "1"},
                                                        {"RANK", "3"},
                                                        {"WORLD_SIZE", "4"},
                                                        {"LOCAL_RANK", "1"},
                                                        {"LOCAL_WORLD_SIZE", "2"},
                                                        {"GROUP_RANK", "1"},
                                                        {"GROUP_WORLD_SIZE", "2"},
                                                        {"ROLE_RANK", "3"},
                                                        {"ROLE_NAME", "default"},
                                                        {"MASTER_ADDR", "10.0.0.1"},
                                                        {"MASTER_PORT", "4242"},
                                                        {"TORCHELASTIC_USE_AGENT_STORE", "False"},
                                                        {"MPI_LOCALRANKID", "1"},
                                                        {"OMP_NUM_THREADS", "1"}})
    CHECK(value_in(environment, name) == value);
}

TEST_CASE("NCCL's sockets take the interface that leads to rank 0's host", "[daemon]") {
  RankFacts facts = some_facts();
  CHECK(value_in(rank_environment({}, facts), "NCCL_SOCKET_IFNAME").empty());
  facts.interface = interface_towards("127.0.0.1");
  CHECK(facts.interface == "lo");
  CHECK(value_in(rank_environment({}, facts), "NCCL_SOCKET_IFNAME") == "=lo");
  CHECK(value_in(rank_environment({"NCCL_SOCKET_IFNAME=ib0"}, facts), "NCCL_SOCKET_IFNAME") ==
        "ib0");
  CHECK(interface_towards("no address").empty());
}

TEST_CASE("an NCCL error ends a rank unless the environment says otherwise", "[daemon]") {
  const std::string name = "TORCH_NCCL_ASYNC_ERROR_HANDLING";
  CHECK(value_in(rank_environment({}, some_facts()), name) == "1");
  CHECK(value_in(rank_environment({name + "=3"}, some_facts()), name) == "3");
}

TEST_CASE("under srun's name a rank sees srun's variables", "[daemon]") {
  control::Launch launch;
  launch.hosts = {"a", "b", "c"};
  launch.host_of = {0, 0, 1, 1, 2};
  RankFacts facts = some_facts();
  facts.job_id = 77;
  facts.size = 5;
  facts.hosts = 3;
  const std::vector<std::string> outer{"SLURM_PROCID=9", "SLURM_JOB_NUM_NODES=8",
                                       "SLURM_NTASKS=99"};
  CHECK(value_in(rank_environment(outer, facts), "SLURM_PROCID").empty());
  facts.as_srun = &launch;
  const auto environment = rank_environment(outer, facts);
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"SLURM_PROCID", "3"},
                                                        {"SLURM_LOCALID", "1"},
                                                        {"SLURM_NODEID", "1"},
                                                        {"SLURM_GTIDS", "2,3"},
                                                        {"SLURM_NTASKS", "5"},
                                                        {"SLURM_NPROCS", "5"},
                                                        {"SLURM_NNODES", "3"},
                                                        {"SLURM_JOB_NUM_NODES", "8"},
                                                        {"SLURM_JOB_ID", "77"},
                                                        {"SLURM_STEP_ID", "0"},
                                                        {"SLURM_STEP_NUM_TASKS", "5"},
                                                        {"SLURM_TASKS_PER_NODE", "2(x2),1"},
                                                        {"SLURM_JOB_NODELIST", "a,b,c"},
                                                        {"SLURMD_NODENAME", "b"}}) {
    INFO(name);
    CHECK(value_in(environment, name) == value);
  }
}

TEST_CASE("arguments that no variable can hold are left out of it", "[daemon]") {
  control::AppPart part;
  part.argv = {"app", "first", std::string(70'000, 'a'), std::string(70'000, 'b'), "last"};
  RankFacts facts = some_facts();
  facts.program = &part;
  const std::string value = value_in(rank_environment({}, facts), "OMPI_ARGV");
  CHECK(value == "first " + part.argv[2] + " last");
  part.argv = {"app", std::string((128U << 10) - sizeof "OMPI_ARGV=", 'a')};
  CHECK(value_in(rank_environment({}, facts), "OMPI_ARGV") == part.argv[1]);  // just fits
  part.argv[1] += 'a';
  CHECK(value_in(rank_environment({}, facts), "OMPI_ARGV").empty());
}

TEST_CASE("a parent launcher's variables do not leak into ranks", "[daemon]") {
  const auto environment = rank_environment(
      {"PMI_FD=5", "PMIX_RANK=7", "OMPI_COMM_WORLD_RANK=9", "TORCHELASTIC_ERROR_FILE=/x",
       "MASTER_ADDR=elsewhere", "SLURM_PROCID=2", "SLURM_JOB_ID=7", "HOME=/root"},
      some_facts());
  CHECK(value_in(environment, "PMI_FD").empty());
  CHECK(value_in(environment, "PMIX_RANK").empty());
  CHECK(value_in(environment, "TORCHELASTIC_ERROR_FILE").empty());
  CHECK(value_in(environment, "OMPI_COMM_WORLD_RANK") == "3");
  CHECK(value_in(environment, "MASTER_ADDR") == "10.0.0.1");
  CHECK(value_in(environment, "SLURM_PROCID").empty());  // of the step that started the daemon
  CHECK(value_in(environment, "SLURM_JOB_ID") == "7");
  CHECK(value_in(environment, "HOME") == "/root");
}

TEST_CASE("what the user says wins, unsetting included", "[daemon]") {
  control::AppPart app;
  app.argv = {"./app", "a", "b"};
  app.environment = {{"MASTER_ADDR", "a", false}, {"HOME", "", true}, {"RANK", "x", false}};
  RankFacts facts = some_facts();
  facts.program = &app;
  const auto environment = rank_environment({"HOME=/root"}, facts);
  CHECK(value_in(environment, "MASTER_ADDR") == "a");
  CHECK(value_in(environment, "RANK") == "x");
  CHECK(value_in(environment, "HOME").empty());
  CHECK(value_in(environment, "OMPI_ARGV") == "a b");
}

TEST_CASE("who names a folder of Open MPI's shared memory chooses them all", "[daemon]") {
  const std::string sm = "OMPI_MCA_btl_sm_backing_directory",
                    vader = "OMPI_MCA_btl_vader_backing_directory";
  const std::vector<std::string> served{"PMIX_RANK=3", sm + "=/ours", vader + "=/ours"};
  RankFacts facts = some_facts();
  facts.server_variables = &served;
  auto environment = rank_environment({"PMIX_RANK=7"}, facts);
  CHECK(value_in(environment, "PMIX_RANK") == "3");
  CHECK(value_in(environment, sm) == "/ours");
  CHECK(value_in(environment, vader) == "/ours");
  environment = rank_environment({sm + "=/dev/shm/tutti-own-abcdef"}, facts);  // of a job around
  CHECK(value_in(environment, sm) == "/ours");
  CHECK(value_in(environment, vader) == "/ours");
  environment = rank_environment({sm + "=/theirs"}, facts);
  CHECK(value_in(environment, "PMIX_RANK") == "3");
  CHECK(value_in(environment, sm) == "/theirs");
  CHECK(value_in(environment, vader).empty());
  control::AppPart program;
  program.argv = {"a"};
  program.environment = {{sm, "/theirs", false}};
  facts.program = &program;
  environment = rank_environment({}, facts);
  CHECK(value_in(environment, sm) == "/theirs");
  CHECK(value_in(environment, vader).empty());
}

TEST_CASE("a number of threads that is set stays; one rank a host may use them all", "[daemon]") {
  CHECK(value_in(rank_environment({"OMP_NUM_THREADS=6"}, some_facts()), "OMP_NUM_THREADS") == "6");
  RankFacts facts = some_facts();
  facts.local_size = 1;
  CHECK(value_in(rank_environment({}, facts), "OMP_NUM_THREADS").empty());
}

TEST_CASE("several programs are told how many ranks each has", "[daemon]") {
  RankFacts facts = some_facts();
  std::vector<control::AppPart> apps(2);
  apps[0].argv = apps[1].argv = {"x"};
  apps[0].ranks = 1;
  apps[1].ranks = 3;
  apps[1].first_rank = 1;
  facts.programs = &apps;
  const auto environment = rank_environment({"OMPI_FIRST_RANKS=7 8"}, facts);
  CHECK(value_in(environment, "OMPI_APP_CTX_NUM_PROCS") == "1 3");
  CHECK(value_in(environment, "OMPI_FIRST_RANKS") == "0 1");
  CHECK(
      value_in(rank_environment({"OMPI_FIRST_RANKS=7"}, some_facts()), "OMPI_FIRST_RANKS").empty());
}

TEST_CASE("a rank sees the GPUs that it was planned to have", "[daemon]") {
  constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";
  RankFacts facts = some_facts();
  facts.gpus = {4, 5};
  CHECK(value_in(rank_environment({}, facts), kVisible).empty());  // nobody asked
  facts.spec.gpus_per_rank = 2;
  auto environment = rank_environment({}, facts);
  CHECK(value_in(environment, kVisible) == "4,5");
  CHECK(value_in(environment, "ROCR_VISIBLE_DEVICES") == "4,5");
  CHECK(value_in(environment, "CUDA_DEVICE_ORDER") == "PCI_BUS_ID");
  // Of those that the host's ranks may use.
  environment = rank_environment({"CUDA_VISIBLE_DEVICES=7,6,5,4,3,2"}, facts);
  CHECK(value_in(environment, kVisible) == "3,2");
  CHECK(value_in(environment, "CUDA_DEVICE_ORDER").empty());
  facts.gpus.clear();  // nobody knows the host's: in turn
  CHECK(value_in(rank_environment({}, facts), kVisible) == "2,3");
  CHECK(value_in(rank_environment({"CUDA_VISIBLE_DEVICES=GPU-a,GPU-b,GPU-c"}, facts), kVisible) ==
        "GPU-c,GPU-a");
  CHECK(value_in(rank_environment({"CUDA_VISIBLE_DEVICES=-1,0"}, facts), kVisible) == "-1,0");
  const auto hidden = rank_environment({"CUDA_VISIBLE_DEVICES="}, facts);
  CHECK(find_in(hidden, kVisible) == "");
  facts.gpus = {-1, 1};  // what another daemon may say
  CHECK(value_in(rank_environment({"CUDA_VISIBLE_DEVICES=GPU-a,GPU-b"}, facts), kVisible) ==
        "GPU-b,GPU-a");
  control::AppPart app;  // -x CUDA_VISIBLE_DEVICES=9
  app.argv = {"app"};
  app.environment.push_back({kVisible, "9"});
  facts.program = &app;
  CHECK(value_in(rank_environment({}, facts), kVisible) == "9");
}

TEST_CASE("PWD is the rank's folder", "[daemon]") {
  RankFacts facts = some_facts();
  facts.directory = "/work";
  CHECK(value_in(rank_environment({"PWD=/elsewhere"}, facts), "PWD") == "/work");
}

TEST_CASE("the library's folder comes after what the user has", "[daemon]") {
  RankFacts facts = some_facts();
  facts.library_folder = "/cache";
  CHECK(value_in(rank_environment({"LD_LIBRARY_PATH=/mine"}, facts), "LD_LIBRARY_PATH") ==
        "/mine:/cache");
  CHECK(value_in(rank_environment({}, facts), "LD_LIBRARY_PATH") == "/cache");
  control::AppPart part;  // -x LD_LIBRARY_PATH=/theirs
  part.argv = {"app"};
  part.environment.push_back({"LD_LIBRARY_PATH", "/theirs"});
  facts.program = &part;
  CHECK(value_in(rank_environment({}, facts), "LD_LIBRARY_PATH") == "/theirs:/cache");
}

}  // namespace
}  // namespace tutti::launch::daemon
