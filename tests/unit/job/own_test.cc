// What a torchrun node takes of the words of the node that leads.
#include "catch.h"
#include "job/job.h"

namespace tutti::launch::job {
namespace {

JobRequest own_request() {
  JobRequest request;
  cli::AppSpec app;
  app.argv = {"./own", "argument"};
  request.spec.apps.push_back(app);
  request.spec.torch.used = true;
  request.environment = {"PATH=/usr/bin", "TUTTI_BCAST=ring"};
  return request;
}

control::Launch said() {
  control::Launch launch;
  launch.job_id = 7;
  launch.job_key = std::string(32, 'k');
  launch.hosts = {"a", "b"};
  launch.host_of = {0, 0, 1, 1};
  launch.spec.master_address = "10.0.0.1";
  launch.spec.master_port = 29500;
  control::AppPart evil;
  evil.argv = {"/bin/evil"};
  evil.working_directory = "/evil";
  evil.environment = {{"LD_PRELOAD", "/evil.so", false, {}, false},
                      {"TUTTI_LINK", "tcp", false, {}, false},
                      {"TUTTI_BCAST", "binomial", false, {}, false},
                      {"TUTTI_REDUCE", "a\nb", false, {}, false}};
  launch.apps = {evil};
  launch.output.out_file = "/evil/file";
  launch.spec.record = "events";
  for (const int rank : {2, 3}) {
    control::RankPart part;
    part.rank = rank;
    part.takes_stdin = true;
    part.to_file = 3;
    part.cpus = {rank};
    launch.ranks.push_back(part);
  }
  return launch;
}

TEST_CASE("a torchrun node starts its own program with the numbers it was told", "[job]") {
  const auto own = own_launch(own_request(), 2, 1, said());
  REQUIRE(own);
  REQUIRE(own->apps.size() == 1);
  CHECK(own->apps[0].argv == std::vector<std::string>{"./own", "argument"});
  CHECK(own->apps[0].working_directory != "/evil");
  CHECK(own->output.out_file.empty());
  CHECK(own->spec.record.empty());
  CHECK(own->job_id == 7);
  CHECK(own->job_key == std::string(32, 'k'));
  CHECK(own->host_of == std::vector<int>{0, 0, 1, 1});
  CHECK(own->spec.master_address == "10.0.0.1");
  CHECK(own->spec.master_port == 29500);
  REQUIRE(own->ranks.size() == 2);
  CHECK(own->ranks[0].rank == 2);
  CHECK(own->ranks[0].cpus == std::vector<int>{2});
  CHECK_FALSE(own->ranks[0].takes_stdin);
  CHECK(own->ranks[0].to_file == 0);
}

TEST_CASE("variables come by the list of knobs, and never instead of one's own", "[job]") {
  const auto own = own_launch(own_request(), 2, 1, said());
  REQUIRE(own);
  REQUIRE(own->apps[0].environment.size() == 1);
  CHECK(own->apps[0].environment[0].name == "TUTTI_LINK");
  CHECK(own->apps[0].environment[0].value == "tcp");
}

TEST_CASE("a plan that makes no sense is refused", "[job]") {
  const auto refuses = [](auto&& change) {
    control::Launch launch = said();
    change(launch);
    return !own_launch(own_request(), 2, 1, launch);
  };
  CHECK_FALSE(refuses([](control::Launch&) {}));
  CHECK(refuses([](control::Launch& l) { l.host_of = {1, 1, 1, 1}; }));
  CHECK(refuses([](control::Launch& l) { l.host_of = {0, 0, 1, 9}; }));
  CHECK(refuses([](control::Launch& l) { l.host_of = {0, 0, 1, -1}; }));
  CHECK(refuses([](control::Launch& l) { l.hosts = {"a"}; }));
  CHECK(refuses([](control::Launch& l) { l.hosts[0] = "../a"; }));
  CHECK(refuses([](control::Launch& l) { l.spec.master_address = "a\nb"; }));
  CHECK(refuses([](control::Launch& l) { l.spec.master_port = 1 << 20; }));
  CHECK_FALSE(own_launch(own_request(), 1, 1, said()));  // more ranks than it offered
  CHECK_FALSE(own_launch(own_request(), 2, -1, said()));
  CHECK_FALSE(own_launch(own_request(), 2, 2, said()));
}

TEST_CASE("between nodes without a key only numbers and addresses pass", "[job]") {
  const auto clean = daemon::numbers_only(said());
  REQUIRE(clean);
  const control::Launch& launch = std::get<control::Launch>(*clean);
  CHECK(launch.apps[0].argv.empty());
  CHECK(launch.apps[0].environment.size() == 3);
  CHECK(launch.output.out_file.empty());
  CHECK_FALSE(launch.ranks[0].takes_stdin);
  CHECK_FALSE(daemon::numbers_only(control::Output{0, 1, "words"}));
  CHECK_FALSE(daemon::numbers_only(control::Input{"words", false}));
  CHECK_FALSE(daemon::numbers_only(control::Note{"words"}));
  CHECK_FALSE(daemon::numbers_only(control::Grow{}));
  CHECK_FALSE(daemon::numbers_only(control::Look{}));
  CHECK_FALSE(daemon::numbers_only(control::Examine{}));
  control::RankEnded ended;
  ended.rank = 3;
  ended.last_lines = "words";
  ended.reason = "words";
  const auto end = daemon::numbers_only(ended);
  REQUIRE(end);
  CHECK(std::get<control::RankEnded>(*end).rank == 3);
  CHECK(std::get<control::RankEnded>(*end).last_lines.empty());
  CHECK(std::get<control::RankEnded>(*end).reason.empty());
}

}  // namespace
}  // namespace tutti::launch::job
