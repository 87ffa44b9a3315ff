// torchrun's lines.
#include "catch.h"
#include "parse.h"

using namespace tutti::launch;  // NOLINT(google-build-using-namespace): a test of one namespace
using namespace tutti::launch::cli;  // NOLINT(google-build-using-namespace): a test of one
                                     // namespace

TEST_CASE("torchrun runs a Python script, one rank a node unless told", "[cli]") {
  const auto job = parse("torchrun train.py --epochs 3");
  REQUIRE(job);
  CHECK(job->torch.used);
  CHECK(job->apps[0].argv == cut("python3 -u train.py --epochs 3"));
  CHECK(job->placement.ranks_per_node == 1);
  CHECK(parse("torchrun --nproc_per_node=4 t.py")->placement.ranks_per_node == 4);
  CHECK(parse("torchrun --nproc-per-node auto t.py")->placement.per_node_word == "auto");
  CHECK(parse("torchrun -m pkg.train x")->apps[0].argv == cut("python3 -u -m pkg.train x"));
  CHECK(parse("torchrun --no-python ./a x")->apps[0].argv == cut("./a x"));
  CHECK(parse("torchrun --nproc 2 t.py")->placement.ranks_per_node == 2);  // a beginning is enough
}

TEST_CASE("nodes, rendezvous and restarts", "[cli]") {
  const auto job = parse(
      "torchrun --nnodes=1:4 --rdzv-id=run7 --rdzv-backend=c10d --rdzv-endpoint=a:29400 "
      "--rdzv_conf=join_timeout=30,is_host=1,read_timeout=9 --max-restarts=3 --node-rank 2 t.py");
  REQUIRE(job);
  CHECK(job->torch.min_nodes == 1);
  CHECK(job->torch.max_nodes == 4);
  CHECK(job->rank.run_id == "run7");
  CHECK(job->torch.endpoint == "a:29400");
  CHECK(job->torch.join_timeout_s == 30);
  CHECK(job->torch.node_rank == 2);
  CHECK(job->rank.max_restarts == 3);
  CHECK(job->notes == std::vector<std::string>{"without effect here: --rdzv_conf read_timeout"});
  CHECK(job->torch.is_host == true);
  CHECK(parse("torchrun --rdzv-conf is_host=False t.py")->torch.is_host == false);
  CHECK(error_of("torchrun --rdzv-conf is_host=2 t.py").find("1 or 0") != std::string::npos);
  CHECK(parse("torchrun --master-port 0 t.py")->torch.any_port);
  CHECK(error_of("torchrun --master-port 65536 t.py").find("at most 65535") != std::string::npos);
  CHECK(error_of("torchrun --nnodes 3:2 t.py").find("MIN:MAX") != std::string::npos);
  CHECK(error_of("torchrun --rdzv-backend mpi t.py").find("static and c10d") != std::string::npos);
}

TEST_CASE("torchrun's words under prun make a torch job; settings alone do not", "[cli]") {
  CHECK(parse("prun --standalone --nproc-per-node 2 t.py")->apps[0].argv == cut("python3 -u t.py"));
  const auto job = parse("prun --master-addr a --master-port 29500 --max-restarts 1 ./a");
  REQUIRE(job);
  CHECK_FALSE(job->torch.used);
  CHECK(job->rank.master_address == "a");
  CHECK(job->rank.master_port == 29500);
}

TEST_CASE("what can run by itself goes to python under torchrun's name only", "[cli]") {
  CommandLineContext around;
  around.is_file = [](const std::string& path) { return path == "x.py" || path == "sub/y.py"; };
  around.is_program = [](const std::string& name) { return name == "true" || name == "run.py"; };
  const auto program = [&](const std::string& line) {
    const auto job = parse_command_line(cut(line), around);
    return job ? job->apps[0].argv : std::vector<std::string>{job.error().text};
  };
  CHECK(program("prun --standalone --nproc_per_node=2 true") == cut("true"));
  CHECK(program("prun --nproc-per-node 2 python3 x.py") == cut("python3 x.py"));
  CHECK(program("prun --standalone --nproc_per_node=2 python3 x.py") == cut("python3 x.py"));
  CHECK(program("prun --standalone run.py") == cut("run.py"));
  CHECK(program("prun --standalone x.py a") == cut("python3 -u x.py a"));
  CHECK(program("prun --standalone far.py") == cut("python3 -u far.py"));
  CHECK(program("prun -np 2 x.py") == cut("python3 -u x.py"));
  CHECK(program("prun -np 2 --wdir sub y.py") == cut("python3 -u y.py"));
  CHECK(program("prun -np 2 far.py") == cut("far.py"));
  CHECK(program("mpirun -np 2 x.py") == cut("x.py"));
  CHECK(program("prun --standalone --module pkg") == cut("python3 -u -m pkg"));
  CHECK(program("torchrun x.py") == cut("python3 -u x.py"));
  CHECK(program("torchrun far.py") == cut("python3 -u far.py"));
  CHECK(program("torchrun true")[0].find("--no-python runs it") != std::string::npos);
  CHECK(program("torchrun --no-python true") == cut("true"));
}

TEST_CASE("torch.distributed.launch gives --local-rank", "[cli]") {
  const auto job = parse("torch.distributed.launch --nproc_per_node 2 t.py -x");
  REQUIRE(job);
  CHECK(job->apps[0].local_rank_at == 3);
  CHECK(job->apps[0].argv == cut("python3 -u t.py --local-rank= -x"));
  CommandLineContext around;
  around.is_file = [](const std::string& path) { return path != "none.py"; };
  around.read_file = [](const std::string& path) {
    return tutti::Result<std::string>(path == "old.py" ? "'--local_rank'"
                                                       : "'--local-rank', '--local_rank'");
  };
  const auto told = [&around](const std::string& script) {
    const auto words = cut("torch.distributed.launch " + script);
    return parse_command_line(words, around).value().apps[0].argv[3];
  };
  CHECK(told("old.py") == "--local_rank=");
  CHECK(told("new.py") == "--local-rank=");
  CHECK(told("none.py") == "--local-rank=");
  CHECK(parse("torch.distributed.launch --use-env t.py")->apps[0].local_rank_at == 0);
}

TEST_CASE("PET_ variables are defaults", "[cli]") {
  CommandLineContext around;
  around.variable = [](const std::string& name) -> std::optional<std::string> {
    if (name == "PET_NNODES") return "2";
    if (name == "PET_NPROC_PER_NODE") return "8";
    if (name == "PET_STANDALONE") return "0";
    if (name == "PYTHON_EXEC") return "python9";
    return std::nullopt;
  };
  auto job = parse_command_line(cut("torchrun --nnodes 3 t.py"), around);
  REQUIRE(job);
  CHECK(job->torch.max_nodes == 3);
  CHECK(job->placement.ranks_per_node == 8);
  CHECK_FALSE(job->torch.standalone);
  CHECK(job->apps[0].argv[0] == "python9");
  around.variable = [](const std::string& name) -> std::optional<std::string> {
    return name == "PET_NNODES" ? std::optional<std::string>("many") : std::nullopt;
  };
  CHECK_FALSE(parse_command_line(cut("torchrun t.py"), around));
}
