// Hexadecimal digits, there and back.
#include "base/hex.h"

#include <array>
#include <vector>

#include "catch.h"

using namespace tutti;

TEST_CASE("bytes come back from their digits", "[base][hex]") {
  std::vector<std::uint8_t> all(256);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint8_t>(i);
  const std::string digits = text::hex(all.data(), all.size());
  CHECK(digits.substr(0, 6) == "000102");
  CHECK(digits.ends_with("feff"));
  std::vector<std::uint8_t> back(256);
  REQUIRE(text::unhex(digits, back));
  CHECK(back == all);
  CHECK(text::hex(nullptr, 0).empty());
  CHECK(text::unhex("", {}));
}

TEST_CASE("what is no such digits is no bytes", "[base][hex]") {
  std::array<std::uint8_t, 2> bytes{};
  for (const char* wrong :
       {"", "00", "000", "00000", "000000", "00 0", "00g0", "00AB", "0x01", "-001"})
    CHECK_FALSE(text::unhex(wrong, bytes));
  CHECK(text::unhex("a9f0", bytes));
  CHECK(bytes == std::array<std::uint8_t, 2>{0xa9, 0xf0});
}
