// Splitting, numbers and nearest names.
#include "base/text.h"

#include "catch.h"

using namespace tutti;  // NOLINT(google-build-using-namespace): a test of one namespace

TEST_CASE("sizes take powers of 1024 and refuse what they cannot hold", "[base]") {
  CHECK(text::parse_bytes("64k") == 65536);
  CHECK(text::parse_bytes("1M") == 1048576);
  CHECK(text::parse_bytes("0") == 0);
  CHECK_FALSE(text::parse_bytes("").has_value());
  CHECK_FALSE(text::parse_bytes("-1").has_value());
  CHECK_FALSE(text::parse_bytes("12x").has_value());
  CHECK_FALSE(text::parse_bytes("99999999999G").has_value());
}

TEST_CASE("splitting keeps empty parts and trimming removes outer space only", "[base]") {
  CHECK(text::split("a::b", ':') == std::vector<std::string>{"a", "", "b"});
  CHECK(text::split("", ':') == std::vector<std::string>{""});
  CHECK(text::trim("  a b\t\n") == "a b");
  CHECK(text::trim(" \t").empty());
}

TEST_CASE("the nearest name is found only when it is near", "[base]") {
  const std::vector<std::string> known{"hostfile", "timeout", "tag-output"};
  CHECK(text::nearest("hostfiel", known) == "hostfile");
  CHECK(text::nearest("xyzzy", known).empty());
}
