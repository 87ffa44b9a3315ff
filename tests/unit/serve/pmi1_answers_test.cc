// What the server of PMI version 1 answers.
#include "serve/pmi1_answers.h"

#include "catch.h"

using namespace tutti::launch;
using namespace tutti::launch::serve;

TEST_CASE("a command is answered by its own name, but names by another", "[serve]") {
  CHECK(answer_to("spawn") == "spawn_result");
  CHECK(answer_to("lookup_name") == "lookup_result");
}

TEST_CASE("pairs of any bytes but zero survive the way", "[serve]") {
  const std::map<std::string, std::string> pairs{{"a", "1 = 2\n"}, {"b", ""}};
  std::map<std::string, std::string> back;
  split_pairs(join_pairs(pairs), back);
  CHECK(back == pairs);
  split_pairs("cut", back);  // what is not whole is left out
  CHECK(back == pairs);
}
