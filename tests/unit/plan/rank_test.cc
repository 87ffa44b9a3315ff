// Numbering; mapping and binding are tested by the golden plans of tests/plan.
#include "plan/rank.h"

#include "catch.h"
#include "plan/plan.h"
#include "topo/topo.h"

using namespace tutti;          // NOLINT(google-build-using-namespace): a test of one namespace
using namespace tutti::launch;  // NOLINT(google-build-using-namespace): a test of one namespace
using namespace tutti::launch::plan;  // NOLINT(google-build-using-namespace): a test of one
                                      // namespace

namespace {
cli::Placement by(cli::MapBy map_by, cli::RankBy rank_by = cli::RankBy::unset) {
  cli::Placement placement;
  placement.map_by = map_by;
  placement.rank_by = rank_by;
  return placement;
}
}  // namespace

TEST_CASE("numbering by slot goes host by host, by node in turn", "[plan]") {
  const std::vector<int> counts{2, 0, 3};
  CHECK(number_ranks(counts, by(cli::MapBy::slot), 1) == std::vector<int>{0, 0, 2, 2, 2});
  CHECK(number_ranks(counts, by(cli::MapBy::node), 1) == std::vector<int>{0, 2, 0, 2, 2});
  CHECK(number_ranks(counts, by(cli::MapBy::node, cli::RankBy::slot), 1) ==
        std::vector<int>{0, 0, 2, 2, 2});
  CHECK(number_ranks(counts, by(cli::MapBy::numa, cli::RankBy::node), 1) ==
        std::vector<int>{0, 2, 0, 2, 2});
  CHECK(number_ranks({}, by(cli::MapBy::slot), 1).empty());
}

TEST_CASE("a hundred thousand ranks are mapped on a thousand hosts", "[plan]") {
  cli::JobSpec job;
  job.apps.emplace_back();
  job.apps[0].argv = {"app"};
  job.apps[0].ranks = 100000;
  hosts::Allocation allocation;
  allocation.given = true;
  for (int h = 0; h < 1000; ++h) {
    hosts::HostSlots host;
    host.name = "n" + std::to_string(h);
    host.slots = 100;
    host.slots_given = true;
    allocation.hosts.push_back(host);
  }
  for (const cli::MapBy map_by : {cli::MapBy::slot, cli::MapBy::node}) {
    job.placement.map_by = map_by;
    const auto plan = map_ranks(job, allocation);
    REQUIRE(plan);
    CHECK(plan->ranks.size() == 100000);
    CHECK(plan->hosts.size() == 1000);
    CHECK(plan->hosts[999].local_ranks == 100);
    CHECK(plan->ranks[99999].host == 999);
  }
}

TEST_CASE("an empty allocation is an error", "[plan]") {
  cli::JobSpec job;
  job.apps.emplace_back();
  CHECK_FALSE(map_ranks(job, hosts::Allocation{}));
  // Over the objects of all hosts, two on each.
  CHECK(number_ranks({3, 0, 3}, by(cli::MapBy::numa, cli::RankBy::span), 2) ==
        std::vector<int>{0, 0, 2, 2, 0, 2});
}

TEST_CASE("processors that a batch system counts are hardware threads, where they fit", "[plan]") {
  const auto machine = topo::synthetic("package:1 core:4 pu:2");
  REQUIRE(machine);
  hosts::Allocation allocation;
  allocation.given = true;
  allocation.hosts.emplace_back();
  allocation.hosts[0].name = "n1";
  allocation.hosts[0].slots = 8;
  const auto processors = [&](int ranks, int each) {
    cli::JobSpec job;
    job.apps.emplace_back();
    job.apps[0].ranks = ranks;
    job.placement.cpus_per_rank = each;
    job.placement.cpus_by_batch = true;
    auto plan = map_ranks(job, allocation);
    REQUIRE(plan);
    REQUIRE(bind_ranks(*plan, job, {*machine}));
    return plan->ranks[1].cpus.size();
  };
  CHECK(processors(2, 4) == 4);  // two cores each
  CHECK(processors(2, 3) == 4);
  CHECK(processors(4, 4) == 2);  // they do not all fit: a core each
  CHECK(processors(5, 4) == 0);  // more ranks than cores: nothing is bound
}
