// Numbers in sentences.
#include "base/numbers.h"

#include "catch.h"

using namespace tutti;

TEST_CASE("one is singular, none and many are plural", "[base][numbers]") {
  CHECK(text::counted(1, "host") == "1 host");
  CHECK(text::counted(0, "host") == "0 hosts");
  CHECK(text::counted(std::size_t{12}, "usable core") == "12 usable cores");
  CHECK(text::plural(1U, "rank") == "rank");
  CHECK(text::plural(2, "rank") == "ranks");
}

TEST_CASE("neighbours in a list of numbers are told by their ends", "[base][numbers]") {
  CHECK(text::ranges({}).empty());
  CHECK(text::ranges({3}) == "3");
  CHECK(text::ranges({0, 1, 2, 5}) == "0-2,5");
  CHECK(text::ranges({0, 1, 3, 7, 8}) == "0-1,3,7-8");
}
