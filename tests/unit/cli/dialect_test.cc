// The lines that users of other launchers bring along.
#include <map>

#include "catch.h"
#include "parse.h"

using namespace tutti::launch;  // NOLINT(google-build-using-namespace): a test of one namespace
using namespace tutti::launch::cli;  // NOLINT(google-build-using-namespace): a test of one
                                     // namespace

namespace {
const EnvChange* change(const AppSpec& app, const std::string& name) {
  for (const EnvChange& one : app.environment)
    if (one.name == name) return &one;
  return nullptr;
}
}  // namespace

TEST_CASE("the line that tutorials teach is understood", "[cli]") {
  const auto job = parse(
      "prun -np 4 -H a:2,b:2 -x MASTER_ADDR=a -x MASTER_PORT=1234 -x PATH -bind-to none "
      "-map-by slot -mca pml ob1 -mca btl ^openib python3 main.py");
  REQUIRE(job);
  REQUIRE(job->apps.size() == 1);
  const AppSpec& app = job->apps[0];
  CHECK(app.ranks == 4);
  CHECK(app.hosts == std::vector<std::string>{"a:2,b:2"});
  CHECK(app.argv == cut("python3 main.py"));
  CHECK(*change(app, "MASTER_ADDR")->value == "a");
  CHECK(*change(app, "MASTER_PORT")->value == "1234");
  CHECK_FALSE(change(app, "PATH")->value.has_value());
  CHECK(job->placement.bind_to == BindTo::none);
  CHECK(job->placement.map_by == MapBy::slot);
  CHECK(job->notes == std::vector<std::string>{"MCA parameters without effect here: pml, btl"});
}

TEST_CASE("Open MPI's parameters that mean an option are taken for it", "[cli]") {
  const auto job =
      parse_command_line({"prun", "--mca", "plm_rsh_agent", "rsh -q", "--prtemca", "plm_ssh_args",
                          "-p 22", "--gmca", "hwloc_base_binding_policy", "numa", "-mca",
                          "rmaps_base_oversubscribe", "1", "-mca", "orte_tag_output", "0", "a"});
  REQUIRE(job);
  CHECK(job->launch_agent == "rsh");
  CHECK(job->agent_args == std::vector<std::string>{"-q", "-p", "22"});
  CHECK(job->placement.bind_to == BindTo::numa);
  CHECK(job->placement.oversubscribe);
  CHECK(job->output.tag == spec::OutputTag::none);
  CHECK(job->notes.empty());
}

TEST_CASE("Hydra's line is understood", "[cli]") {
  const auto job = parse(
      "mpiexec -f hosts -ppn 2 -n 4 -genv A 1 -genv B=2 -env C 3 -genvlist D,E -envall -wdir /tmp "
      "-prepend-rank -bind-to core:2 -map-by numa ./a : -n 1 -env A 9 ./b");
  REQUIRE(job);
  REQUIRE(job->apps.size() == 2);
  CHECK(job->apps[0].hostfiles == std::vector<std::string>{"hosts"});
  CHECK(job->placement.ranks_per_node == 2);
  CHECK(job->placement.cpus_per_rank == 2);
  CHECK(job->placement.map_by == MapBy::numa);
  CHECK(job->output.tag == spec::OutputTag::label);
  CHECK(job->apps[0].working_directory == "/tmp");
  CHECK(job->apps[1].working_directory.empty());
  CHECK(*change(job->apps[0], "A")->value == "1");
  CHECK(*change(job->apps[0], "B")->value == "2");
  CHECK(*change(job->apps[0], "C")->value == "3");
  CHECK_FALSE(change(job->apps[0], "D")->value.has_value());
  CHECK(*change(job->apps[1], "A")->value == "9");
  CHECK(*change(job->apps[1], "B")->value == "2");
  CHECK(change(job->apps[1], "C") == nullptr);
}

TEST_CASE("srun's line is understood", "[cli]") {
  const auto job = parse(
      "srun --ntasks=4 --ntasks-per-node=2 -w a,b --export=ALL,A=1,B -D /tmp -O --label -m cyclic "
      "./a");
  REQUIRE(job);
  CHECK(job->apps[0].ranks == 4);
  CHECK(job->placement.ranks_per_node == 2);
  CHECK(job->apps[0].hosts == std::vector<std::string>{"a,b"});
  CHECK(*change(job->apps[0], "A")->value == "1");
  CHECK(change(job->apps[0], "B") != nullptr);
  CHECK(job->apps[0].working_directory == "/tmp");
  CHECK(job->placement.oversubscribe);
  CHECK(job->placement.map_by == MapBy::node);
}

TEST_CASE("a variable of the first program reaches the others unless they set their own", "[cli]") {
  const auto job = parse("prun -x A=1 -x B=1 -np 1 ./a : -x B=2 -np 1 ./b");
  REQUIRE(job);
  CHECK(*change(job->apps[1], "A")->value == "1");
  CHECK(*change(job->apps[1], "B")->value == "2");
  CHECK(*change(job->apps[0], "B")->value == "1");
  CHECK(error_of("prun -x =1 a").find("no variable name") != std::string::npos);
  CHECK(parse("prun --unset-env A a")->apps[0].environment[0].unset);
  CHECK(*parse("prun -x A= a")->apps[0].environment[0].value == "");
}

TEST_CASE("options without effect are noted once, on one line", "[cli]") {
  const auto job =
      parse("prun --personality ompi --rmk f --personality ompi --allow-run-as-root a");
  REQUIRE(job);
  CHECK(job->notes == std::vector<std::string>{"without effect here: --personality, --rmk"});
}

TEST_CASE("the name prun is called by decides what a letter means", "[cli]") {
  CHECK(parse("prun -c 3 a")->apps[0].ranks == 3);
  CHECK(parse("srun -c 3 a")->placement.cpus_per_rank == 3);
  CHECK(parse("prun -N 3 a")->placement.ranks_per_node == 3);
  CHECK(parse("srun -N 3 a")->placement.most_hosts == 3);
  CHECK(parse("/usr/bin/mpiexec -s all a")->stdin_to == std::vector<std::string>{"all"});
  CHECK(parse("mpirun -s a")->apps[0].argv[0] == "a");
  CHECK(parse("srun -t 1:30 a")->timeout_s == 90);
  CHECK(parse("srun -t UNLIMITED a")->timeout_s == 0);
  CHECK(parse("torchrun -t 3 a.py")->output.tees.at(-1) == 3);
}

TEST_CASE("srun's short options hold their words, and stand together", "[cli]") {
  const auto job = parse("srun -t5 -pdebug -wa,b -n2 -N1 -lu -Jname -oout.%t ./a -x");
  REQUIRE(job);
  CHECK(job->timeout_s == 300);
  CHECK(job->apps[0].hosts == std::vector<std::string>{"a,b"});
  CHECK(job->apps[0].ranks == 2);
  CHECK(job->placement.most_hosts == 1);
  CHECK(job->output.tag_pattern == "%r: ");
  CHECK(job->output.out_file == "out.%r");
  CHECK(job->apps[0].argv == cut("./a -x"));
  CHECK(job->notes == std::vector<std::string>{"without effect here: -p, -J"});
  CHECK(parse("torchrun -t3 a.py")->output.tees.at(-1) == 3);
  CHECK(error_of("srun -%5 ./a").find("unknown option") != std::string::npos);
  CHECK(error_of("mpirun -pdebug ./a").find("unknown option") != std::string::npos);
}

TEST_CASE("srun's --jobid names the job that it is started in", "[cli]") {
  CommandLineContext around;
  around.variable = [](const std::string& name) {
    return name == "SLURM_JOB_ID" ? std::optional<std::string>("7") : std::nullopt;
  };
  CHECK(parse_command_line(cut("srun --jobid=7 ./a"), around));
  CHECK_FALSE(parse_command_line(cut("srun --jobid 8 ./a"), around));
  CHECK(error_of("srun --jobid 8 ./a").find("not started in Slurm job 8") != std::string::npos);
}

TEST_CASE("Open MPI's links are rails", "[cli]") {
  for (const auto& [links, rails] : {std::pair{"1", "0"}, {"4", "4"}}) {
    const auto job = parse(std::string("mpirun --mca btl_tcp_links ") + links + " a");
    CHECK(*change(job->apps[0], "TUTTI_TCP_RAILS")->value == rails);
  }
  CHECK(error_of("mpirun --mca btl_tcp_links 0 a").find("1 or more") != std::string::npos);
}

TEST_CASE("every launcher's word for interfaces is the one knob", "[cli]") {
  for (const char* line :
       {"prun --interfaces eth0 a", "mpiexec.hydra -iface eth0 a",
        "mpirun --mca btl_tcp_if_include eth0 a", "mpirun --mca oob_tcp_if_include eth0 a",
        "prun --prtemca prte_if_include eth0 a"}) {
    INFO(line);
    const auto job = parse(line);
    REQUIRE(job);
    REQUIRE(change(job->apps[0], "TUTTI_INTERFACES") != nullptr);
    CHECK(*change(job->apps[0], "TUTTI_INTERFACES")->value == "eth0");
    CHECK(job->notes.empty());
  }
  const auto without = parse("mpirun --mca btl_tcp_if_exclude lo,docker0 a");
  CHECK(*change(without->apps[0], "TUTTI_INTERFACES")->value == "^lo,docker0");
  CHECK(error_of("prun --interfaces eth0,^lo a").find("no list of interfaces") !=
        std::string::npos);
  CommandLineContext around;
  std::map<std::string, std::string> set{{"GLOO_SOCKET_IFNAME", "eth1"}};
  around.variable = [&set](const std::string& name) {
    const auto found = set.find(name);
    return found == set.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  const auto taken = [&] {
    const auto job = parse_command_line(cut("prun a"), around);
    const EnvChange* one = job ? change(job->apps[0], "TUTTI_INTERFACES") : nullptr;
    return one == nullptr ? std::string() : *one->value;
  };
  CHECK(taken() == "eth1");
  set["NCCL_SOCKET_IFNAME"] = "eth2";
  CHECK(taken() == "eth2");
  set["FI_TCP_IFACE"] = "eth3";
  CHECK(taken() == "eth3");
  set["OMPI_MCA_btl_tcp_if_include"] = "eth4";
  CHECK(taken() == "eth4");
  set["TUTTI_INTERFACES"] = "eth5";
  CHECK(taken().empty());
}

TEST_CASE("what only the launcher can say stays as it is, and one line says so", "[cli]") {
  const auto job = parse(
      "prun -x TUTTI_LOCAL_RANK=0 -genv TUTTI_JOB_ID 7 -x A=1 --unset-env TUTTI_CONTROL_FD a");
  REQUIRE(job);
  REQUIRE(job->apps[0].environment.size() == 1);
  CHECK(job->apps[0].environment[0].name == "A");
  REQUIRE(job->notes.size() == 1);
  CHECK(job->notes[0].find("TUTTI_LOCAL_RANK, TUTTI_JOB_ID, TUTTI_CONTROL_FD") !=
        std::string::npos);
}

TEST_CASE("the environment of a program can be cleared and added to", "[cli]") {
  const auto job =
      parse("prun -envnone --append-env P[;] x --prepend-env Q y -path /bin ./a : ./b");
  REQUIRE(job);
  CHECK(job->apps[0].clean_environment);
  CHECK_FALSE(job->apps[1].clean_environment);
  CHECK(change(job->apps[0], "P")->join == ';');
  CHECK(change(job->apps[0], "Q")->in_front);
  CHECK(*change(job->apps[0], "PATH")->value == "/bin");
  CHECK(parse("prun -genvnone ./a : ./b")->apps[1].clean_environment);
  CHECK(parse("srun --export=NONE ./a")->apps[0].clean_environment);
  CHECK(parse("srun --export=A,B=1 ./a")->apps[0].clean_environment);
  CHECK(parse("srun --export=A,B=1 ./a")->apps[0].environment.size() == 2);
  CHECK_FALSE(parse("srun --export=B=1,ALL ./a")->apps[0].clean_environment);
}

TEST_CASE("the whole environment goes along where a word or the launcher's name says so", "[cli]") {
  CHECK(parse("prun -genvall ./a")->whole_environment);
  CHECK(parse("prun -n 1 ./a : -n 1 -envall ./b")->whole_environment);
  CHECK(parse("prun --export=ALL ./a")->whole_environment);
  CHECK_FALSE(parse("prun --export=A ./a")->whole_environment);
  CHECK_FALSE(parse("mpirun -x A ./a")->whole_environment);
  CHECK(parse("mpiexec.hydra ./a")->whole_environment);
  CHECK_FALSE(parse("mpiexec.hydra -genvlist A ./a")->whole_environment);
  CHECK(parse("mpiexec.hydra -genvlist A -envall ./a")->whole_environment);
  CHECK(parse("srun ./a")->whole_environment);
  CHECK_FALSE(parse("srun --export=NONE ./a")->whole_environment);
}

TEST_CASE("programs and parameters come from files", "[cli]") {
  const auto read = [](const std::string& path) -> tutti::Result<std::string> {
    if (path == "apps") return std::string("# two programs\n-n 2 ./a 'x y'\n\n-n 1 ./b\n");
    if (path == "multi") return std::string("0-1 ./a one\n2 ./b # last\n");
    if (path == "twice") return std::string("0-1 ./a\n1 ./b\n");
    if (path == "mixed") return std::string("2 ./b %o\n* ./a %t:%o '%n x' %3t %h\n");
    if (path == "gap") return std::string("0 ./a\n2 ./b\n");
    if (path == "tune")
      return std::string(
          "rmaps_base_oversubscribe = 1\n-x A=1 -mca plm_rsh_agent rsh\n"
          "tutti_costs = tcp=7:3,fold=4\n");
    return tutti::fail(tutti::Code::arg, "cannot read " + path);
  };
  const CommandLineContext around{read, {}, {}, {}};
  auto job = parse_command_line(cut("prun --app apps"), around);
  REQUIRE(job);
  REQUIRE(job->apps.size() == 2);
  CHECK(job->apps[0].argv == std::vector<std::string>{"./a", "x y"});
  CHECK(job->apps[1].ranks == 1);
  job = parse_command_line(cut("srun --multi-prog multi"), around);
  REQUIRE(job);
  CHECK(job->apps[0].ranks == 2);
  CHECK(job->apps[1].argv == std::vector<std::string>{"./b"});
  CHECK(job->apps[1].fills_words);
  const auto said = [&](const std::string& line) {
    const auto tried = parse_command_line(cut(line), around);
    return tried ? "no error" : tried.error().text;
  };
  CHECK(said("srun --multi-prog gap").find("no program for rank 1 of 3") != std::string::npos);
  CHECK(said("srun -n4 --multi-prog multi").find("rank 3 of 4") != std::string::npos);
  CHECK(said("srun -n2 --multi-prog multi").find("multi:2: rank 2, but") != std::string::npos);
  CHECK(said("srun --multi-prog twice").find("a second time") != std::string::npos);
  job = parse_command_line(cut("srun -n5 -D /x --multi-prog mixed"), around);
  REQUIRE(job);
  REQUIRE(job->apps.size() == 3);
  const std::vector<int> counts{job->apps[0].ranks, job->apps[1].ranks, job->apps[2].ranks};
  CHECK(counts == std::vector<int>{2, 1, 2});
  CHECK(job->apps[2].argv == std::vector<std::string>{"./a", "%r:%o", "%n x", "%3r", "%%h"});
  CHECK(job->apps[2].first_offset == 2);
  CHECK(job->apps[1].argv == cut("./b %o"));
  CHECK(job->apps[2].working_directory == "/x");
  job = parse_command_line(cut("mpirun --tune tune ./a"), around);
  REQUIRE(job);
  CHECK(job->placement.oversubscribe);
  CHECK(job->launch_agent == "rsh");
  CHECK(job->rank.costs.starts_with("tcp=7:3:3,"));
  CHECK(job->rank.costs.find(",fold=4,") != std::string::npos);
  CHECK_FALSE(parse_command_line(cut("prun --rankfile none ./a"), around));
}

TEST_CASE("one table of costs goes to all ranks", "[cli]") {
  CommandLineContext around;
  around.variable = [](const std::string& name) -> std::optional<std::string> {
    if (name != "TUTTI_COSTS") return std::nullopt;
    return "tcp=9:1";
  };
  const auto costs = [&](const std::string& line) {
    const auto job = parse_command_line(cut(line), around);
    return job ? job->rank.costs : job.error().text;
  };
  CHECK(costs("prun ./a").starts_with("tcp=9:1:1,rdma="));
  CHECK(costs("prun -x TUTTI_COSTS=tcp=7:3 ./a").starts_with("tcp=7:3:3,rdma="));
  CHECK(costs("prun ./a : -x TUTTI_COSTS=tcp=7:3 ./b").starts_with("tcp=7:3:3,rdma="));
  CHECK(costs("prun -x TUTTI_COSTS=tcp=7:3 ./a : -x TUTTI_COSTS=tcp=8:3 ./b")
            .find("TUTTI_COSTS differs between programs") != std::string::npos);
  CHECK(costs("prun --mca tutti_costs tcp=fast ./a").find("'tcp=fast'") != std::string::npos);
}

TEST_CASE("output goes where it is told", "[cli]") {
  using Tag = spec::OutputTag;
  CHECK(parse("prun --tag-output a")->output.tag == Tag::tag);
  CHECK(parse("mpiexec -l a")->output.tag == Tag::label);
  CHECK(parse("prun --output json,fold,dir=x a")->output.directory == "x");
  CHECK(parse("prun --output-filename x:copy a")->output.copy);
  CHECK(parse("prun --output-filename x a")->output.copy);
  CHECK_FALSE(parse("prun --output-filename x:nocopy a")->output.copy);
  CHECK_FALSE(parse("prun --output-directory x a")->output.copy);
  CHECK(parse("prun --output DIR=x:copy a")->output.directory == "x");
  CHECK(parse("prun --output DIR=x:copy a")->output.copy);
  CHECK(parse("prun --output TAG-D a")->output.tag == Tag::detailed);
  CHECK(parse("prun --output MERGE,Timestamp a")->output.merge_stderr);
  CHECK(error_of("prun --output T a").find("is not known") != std::string::npos);
  CHECK(error_of("prun --output dir a").find("dir=FOLDER") != std::string::npos);
  CHECK(parse("srun -o out.%t a")->output.out_file == "out.%r");
  CHECK(parse("srun -o out.%t a")->output.merge_stderr);
  CHECK(parse("srun --output=out.%N.%j a")->output.out_file == "out.%h.%j");
  CHECK(parse("srun -e e.%3t.%n.%J.%%.%l.% a")->output.err_file == "e.%3r.%n.%j.0.%%.%%l.%");
  CHECK(parse("prun -outfile-pattern o.%r a")->output.out_file == "o.%r");
  CHECK(parse("prun -output-from 0,2-3 a")->output.only_ranks == std::vector<int>{0, 2, 3});
  CHECK(error_of("prun --output tagg a").find("is not known") != std::string::npos);
  CHECK(error_of("prun --redirects 4 a").find("needs 0 to 3") != std::string::npos);
}

TEST_CASE("what is refused names the option and what to do instead", "[cli]") {
  CHECK(error_of("srun --begin=now a") ==
        "--begin is not supported: prun starts at once; sbatch --begin submits a job for later");
  CHECK(error_of("mpirun -index-argv-by-rank a").find("RANK") != std::string::npos);
  CHECK(parse("srun -I5 a")->apps[0].argv == cut("a"));
  CHECK(parse("srun -x b a")->placement.excluded == cut("b"));
  CHECK(parse("mpirun -d a")->apps[0].argv == cut("a"));
}

TEST_CASE("a bare name that is not in PATH is a program of the working folder", "[cli]") {
  CommandLineContext around;
  around.is_in_path = [](const std::string& name) { return name == "true"; };
  around.is_program = [](const std::string& path) {
    return path == "./app" || path == "./true" || path == "sub/other";
  };
  const auto program = [&](const std::string& line) {
    return parse_command_line(cut(line), around).value().apps[0].argv[0];
  };
  CHECK(program("mpirun app") == "./app");
  CHECK(program("prun -wdir sub other") == "./other");
  CHECK(program("prun other") == "other");
  CHECK(program("prun true") == "true");
  CHECK(program("prun -x PATH=/x app") == "app");
  CHECK(program("mpiexec app") == "app");
  CHECK(program("srun app") == "app");
  CHECK(parse_command_line(cut("mpirun app"), around)->notes ==
        std::vector<std::string>{"app is not in PATH: ./app of the working folder is started"});
}
