// From the plan to what each host is told.
#include "job/parts.h"

#include "catch.h"
#include "job/travel.h"

namespace tutti::launch::job {
namespace {

cli::JobSpec some_spec() {
  cli::JobSpec spec;
  cli::AppSpec app;
  app.argv = {"./app"};
  app.environment = {{"A", std::nullopt, false},
                     {"B", "two", false},
                     {"C", std::nullopt, true},
                     {"NOT_THERE", std::nullopt, false}};
  spec.apps.push_back(app);
  return spec;
}

plan::Plan some_plan() {
  plan::Plan plan;
  plan.hosts = {{"a", 2, 2}, {"b", 1, 1}};
  plan.ranks = {{0, 0, 0, 0, {0}}, {1, 0, 0, 1, {1}}, {2, 0, 1, 0, {}}};
  return plan;
}

TEST_CASE("which GPUs are there is each host's own where they are shared out", "[job]") {
  cli::JobSpec spec = some_spec();
  spec.whole_environment = true;
  const std::vector<std::string> mine{"CUDA_VISIBLE_DEVICES=", "OTHER=1"};
  CHECK(travelling(spec, mine) == mine);
  spec.placement.gpus_per_rank = 1;
  CHECK(travelling(spec, mine) == std::vector<std::string>{"OTHER=1"});
}

TEST_CASE("each host is told its own ranks and everybody's hosts", "[job]") {
  const cli::JobSpec spec = some_spec();
  const plan::Plan plan = some_plan();
  control::Launch launch = common_part(spec, plan, {}, "/work", {"A=1"}, false);
  CHECK(launch.host_of == std::vector<int>{0, 0, 1});
  CHECK(launch.hosts == std::vector<std::string>{"a", "b"});
  CHECK(launch.spec.universe == 3);
  add_ranks(launch, spec, plan, 0);
  REQUIRE(launch.ranks.size() == 2);
  CHECK(launch.ranks[0].takes_stdin);
  CHECK_FALSE(launch.ranks[1].takes_stdin);
  CHECK(launch.ranks[1].cpus == std::vector<int>{1});
  add_ranks(launch, spec, plan, 1);
  REQUIRE(launch.ranks.size() == 1);
  CHECK(launch.ranks[0].rank == 2);
}

TEST_CASE("exported variables take prun's value, absent ones are left out", "[job]") {
  const control::Launch launch =
      common_part(some_spec(), some_plan(), {}, "/work", {"A=1", "Z=2"}, false);
  const auto& environment = launch.apps.at(0).environment;
  REQUIRE(environment.size() == 3);
  CHECK((environment[0].name == "A" && environment[0].value == "1"));
  CHECK((environment[1].name == "B" && environment[1].value == "two"));
  CHECK((environment[2].name == "C" && environment[2].unset));
}

TEST_CASE("a name that ends in a star is every variable that begins so", "[job]") {
  cli::JobSpec spec = some_spec();
  spec.apps[0].environment = {{"A*", std::nullopt, false}, {"B*", std::nullopt, true}};
  const std::vector<std::string> mine{"A=1", "AB=2", "BA=3", "C=4", "TUTTI_JOIN_KEY=5"};
  const auto launch = common_part(spec, some_plan(), {}, "/work", mine, false);
  const auto& environment = launch.apps.at(0).environment;
  REQUIRE(environment.size() == 3);
  CHECK((environment[0].name == "A" && environment[0].value == "1"));
  CHECK((environment[1].name == "AB" && environment[1].value == "2"));
  CHECK((environment[2].name == "BA" && environment[2].unset));
  spec.apps[0].environment = {{"*", std::nullopt, false}};
  const auto whole = common_part(spec, some_plan(), {}, "/work", mine, false);
  CHECK(whole.apps.at(0).environment.size() == 4);
  for (const auto& one : whole.apps.at(0).environment) CHECK(one.name != "TUTTI_JOIN_KEY");
}

TEST_CASE("over a network the knobs travel by name, before what the user says", "[job]") {
  const std::string knob = "TUTTI_LINK";
  const control::Launch launch =
      common_part(some_spec(), some_plan(), {}, "/work", {"A=1", knob + "=tcp"}, true);
  CHECK(launch.apps.at(0).environment.at(0).name == knob);
  CHECK(launch.apps.at(0).environment.at(0).value == "tcp");
}

TEST_CASE("which variables travel: all, Open MPI's or torchrun's, none that a host has its own of",
          "[job]") {
  const std::vector<std::string> mine{"A=1",          "PATH=/venv/bin", "HOME=/h",
                                      "SSH_TTY=x",    "TMPDIR=/t",      "OMPI_B=2",
                                      "PYTHONPATH=p", "TUTTI_LINK=tcp"};
  const auto sent = [&](const cli::JobSpec& spec, bool over_network) {
    return common_part(spec, some_plan(), {}, "/work", mine, over_network).environment;
  };
  using Entries = std::vector<std::string>;
  cli::JobSpec spec = some_spec();
  CHECK(sent(spec, true) == Entries{"OMPI_B=2"});
  spec.torch.used = true;
  CHECK(sent(spec, true) == Entries{"PATH=/venv/bin", "OMPI_B=2", "PYTHONPATH=p"});
  spec.whole_environment = true;
  CHECK(sent(spec, true) == Entries{"A=1", "PATH=/venv/bin", "OMPI_B=2", "PYTHONPATH=p"});
  CHECK(sent(spec, false).empty());
}

TEST_CASE("a relative working folder starts at prun's; a named one must exist", "[job]") {
  cli::JobSpec spec = some_spec();
  CHECK_FALSE(common_part(spec, some_plan(), {}, "/work", {}, false).apps[0].directory_required);
  spec.apps[0].working_directory = "sub";
  const control::Launch launch = common_part(spec, some_plan(), {}, "/work", {}, false);
  CHECK(launch.apps[0].working_directory == "/work/sub");
  CHECK(launch.apps[0].directory_required);
}

TEST_CASE("the master's address is one that a start-up channel proved", "[job]") {
  std::vector<control::Hello> hellos(2);
  CHECK(proven_address({control::Hello{}}, {"a"}, 0) == "127.0.0.1");
  CHECK(proven_address(hellos, {"a", "b"}, 1) == "b");
  hellos[1].head_address = "10.0.0.9";  // how b sees the head, where a runs
  CHECK(proven_address(hellos, {"a", "b"}, 0) == "10.0.0.9");
  hellos[0].own_address = "10.0.0.1";
  CHECK(proven_address(hellos, {"a", "b"}, 0) == "10.0.0.1");
}

TEST_CASE("stdin goes to the ranks named, to all, or to none", "[job]") {
  cli::JobSpec spec;
  CHECK((takes_stdin(spec, 0) && !takes_stdin(spec, 1)));
  spec.stdin_to = {"1", "12"};
  CHECK((takes_stdin(spec, 1) && takes_stdin(spec, 12)));
  CHECK_FALSE((takes_stdin(spec, 0) || takes_stdin(spec, 2) || takes_stdin(spec, 21)));
  spec.stdin_to = {"all"};
  CHECK(takes_stdin(spec, 7));
  spec.stdin_to = {"none"};
  CHECK_FALSE(takes_stdin(spec, 0));
}

TEST_CASE("each attempt and each of several nodes has its folder for output", "[job]") {
  cli::JobSpec spec;
  CHECK(output_folder(spec, {}, 2).empty());
  spec.torch.log_folder = "lg";
  spec.rank.run_id = "id";
  CHECK(output_folder(spec, {7, "", 2, 3}, 1) == "lg/id_7/attempt_2/%l");
  CHECK(output_folder(spec, {7, "", 2, 3}, 2) == "lg/id_7/node_%n/attempt_2/%l");
  spec.output.directory = "od";
  CHECK(output_folder(spec, {7, "", 2, 3}, 2) == "od/4/rank.%r");
}

}  // namespace
}  // namespace tutti::launch::job
