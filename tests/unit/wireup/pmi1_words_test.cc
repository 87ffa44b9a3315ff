// The words of PMI version 1.
#include "wireup/pmi1_words.h"

#include "catch.h"

using namespace tutti::wireup;

TEST_CASE("a command is a line of words", "[wireup][pmi1]") {
  std::string received = "cmd=put kvsname=kvs key=card value=a=b c\ncmd=barrier_in\ncmd=ge";
  Pmi1Command command;
  REQUIRE(take_pmi1_command(received, &command));
  CHECK(command.name == "put");
  CHECK(command.word("key") == "card");
  CHECK(command.word("value") == "a=b c");
  REQUIRE(take_pmi1_command(received, &command));
  CHECK(command.name == "barrier_in");
  CHECK(command.word("key").empty());
  CHECK_FALSE(take_pmi1_command(received, &command));
  CHECK(received == "cmd=ge");
}

TEST_CASE("a command of many lines ends with endcmd", "[wireup][pmi1]") {
  std::string received = "mcmd=spawn\nnprocs=2\nexecname=a b\n";
  Pmi1Command command;
  CHECK_FALSE(take_pmi1_command(received, &command));
  received += "endcmd\ncmd=init\n";
  REQUIRE(take_pmi1_command(received, &command));
  CHECK(command.name == "spawn");
  CHECK(command.word("execname") == "a b");
  CHECK(received == "cmd=init\n");
}

TEST_CASE("an answer is read by the same rule", "[wireup][pmi1]") {
  const Pmi1Command good = pmi1_command_of("cmd=get_result rc=0 msg=success value=host / 0,1 rc=9");
  CHECK(good.name == "get_result");
  CHECK(good.word("rc") == "0");
  CHECK(good.word("value") == "host / 0,1 rc=9");
  CHECK(pmi1_command_of("barrier_out").name.empty());
}

TEST_CASE("the mapping says who shares a host, and is read back", "[wireup][pmi1]") {
  CHECK(process_mapping({0, 0, 0}) == "(vector,(0,1,3))");
  CHECK(process_mapping({0, 0, 1, 1}) == "(vector,(0,2,2))");
  CHECK(process_mapping({0, 1, 0, 1}) == "(vector,(0,2,1))");
  CHECK(process_mapping({0, 0, 1}) == "(vector,(0,1,2),(1,1,1))");
  CHECK(process_mapping({1, 0}) == "(vector,(1,1,1),(0,1,1))");
  const std::vector<std::vector<int>> jobs{{0, 0, 0}, {0, 0, 1, 1}, {0, 1, 0, 1},
                                           {0, 0, 1}, {1, 0},       {0, 1, 1, 2}};
  for (const std::vector<int>& host_of : jobs)
    for (std::size_t rank = 0; rank < host_of.size(); ++rank)
      CHECK(host_in_mapping(process_mapping(host_of), static_cast<std::int64_t>(rank)) ==
            std::to_string(host_of[rank]));
  for (const char* none : {"", "(vector)", "(vector,(0,1))", "(vector,(0,0,1))", "(vector,(0,1,0))",
                           "(vector,(0,99999999999999999999,1))"})
    CHECK(host_in_mapping(none, 0).empty());
}
