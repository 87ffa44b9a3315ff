// The grammar of --map-by, --rank-by and --bind-to.
#include "catch.h"
#include "parse.h"

using namespace tutti::launch;  // NOLINT(google-build-using-namespace): a test of one namespace
using namespace tutti::launch::cli;  // NOLINT(google-build-using-namespace): a test of one
                                     // namespace

TEST_CASE("a mapping policy takes modifiers after colons and commas", "[cli]") {
  for (const char* line :
       {"prun -map-by package:PE=2:OVERSUBSCRIBE a", "prun --map-by socket:pe=2,oversubscribe a",
        "prun --map_by=PACKAGE,PE=2 --oversubscribe a"}) {
    INFO(line);
    const auto job = parse(line);
    REQUIRE(job);
    CHECK(job->placement.map_by == MapBy::package);
    CHECK(job->placement.cpus_per_rank == 2);
    CHECK(job->placement.oversubscribe);
  }
}

TEST_CASE("a device is named", "[cli]") {
  for (const char* line : {"prun --map-by device= a", "prun --map-by device=:PE=2 a"})
    CHECK(error_of(line) == "--map-by device= needs gpu, nic or a device's name");
}

TEST_CASE("a modifier alone keeps the policy", "[cli]") {
  const auto job = parse("prun -map-by node -map-by :OVERSUBSCRIBE a");
  REQUIRE(job);
  CHECK(job->placement.map_by == MapBy::node);
  CHECK(job->placement.oversubscribe);
}

TEST_CASE("ranks per node are said in many ways", "[cli]") {
  for (const char* line :
       {"prun -N 3 a", "prun -ppn 3 a", "prun --map-by ppr:3:node a", "prun --npernode 3 a",
        "prun -perhost 3 a", "prun --nproc_per_node=3 a"}) {
    INFO(line);
    CHECK(parse(line)->placement.ranks_per_node == 3);
  }
  CHECK(parse("prun --pernode a")->placement.ranks_per_node == 1);
  CHECK(error_of("prun --map-by ppr:2 a").find("ppr:N:node") != std::string::npos);
  CHECK(error_of("prun --map-by ppr:x:node a").find("ppr:N:node") != std::string::npos);
  CHECK(parse("prun --map-by ppr:2:numa:PE=2 a")->placement.ranks_per_object == 2);
  CHECK(parse("prun --map-by ppr:2:numa:PE=2 a")->placement.cpus_per_rank == 2);
  CHECK(parse("prun --map-by pe-list=0,2-3:ordered a")->placement.cpu_set == "0,2-3");
  CHECK(parse("prun --map-by pe-list=0,2-3:ordered a")->placement.ordered);
  CHECK(parse("prun --map-by seq a")->placement.map_by == MapBy::seq);
  CHECK(parse("prun --map-by numa:SPAN,NOLOCAL a")->placement.span);
}

TEST_CASE("misspelt policies name the nearest one", "[cli]") {
  CHECK(error_of("prun --map-by pakage a").find("did you mean 'package'") != std::string::npos);
  CHECK(error_of("prun --bind-to coer a").find("did you mean 'core'") != std::string::npos);
  CHECK(error_of("prun --map-by slot:PQ=2 a").find("known are OVERSUBSCRIBE") != std::string::npos);
  CHECK(error_of("prun --map-by slot:PE=0 a").find("from 1 to") != std::string::npos);
  CHECK(error_of("prun --rank-by height a").find("known are slot, node") != std::string::npos);
}

TEST_CASE("binding targets and their old spellings", "[cli]") {
  CHECK(parse("prun a")->placement.bind_to == BindTo::unset);
  CHECK(parse("prun -bind-to none a")->placement.bind_to == BindTo::none);
  CHECK(parse("prun --bind-to socket:overload-allowed a")->placement.bind_to == BindTo::package);
  CHECK(parse("prun --bind-to l3cache a")->placement.bind_to == BindTo::l3cache);
  CHECK(parse("prun -bind-to-core a")->placement.bind_to == BindTo::core);
  CHECK(parse("prun --cpu-bind=threads a")->placement.bind_to == BindTo::hwthread);
}

TEST_CASE("the later of two contrary options counts", "[cli]") {
  const auto job = parse("prun --oversubscribe --nooversubscribe a");
  CHECK_FALSE(job->placement.oversubscribe);
  CHECK(job->placement.no_oversubscribe);
  CHECK(parse("prun --rank-by node a")->placement.rank_by == RankBy::node);
  CHECK(parse("prun --rank-by fill a")->placement.rank_by == RankBy::fill);
}

TEST_CASE("processors by a list, hosts by a list", "[cli]") {
  const auto job = parse("mpirun --cpu-list 0,2 --bind-to cpulist:ordered a");
  REQUIRE(job);
  CHECK(job->placement.map_by == MapBy::pe_list);
  CHECK(job->placement.ordered);
  CHECK(job->placement.cpu_set == "0,2");
  CHECK_FALSE(parse("mpirun --bind-to cpu-list --cpu-list 0,2 a")->placement.ordered);
  CHECK(error_of("mpirun --bind-to cpu-list a").find("--cpu-list") != std::string::npos);
  CHECK(parse("mpiexec -rankmap 0,1-2 a")->placement.rank_map == std::vector{0, 1, 2});
  CHECK(error_of("prun --launcher slurm --virtual -H a b") ==
        "--virtual and --launcher slurm contradict each other; leave one out");
  CHECK(error_of("prun --virtual --launcher ssh -H a b") ==
        "--launcher ssh and --virtual contradict each other; leave one out");
  CHECK(parse("prun --launcher ssh --launcher slurm -H a b")->starter == Starter::slurm);
  CHECK(parse("mpirun --ppr 2:numa a")->placement.ranks_per_object == 2);
  CHECK(parse("mpirun --rank-by numa:span a")->placement.rank_by == RankBy::span);
  CHECK(parse("mpirun --map-by seq:FILE=f a")->apps[0].hostfiles == std::vector<std::string>{"f"});
}
