// What several hosts say alike.
#include "job/alike.h"

#include "catch.h"

using namespace tutti::launch::job;

TEST_CASE("hosts that say the same say it in one line", "[alike]") {
  AlikeLines lines;
  const auto name_of = [](int host) { return std::string(1, static_cast<char>('a' + host)); };
  lines.add(2, "no room");
  lines.add(1, "no network");
  lines.add(0, "no room");
  CHECK(lines.take(name_of) ==
        std::vector<std::string>{"hosts a, c: no room", "host b: no network"});
  CHECK(lines.take(name_of).empty());
}

TEST_CASE("of many names those are said that a line holds", "[alike]") {
  CHECK(listed({"a"}) == "a");
  CHECK(listed({"a", "b"}) == "a, b");
  const std::string name(50, 'x');
  CHECK(listed({name, name, "c", "d"}) == name + ", " + name + " and 2 more");
}
