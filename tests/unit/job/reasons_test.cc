// Statuses and sentences for ranks that end.
#include "job/reasons.h"

#include <sys/wait.h>

#include <csignal>

#include "catch.h"
#include "job/states.h"
#include "status/status.h"
#include "watch/watch.h"

namespace tutti::launch::job {
namespace {

TEST_CASE("a rank's own status is the job's", "[job]") {
  control::RankEnded report;
  report.rank = 1;
  report.wait_status = 3 << 8;
  CHECK(judge(report, "b").status == 3);
  CHECK(judge(report, "b").line == "rank 1 on host b ended with status 3");
  report.wait_status = 0;
  CHECK(judge(report, "b").status == 0);
}

TEST_CASE("a signal is 128 more, and named", "[job]") {
  control::RankEnded report;
  report.wait_status = SIGSEGV;
  const RankVerdict verdict = judge(report, "b");
  CHECK(verdict.status == 139);
  CHECK(verdict.line == "rank 0 on host b was killed by signal 11 (Segmentation fault)");
}

TEST_CASE("who is killed in an MPI program is told with its call and its GPUs", "[job]") {
  control::RankEnded report;
  report.wait_status = SIGKILL;
  const std::string killed = "rank 0 on host b was killed by signal 9 (Killed)";
  const auto line = [&] { return judge(report, "b").line; };
  report.function = 1;
  CHECK(line() == killed);  // nobody knows where
  report.is_placed = true;
  const std::string name = watch::function_name(0);
  CHECK(name.starts_with("MPI"));
  CHECK(line() == killed + " in " + name);
  report.gpus = 1;
  CHECK(line() == killed + " in " + name + ", having used its GPU 0");
  report.gpus = std::uint64_t{1} << 63 | 1 << 5;
  CHECK(line() == killed + " in " + name + ", having used its GPU 5, 63");
  report.gpus = 0;
  report.function = 0;
  CHECK(line() == killed + " outside MPI");
  report.wait_status |= WCOREFLAG;
  CHECK(line() == killed + " outside MPI, core dumped");
  report.function = 1 << 30;  // of a build that has other functions
  CHECK(line() == killed + " in ?, core dumped");
}

TEST_CASE("leaving between init and finalize is a failure", "[job]") {
  control::RankEnded report;
  report.joined = true;
  CHECK(judge(report, "b").status == status::of(status::ExitStatus::not_finalized));
  report.finalized = true;
  CHECK(judge(report, "b").status == 0);
}

TEST_CASE("who ends with status 0 and never joined may be missed", "[job]") {
  control::RankEnded report;
  report.rank = 2;
  REQUIRE(absence(report, "b"));
  CHECK(absence(report, "b")->status == status::of(status::ExitStatus::not_finalized));
  CHECK(absence(report, "b")->line == "rank 2 on host b ended with status 0 and without MPI_Init");
  report.joined = report.finalized = true;
  CHECK_FALSE(absence(report, "b"));
  report.joined = report.finalized = false;
  report.wait_status = 3 << 8;
  CHECK_FALSE(absence(report, "b"));
}

TEST_CASE("a program that was not started names host and reason", "[job]") {
  control::RankEnded report;
  report.launch_status = 127;
  report.reason = "no program x";
  CHECK(judge(report, "b").status == 127);
  CHECK(judge(report, "b").line == "host b: no program x");
  report.launch_status = 256;  // of a node that may be anybody's
  CHECK(judge(report, "b").status == 1);
}

TEST_CASE("an abort keeps its status where the kernel can, and never becomes 0", "[job]") {
  CHECK(judge(control::RankAborts{2, 5, "", false}, "b").status == 5);
  CHECK(judge(control::RankAborts{2, 256, "", false}, "b").status == 1);
  CHECK(judge(control::RankAborts{2, 256, "", false}, "b").line ==
        "rank 2 on host b ended the job with status 1");
  CHECK(judge(control::RankAborts{2, 5, "no room", false}, "b").line.find("no room") !=
        std::string::npos);
}

TEST_CASE("a stack that was shown is not shown again", "[job]") {
  const std::string tail =
      "step 7\n\nrank 1 on host b dies by signal 11 (Segmentation fault) at address 0x0, outside "
      "MPI\nthe stack of rank 1 on host b, ...:\n    dig+0x1 (./app+0x10) 7 times\n    main+0x1f "
      "(./app+0x11c8)\n    "
      "(/lib/libc.so.6+0x2724a)\n    0x0\n    addr2line -e FILE +ADDRESS names lines\n    if that "
      "is GPU memory: this "
      "process takes none\n";
  CHECK(last_lines(tail, false) == "; it wrote last:\n    step 7");
  CHECK(last_lines(tail.substr(8), false).empty());
  CHECK(last_lines(tail, true)
            .ends_with(
                "\n        (/lib/libc.so.6+0x2724a)\n        0x0\n        addr2line -e FILE "
                "+ADDRESS names lines\n        if that is GPU memory: this process takes none"));
}

TEST_CASE("the table of states is in the order of its enumeration", "[job]") {
  for (std::size_t i = 0; i < kStates.size(); ++i)
    CHECK(static_cast<std::size_t>(kStates[i].state) == i);
}

}  // namespace
}  // namespace tutti::launch::job
