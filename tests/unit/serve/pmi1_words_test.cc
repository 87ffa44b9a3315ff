// The words of PMI version 1.
#include "serve/pmi1_words.h"

#include "catch.h"

using namespace tutti::launch;
using namespace tutti::launch::serve;

TEST_CASE("a command is a line of words", "[serve]") {
  std::string received = "cmd=put kvsname=kvs key=card value=a=b c\ncmd=barrier_in\ncmd=ge";
  Pmi1Command command;
  REQUIRE(take_command(received, &command));
  CHECK(command.name == "put");
  CHECK(command.word("key") == "card");
  CHECK(command.word("value") == "a=b c");
  REQUIRE(take_command(received, &command));
  CHECK(command.name == "barrier_in");
  CHECK(command.word("key").empty());
  CHECK_FALSE(take_command(received, &command));
  CHECK(received == "cmd=ge");
}

TEST_CASE("a command of many lines ends with endcmd", "[serve]") {
  std::string received = "mcmd=spawn\nnprocs=2\nexecname=a b\n";
  Pmi1Command command;
  CHECK_FALSE(take_command(received, &command));
  received += "endcmd\ncmd=init\n";
  REQUIRE(take_command(received, &command));
  CHECK(command.name == "spawn");
  CHECK(command.word("execname") == "a b");
  CHECK(received == "cmd=init\n");
  CHECK(answer_to("spawn") == "spawn_result");
  CHECK(answer_to("lookup_name") == "lookup_result");
}

TEST_CASE("the mapping says who shares a host", "[serve]") {
  CHECK(process_mapping({0, 0, 0}) == "(vector,(0,1,3))");
  CHECK(process_mapping({0, 0, 1, 1}) == "(vector,(0,2,2))");
  CHECK(process_mapping({0, 1, 0, 1}) == "(vector,(0,2,1))");
  CHECK(process_mapping({0, 0, 1}) == "(vector,(0,1,2),(1,1,1))");
  CHECK(process_mapping({1, 0}) == "(vector,(1,1,1),(0,1,1))");
}

TEST_CASE("pairs of any bytes but zero survive the way", "[serve]") {
  const std::map<std::string, std::string> pairs{{"a", "1 = 2\n"}, {"b", ""}};
  std::map<std::string, std::string> back;
  split_pairs(join_pairs(pairs), back);
  CHECK(back == pairs);
  split_pairs("cut", back);  // what is not whole is left out
  CHECK(back == pairs);
}
