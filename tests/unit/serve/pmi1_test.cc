// The server of PMI version 1, asked over real sockets.
#include <sys/socket.h>
#include <unistd.h>

#include "catch.h"
#include "serve/serve.h"

using namespace tutti;
using namespace tutti::launch;
using namespace tutti::launch::serve;

namespace {

// Two ranks of a job of three; what the server reports is kept.
struct Bench {
  control::Loop loop;
  std::vector<int> joined, finalized;
  std::vector<control::Gather> gathers;
  std::string aborted;
  int notes = 0;
  std::unique_ptr<Server> server;
  UniqueFd rank[2];

  Bench() {
    ServedJob job;
    job.job_id = 7;
    job.hosts = {"a", "b"};
    job.host_of = {0, 0, 1};
    job.app_of = {0, 1, 1};
    job.local = {0, 1};
    job.universe = 5;
    ServeReports reports;
    reports.joined = [this](int one) { joined.push_back(one); };
    reports.finalized = [this](int one) { finalized.push_back(one); };
    reports.aborts = [this](int one, int status, const std::string&) {
      aborted = std::to_string(one) + " " + std::to_string(status);
    };
    reports.gather = [this](const control::Gather& part) { gathers.push_back(part); };
    reports.note = [this](const std::string&) { ++notes; };
    server = serve_pmi1(loop, job, reports, 99);
    for (int local : {0, 1}) {
      auto outfit = server->outfit(local);
      REQUIRE(outfit.has_value());
      CHECK(outfit->variables.at(0) == "PMI_FD=99");
      rank[local] = std::move(outfit->fd);
    }
  }
  void run(int ms = 50) {
    loop.after(std::chrono::milliseconds(ms), [this] { loop.stop(); });
    loop.run();
  }
  std::string said(int local) {
    char buffer[512];
    const ssize_t got = ::recv(rank[local].get(), buffer, sizeof buffer, MSG_DONTWAIT);
    return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : "";
  }
  std::string ask(int local, const std::string& line) {
    REQUIRE(::write(rank[local].get(), line.data(), line.size()) > 0);
    run();
    return said(local);
  }
};

}  // namespace

TEST_CASE("what a rank asks about its job is answered", "[serve]") {
  Bench bench;
  CHECK(bench.ask(0, "cmd=init pmi_version=1 pmi_subversion=1\n") ==
        "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n");
  CHECK(bench.joined == std::vector{0});
  CHECK(bench.ask(1, "cmd=get_appnum\n") == "cmd=appnum rc=0 appnum=1\n");
  CHECK(bench.ask(1, "cmd=get_universe_size\n") == "cmd=universe_size rc=0 size=5\n");
  CHECK(bench.ask(1, "cmd=get kvsname=x key=PMI_process_mapping\n") ==
        "cmd=get_result rc=0 msg=success value=(vector,(0,1,2),(1,1,1))\n");
  CHECK(bench.ask(0, "cmd=finalize\n") == "cmd=finalize_ack rc=0\n");
  CHECK(bench.finalized == std::vector{0});
  CHECK(bench.ask(1, "cmd=dance\n") == "cmd=dance_result rc=-1 msg=not_supported\n");
  bench.ask(1, "cmd=abort exitcode=9\n");
  CHECK(bench.aborted == "1 9");
}

TEST_CASE("a barrier waits for all ranks here and all hosts", "[serve]") {
  Bench bench;
  CHECK(bench.ask(0, "cmd=put kvsname=x key=k value=v w\n") == "cmd=put_result rc=0 msg=success\n");
  CHECK(bench.ask(0, "cmd=barrier_in\n").empty());
  CHECK(bench.gathers.empty());
  CHECK(bench.ask(1, "cmd=barrier_in\n").empty());
  CHECK(bench.ask(1, "cmd=barrier_in\ncmd=barrier_in\n").empty());  // it waits already
  REQUIRE(bench.gathers.size() == 1);
  std::string theirs = "key of b";
  theirs += '\0';
  theirs += "far";
  theirs += '\0';
  bench.server->hear(control::Gathered{"another", {}});
  CHECK(bench.said(0).empty());
  bench.server->hear(control::Gathered{bench.gathers[0].name, {bench.gathers[0].part, theirs}});
  CHECK(bench.said(0) == "cmd=barrier_out rc=0\n");
  CHECK(bench.said(1) == "cmd=barrier_out rc=0\n");
  CHECK(bench.ask(1, "cmd=get kvsname=x key=k\n") == "cmd=get_result rc=0 msg=success value=v w\n");
  CHECK(bench.ask(1, "cmd=get kvsname=x key=none\n").starts_with("cmd=get_result rc=-1"));
}

TEST_CASE("a rank that asks for ever is told of some times, and answered each time", "[serve]") {
  Bench bench;
  for (int i = 0; i < 12; ++i)
    CHECK(bench.ask(0, "cmd=dance\n") == "cmd=dance_result rc=-1 msg=not_supported\n");
  CHECK(bench.notes == 8);
  bench.ask(1, "cmd=dance\n");
  CHECK(bench.notes == 9);  // the other one is told of, too
}

TEST_CASE("a rank that puts without end is refused at last, and others are not", "[serve]") {
  Bench bench;
  const std::string value(512U << 10, 'v');
  const auto put = [&](int local, int number) {
    const std::string key = "k" + std::to_string(number);
    const std::string line = "cmd=put kvsname=x key=" + key + " value=" + value + "\n";
    for (std::size_t at = 0; at < line.size();) {
      const ssize_t sent =
          ::send(bench.rank[local].get(), line.data() + at, line.size() - at, MSG_DONTWAIT);
      if (sent > 0) at += static_cast<std::size_t>(sent);
      bench.run(1);
    }
    std::string answer;
    for (int i = 0; i < 10000 && answer.empty(); ++i) {
      bench.run(1);
      answer = bench.said(local);
    }
    return answer;
  };
  int taken = 0;
  while (taken < 64 && put(0, taken) == "cmd=put_result rc=0 msg=success\n") ++taken;
  CHECK(taken == 31);
  CHECK(bench.notes == 1);
  CHECK(put(1, 0) == "cmd=put_result rc=0 msg=success\n");
}

TEST_CASE("a status that no program ends with is not cut to another", "[serve]") {
  Bench bench;
  bench.ask(0, "cmd=abort exitcode=4294967296\n");  // 0 in an int
  CHECK(bench.aborted == "0 1");
}
