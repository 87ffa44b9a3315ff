// Spellings that users of other launchers try: what they stand for, or the line that says why not.
#include "catch.h"
#include "parse.h"

using namespace tutti::launch;  // NOLINT(google-build-using-namespace): a test of one namespace
using namespace tutti::launch::cli;  // NOLINT(google-build-using-namespace): a test of one
                                     // namespace

TEST_CASE("an option that wants a value does not take the next option for it", "[cli]") {
  const auto said = [](const std::string& line) {
    const auto job = parse(line);
    return job ? std::string("taken") : job.error().text;
  };
  CHECK(said("srun -o -n4 ./a") ==
        "-o needs FILE after it, not -n4; write -o=-n4 if that is meant");
  CHECK(said("srun -J -N2 -n4 ./a").starts_with("-J needs NAME after it, not -N2"));
  CHECK(said("mpirun -x -np 4 ./a").starts_with("-x needs NAME[=VALUE] after it, not -np"));
  CHECK(said("mpirun --host --map-by slot ./a").starts_with("--host needs HOSTS after it"));
  CHECK(said("prun --outfile --np=2 ./a").find("not --np=2") != std::string::npos);
  for (const char* line :
       {"prun --outfile=-n ./a", "prun --report-pid - ./a", "prun --mca a -1 ./a",
        "prun -env A -n ./a", "mpiexec -launcher-exec -n ./a", "mpirun --prepend-pattern -v ./a",
        "srun -o -4 ./a"})
    CHECK(said(line) == "taken");
}

TEST_CASE("PRRTE's runtime options stand for ours", "[cli]") {
  auto job = parse(
      "mpirun --runtime-options error-nonzero-status=0,max-restarts=2,timeout=5,show-progress ./a");
  REQUIRE(job);
  CHECK(job->keep_going);
  CHECK(job->rank.max_restarts == 2);
  CHECK(job->timeout_s == 5);
  CHECK(job->notes ==
        std::vector<std::string>{"without effect here: --runtime-options show-progress"});
  CHECK_FALSE(parse("mpirun --runtime-options error-nonzero-status,continuous=f ./a")->keep_going);
  CHECK(parse("mpirun --runtime-options donot,contin ./a")->dry_run);
  job = parse("mpirun --runtime-options timeout=soon ./a");
  REQUIRE_FALSE(job);
  CHECK(job.error().text.starts_with("--runtime-options timeout needs seconds"));
}

TEST_CASE("words of srun's --mpi, --cpu-bind and --gpus-per-task", "[cli]") {
  auto job = parse("srun --mpi=list");
  REQUIRE_FALSE(job);
  CHECK(job.error().text ==
        "--mpi=list: there is nothing to choose: ranks of any MPI find each other; leave it out");
  CHECK(parse("srun --mpi=pmix ./a")->notes[0] == "without effect here: --mpi");
  CHECK(parse("srun --cpu-bind=verbose ./a")->report_bindings);
  CHECK(parse("srun --cpu-bind=v,cores ./a")->placement.bind_to == BindTo::core);
  CHECK(parse("srun --cpu-bind=quiet ./a")->placement.bind_to == BindTo::unset);
  CHECK_FALSE(parse("srun --cpu-bind= ./a"));
  job = parse("srun --gpus-per-task=h100:2 ./a");
  REQUIRE(job);
  CHECK(job->placement.gpus_per_rank == 2);
  CHECK(job->notes[0] == "without effect here: --gpus-per-task h100");
  CHECK(parse("srun --gpus-per-task=3 ./a")->placement.gpus_per_rank == 3);
  for (const char* word : {"h100:", "h100:x", "mpirun", "a:0"})
    CHECK_FALSE(parse("srun --gpus-per-task=" + std::string(word) + " ./a"));
  CHECK_FALSE(parse("mpirun --gpus-per-task=h100:2 ./a"));
}

TEST_CASE("a line of a file goes on behind a backslash, a comment does not", "[cli]") {
  std::string text;
  const CommandLineContext around{[&](const std::string&) { return text; }, {}, {}, {}};
  const auto programs = [&](const std::string& written) -> std::vector<std::string> {
    text = written;
    const auto job = parse_command_line(cut("mpiexec -configfile f"), around);
    if (!job) return {job.error().text};
    std::vector<std::string> all;
    for (const AppSpec& app : job->apps) {
      std::string line = std::to_string(app.ranks);
      for (const std::string& word : app.argv) line += "|" + word;
      all.push_back(std::move(line));
    }
    return all;
  };
  using All = std::vector<std::string>;
  CHECK(programs("-n 2 \\\n  ./a x\\\ny\n-n 1 ./b\n") == All{"2|./a|xy", "1|./b"});
  CHECK(programs("-n 2 \\\r\n./a\r\n") == All{"2|./a"});
  CHECK(programs("# two \\\n-n 2 ./a # one \\\n-n 1 ./b\n") == All{"2|./a", "1|./b"});
  CHECK(programs("-n 1 ./a \"b \\\nc\" d\\e '\\'\n") == All{"1|./a|b c|d\\e|\\"});
  CHECK(programs("-n 1 ./a '\\\n'\n") == All{"f:1: a quote is not closed"});
  CHECK(programs("-n 1 \\\n./a\n-n 1 'b\n") == All{"f:3: a quote is not closed"});
  const std::string last = "ends in '\\', which joins the next line, and there is none";
  for (const std::string end : {"", "\n", "\r\n"})
    CHECK(programs("-n 1 ./a\n-n 2 ./b \\" + end) == All{"f:2: " + last});
}
