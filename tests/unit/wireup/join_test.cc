// How a process finds out how it was started.
#include <map>
#include <string>

#include "catch.h"
#include "wireup/wireup.h"

using namespace tutti::wireup;  // NOLINT(google-build-using-namespace): a test of one room

namespace {
Lookup from(const std::map<std::string, std::string>& variables) {
  return [&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}
}  // namespace

TEST_CASE("a process that nobody launched is a world of one", "[wireup]") {
  const std::map<std::string, std::string> none;
  const auto world = join(from(none));
  REQUIRE(world);
  CHECK((*world)->size() == 1);
  CHECK((*world)->rank() == 0);
}

TEST_CASE("a process of another launcher stops and names the sign", "[wireup]") {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const std::map<std::string, std::string> variables{{name, "4"}};
    const auto world = join(from(variables));
    REQUIRE_FALSE(world);
    CHECK(world.error().text.find(std::string(name) + "=4") != std::string::npos);
    CHECK(world.error().text.find("prun") != std::string::npos);
  }
  const std::map<std::string, std::string> single{{"PMI_SIZE", "1"}};
  CHECK(join(from(single)).has_value());
}

TEST_CASE("a rank whose descriptors were closed says so instead of being alone", "[wireup]") {
  const std::map<std::string, std::string> variables{
      {"TUTTI_SEGMENT_FD", "987"}, {"TUTTI_CONTROL_FD", "988"}, {"TUTTI_LOCAL_RANK", "0"}};
  const auto world = join(from(variables));
  REQUIRE_FALSE(world);
  CHECK(world.error().text.find("closed") != std::string::npos);
  const std::map<std::string, std::string> partial{{"TUTTI_JOB_ID", "1"}};
  CHECK_FALSE(join(from(partial)).has_value());
}

TEST_CASE("ranks in threads see their hosts, and each other's addresses", "[wireup]") {
  auto worlds = in_threads({0, 0, 1});
  REQUIRE(worlds.size() == 3);
  CHECK(worlds[0]->local_size() == 2);
  CHECK(worlds[2]->local_size() == 1);
  CHECK(worlds[2]->host() == 1);
  CHECK(worlds[1]->local_rank() == 1);
  CHECK(&worlds[0]->segment() == &worlds[1]->segment());
  const tutti::Blob address(5, std::byte{7});
  REQUIRE(worlds[2]->put(address));
  const auto got = worlds[0]->get(2);
  REQUIRE(got);
  CHECK(got->size() == 5);
  CHECK((*got)[4] == std::byte{7});
}
