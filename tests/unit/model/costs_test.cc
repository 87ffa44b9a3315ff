// The table of costs: as text and back, what it refuses, what a link costs by it.
#include "model/costs.h"

#include <string>

#include "catch.h"

using namespace tutti;
using model::Costs;

namespace {
bool is_same(const Costs& a, const Costs& b) {
  for (std::size_t i = 0; i < a.links.size(); ++i)
    if (a.links[i].latency_us != b.links[i].latency_us ||
        a.links[i].gigabytes != b.links[i].gigabytes ||
        a.links[i].most_gigabytes != b.links[i].most_gigabytes)
      return false;
  return a.fold_gigabytes == b.fold_gigabytes && a.gpu_fold_gigabytes == b.gpu_fold_gigabytes;
}
}  // namespace

TEST_CASE("a table of costs is the same table after a way as text", "[model]") {
  Costs costs;
  costs.links[0] = {1.0 / 3, 2.0 / 7, 1e6 / 3};
  costs.fold_gigabytes = 0.1;
  costs.gpu_fold_gigabytes = 0.3;
  const auto back = model::parse_costs(model::text_of(costs));
  REQUIRE(back);
  CHECK(is_same(*back, costs));
  const auto built_in = model::parse_costs("");
  REQUIRE(built_in);
  CHECK(is_same(*built_in, Costs{}));
  CHECK_FALSE(is_same(*built_in, costs));
}

TEST_CASE("what is named replaces the figures that are built in", "[model]") {
  const auto costs =
      model::parse_costs("tcp=7:3, shm = 0.2:20:25, ipc=9:300, fold=4, gpu_fold=500");
  REQUIRE(costs);
  CHECK(costs->of_link("tcp", 0).latency_us == 7);
  CHECK(costs->of_link("tcp", 0).us_per_byte == 1e-3 / 3);
  CHECK(costs->of_link("tcp", 100).us_per_byte == 1e-3 / 3);  // no more than it carries at most
  CHECK(costs->of_link("tcp", 8).us_per_byte == 1e-3);        // nor than the wire
  CHECK(costs->of_link("shm", 1000).us_per_byte == 1e-3 / 25);
  CHECK(costs->of_link("rdma", 0).latency_us == Costs{}.of_link("rdma", 0).latency_us);
  CHECK(costs->of_link("no such kind", 0).latency_us == 7);
  CHECK(costs->of_link("ipc", 0).latency_us == 9);
  CHECK(costs->of_link("ipc", 0).us_per_byte == 1e-3 / 300);
  CHECK(costs->fold_us_per_byte() == 1e-3 / 4);
  CHECK(costs->gpu_fold_us_per_byte() == 1e-3 / 500);
}

TEST_CASE("what cannot be read is named", "[model]") {
  for (const char* bad :
       {"tcp", "tcp=", "tcp=7", "tcp=7:", "tcp=7:0", "tcp=-1:3", "tcp=7:nan", "tcp=7:inf",
        "tcp=7:1e9", "tcp=1:2:3:4", "fold=1:2", "hip=1:2", "=1:2", "tcp=7:3x", "tcp=7:0x3"}) {
    INFO(bad);
    const auto costs = model::parse_costs(std::string("fold=4,") + bad);
    REQUIRE_FALSE(costs);
    CHECK(costs.error().text.find(std::string("'") + bad + "'") != std::string::npos);
    CHECK(costs.error().text.find("LATENCY:RATE") != std::string::npos);
  }
}
