// Options, programs, and what is said about command lines that are wrong.
#include "parse.h"

#include "catch.h"

using namespace tutti::launch;  // NOLINT(google-build-using-namespace): a test of one namespace
using namespace tutti::launch::cli;  // NOLINT(google-build-using-namespace): a test of one
                                     // namespace

namespace {

template <class T>
T asked(const std::string& line) {
  const auto job = parse(line);
  REQUIRE(job);
  const T* command = std::get_if<T>(&job->command);
  REQUIRE(command != nullptr);
  return *command;
}

}  // namespace

TEST_CASE("options stop at the first word of the program", "[cli]") {
  const auto job = parse("prun -np 4 ./app -np 7 --hostfile x -- : -n 2 ./b -x");
  REQUIRE(job);
  REQUIRE(job->apps.size() == 2);
  CHECK(job->apps[0].ranks == 4);
  CHECK(job->apps[0].argv == cut("./app -np 7 --hostfile x --"));
  CHECK(job->apps[1].ranks == 2);
  CHECK(job->apps[1].argv == cut("./b -x"));
  CHECK(job->apps[0].hostfiles.empty());
}

TEST_CASE("two dashes alone end the options", "[cli]") {
  const auto job = parse("prun -np 2 -- -odd-name 1");
  REQUIRE(job);
  CHECK(job->apps[0].argv == cut("-odd-name 1"));
}

TEST_CASE("one dash or two, dash or underscore, space or equals sign are the same", "[cli]") {
  for (const char* line : {"prun -report-bindings -np 3 a", "prun --report_bindings --np 3 a",
                           "prun -report_bindings --np=3 a", "prun --report-bindings -np=3 a",
                           "prun -report-bindings -n3 a"}) {
    INFO(line);
    const auto job = parse(line);
    REQUIRE(job);
    CHECK(job->report_bindings);
    CHECK(job->apps[0].ranks == 3);
  }
}

TEST_CASE("an unknown option is named with the nearest known one", "[cli]") {
  CHECK(error_of("prun --hostfiel x ./a") == "unknown option --hostfiel; did you mean --hostfile?");
  CHECK(error_of("prun -bindto core ./a").find("--bind-to") != std::string::npos);
  CHECK(error_of("/usr/bin/mpirun --qqqqqqqqqq ./a") ==
        "unknown option --qqqqqqqqqq; 'mpirun --help=all' lists all");
}

TEST_CASE("kinds of memory may be unknown, but not misspelt", "[cli]") {
  const auto refusal = [](const std::string& kind, const std::string& near) {
    return "--memory-alloc-kinds: '" + kind + "' is no kind of memory; did you mean " + near + "?";
  };
  for (const char* list :
       {"system,mpi:alloc_mem", "cuda:device:host", "other,other:kind", "rocm", "musa:device", "x"})
    CHECK(parse(std::string("prun --memory-alloc-kinds ") + list + " a"));
  CHECK(error_of("prun --memory-alloc-kinds mpi,cuda:devise a") ==
        refusal("cuda:devise", "device"));
  CHECK(error_of("prun --memory-alloc-kinds cuba a") == refusal("cuba", "cuda"));
  CHECK(error_of("prun --memory-alloc-kinds romc a") == refusal("romc", "rocm"));
}

TEST_CASE("numbers that are none are refused with their option", "[cli]") {
  for (const char* line : {"prun -np 0 a", "prun -np -3 a", "prun -np x a", "prun -np 4x a",
                           "prun -N 0 a", "prun -np 99999999999 a", "prun --np= a"}) {
    INFO(line);
    CHECK(error_of(line).find("needs a whole number") != std::string::npos);
  }
  for (const char* line : {"prun -np 1048577 a", "prun -N 16777216 a", "prun --usize 16777216 a"})
    CHECK(error_of(line).find("from 1 to 1048576") != std::string::npos);
  CHECK(error_of("prun --gpus-per-rank 1025 a").find("from 1 to 1024") != std::string::npos);
  CHECK(parse("prun --gpus-per-rank 1024 a"));
  for (const char* time : {"99999999999999999", "9223372036854775807-0"})
    CHECK(error_of(std::string("srun --time ") + time + " a") ==
          std::string("--time ") + time +
              " is more than 1000000000 seconds; UNLIMITED sets no limit");
  CHECK(error_of("srun --time soon a").find("needs minutes") != std::string::npos);
  for (const char* seconds : {"1e-12", "1e10", "-1", "5s"})
    CHECK(error_of(std::string("prun --timeout ") + seconds + " a").find("needs seconds") !=
          std::string::npos);
  for (const char* rate : {"10gbit", "1.5Mbit", "1000000", "2GBps"})
    CHECK(parse(std::string("prun --link-rate ") + rate + " a"));
  for (const char* rate : {"0", "-1gbit", "99999999999999gbit", "fast", "10gib", "nan"})
    CHECK(error_of(std::string("prun --link-rate ") + rate + " a").find("needs a rate") !=
          std::string::npos);
  for (const char* delay : {"50us", "2ms", "0", "0.5s", "10"})
    CHECK(parse(std::string("prun --link-delay ") + delay + " a"));
  for (const char* delay : {"-5us", "99999999999s", "5m", "us"})
    CHECK(error_of(std::string("prun --link-delay ") + delay + " a").find("needs a time") !=
          std::string::npos);
  CHECK(error_of("prun --timeout soon a").find("needs seconds") != std::string::npos);
  CHECK(error_of("prun --timeout nan a").find("needs seconds") != std::string::npos);
  CHECK(error_of("prun --stdin some a").find("all, none or ranks") != std::string::npos);
}

TEST_CASE("missing words are asked for", "[cli]") {
  CHECK(error_of("prun") == "no program to run; 'prun --help' shows how");
  CHECK(error_of("prun -np 4") == "no program to run; 'prun --help' shows how");
  CHECK(error_of("prun -np") == "-np needs N after it");
  CHECK(error_of("prun a --mca x") == "no error");
  CHECK(error_of("prun --mca btl") == "--mca needs NAME VALUE after it");
  CHECK(error_of("prun a : : b").find("no program beside ':'") == 0);
  CHECK(error_of("prun : b").find("no program beside ':'") == 0);
  CHECK(error_of("prun --oversubscribe=1 a").find("takes no value") != std::string::npos);
}

TEST_CASE("settings land where they belong", "[cli]") {
  const auto job = parse(
      "prun --virtual --link-rate 10gbit --link-delay=50us --timeout 2.5 --stdin 0,2 --tag-output "
      "-l "
      "--timestamp-output --merge-stderr-to-stdout --output-directory out --report-links --dry-run "
      "--display map,allocation -v --launch-agent ssh2 -np 1 a");
  REQUIRE(job);
  CHECK(job->starter == Starter::virtual_hosts);
  CHECK(job->virtual_rate == "10gbit");
  CHECK(job->virtual_delay == "50us");
  CHECK(job->timeout_s == Approx(2.5));
  CHECK(job->stdin_to == std::vector<std::string>{"0", "2"});
  CHECK(job->output.tag == spec::OutputTag::label);
  CHECK(job->output.timestamps);
  CHECK(job->output.merge_stderr);
  CHECK(job->output.directory == "out");
  CHECK(job->rank.report_links);
  CHECK(job->dry_run);
  CHECK(job->display_map);
  CHECK(job->display_allocation);
  CHECK(job->verbose);
  CHECK(job->launch_agent == "ssh2");
  CHECK(job->notes.empty());
}

TEST_CASE("a launch agent may bring arguments", "[cli]") {
  const auto job = parse_command_line({"prun", "--launch-agent", "ssh -p 2222", "a"});
  REQUIRE(job);
  CHECK(job->launch_agent == "ssh");
  CHECK(job->agent_args == std::vector<std::string>{"-p", "2222"});
}

TEST_CASE("hosts belong to their program and are collected for the allocation", "[cli]") {
  const auto job = parse("prun -np 1 -H a ./x : -np 1 -H b:2 --hostfile f ./y");
  REQUIRE(job);
  CHECK(job->apps[0].hosts == std::vector<std::string>{"a"});
  CHECK(job->apps[1].hosts == std::vector<std::string>{"b:2"});
  CHECK(hosts_of(*job) == std::vector<std::string>{"a", "b:2"});
  CHECK(hostfiles_of(*job) == std::vector<std::string>{"f"});
}

TEST_CASE("help and version need no program", "[cli]") {
  CHECK(asked<PrintHelp>("prun --help").topic.empty());
  CHECK(asked<PrintHelp>("prun -h").topic.empty());
  CHECK(asked<PrintHelp>("prun --help=exit").topic == "exit");
  CHECK(asked<PrintHelp>("prun --help exit").topic == "exit");
  asked<PrintVersion>("prun -np 4 --version");
  asked<CheckHosts>("prun --check -H a,b");
  asked<ListJobs>("prun --ps");
  asked<RunJob>("prun -np 4 ./app");
  CHECK(asked<JoinJob>("prun --join a:4711").where == "a:4711");
  CHECK(asked<PrintPage>("prun --print-page man").page == "man");
  CHECK(asked<PrintStacks>("prun --stacks").job.empty());
  CHECK(asked<PrintStacks>("prun --stacks 4711").job == "4711");
  CHECK(asked<PrintStacks>("prun --stacks=4711").job == "4711");
  CHECK(asked<AttachDebugger>("prun --gdb 3@4711").rank == 3);
  CHECK(asked<AttachDebugger>("prun --gdb 3@4711").job == "4711");
  CHECK(asked<AttachDebugger>("prun --gdb 3").job.empty());
  for (const char* line :
       {"prun --gdb x", "prun --gdb -1", "prun --gdb 99999999999@1", "prun --gdb @1"})
    CHECK_FALSE(parse(line));
  CHECK(parse("prun --check -H a,b")->apps[0].hosts == std::vector<std::string>{"a,b"});
}

TEST_CASE("a time limit of 0 is none, and stands above the environment's", "[cli]") {
  CommandLineContext around;
  std::string limit = "5";
  around.variable = [&limit](const std::string& name) {
    return name == "MPIEXEC_TIMEOUT" ? std::optional<std::string>(limit) : std::nullopt;
  };
  const auto limit_of = [&around](const char* line) {
    return parse_command_line(cut(line), around)->timeout_s;
  };
  CHECK(limit_of("prun a") == 5);
  CHECK(limit_of("prun --timeout 7 a") == 7);
  CHECK(limit_of("prun --timeout 0 a") == 0);
  CHECK(limit_of("srun -t UNLIMITED a") == 0);
  limit = "0";
  CHECK(limit_of("prun a") == 0);
}
