// The stream: any cut of records and of arrival; every change is found.
#include <random>

#include "catch.h"
#include "secure/secure.h"

namespace tutti::secure {
namespace {

struct Ends {
  Ends() {
    Key there{}, back{};
    there.fill(3);
    back.fill(4);
    a = std::make_unique<RecordStream>(SessionKeys{there, back});
    b = std::make_unique<RecordStream>(SessionKeys{back, there});
  }
  std::unique_ptr<RecordStream> a, b;
};

std::string random_text(std::mt19937& random, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

TEST_CASE("what is sealed arrives, whatever the cuts", "[secure]") {
  std::mt19937 random(1);
  Ends ends;
  for (int turn = 0; turn < 60; ++turn) {
    std::string said, wire, heard, back;
    for (int part = 0; part < 4; ++part) {
      const std::string text = random_text(random, random() % (turn % 10 == 0 ? 200'000 : 300));
      said += text;
      ends.a->seal(text, wire);
    }
    CHECK(wire.find(said.substr(0, 16)) == std::string::npos);
    for (std::size_t at = 0; at < wire.size();) {
      const std::size_t piece = 1 + random() % (turn % 3 == 0 ? 3 : 70'000);
      REQUIRE(ends.b->open(std::string_view(wire).substr(at, piece), heard));
      at += piece;
    }
    CHECK(heard == said);
    CHECK_FALSE(ends.b->in_the_middle());
    wire.clear();
    ends.b->seal(said, wire);
    REQUIRE(ends.a->open(wire, back));
    CHECK(back == said);
    ends.a->settle();
  }
}

TEST_CASE("each flipped bit is found, and nothing of its record is shown", "[secure]") {
  const std::string said = "the program to run";
  for (std::size_t bit = 0;; ++bit) {
    Ends ends;
    std::string wire, heard;
    ends.a->seal(said, wire);
    if (bit / 8 >= wire.size()) break;
    wire[bit / 8] = static_cast<char>(wire[bit / 8] ^ (1 << (bit % 8)));
    CHECK_FALSE(ends.b->open(wire, heard));
    CHECK(heard.empty());
    std::string more;
    ends.a->seal(said, more);
    CHECK_FALSE(ends.b->open(more, heard));
    CHECK(heard.empty());
  }
}

TEST_CASE("a flipped length is found before the record that it counts", "[secure]") {
  Ends ends;
  std::string wire, heard;
  ends.a->seal("x", wire);
  wire[25] = static_cast<char>(wire[25] ^ 0x40);
  CHECK_FALSE(ends.b->open(std::string_view(wire).substr(0, wire.size() - 18), heard));
}

TEST_CASE("repeated, left out, swapped and put back records are found", "[secure]") {
  const auto records = [](Ends& ends) {
    std::vector<std::string> all(4);
    for (std::size_t i = 0; i < all.size(); ++i) ends.a->seal(std::string(i + 1, 'r'), all[i]);
    return all;
  };
  const std::vector<std::vector<std::size_t>> orders{
      {0, 0}, {0, 2}, {0, 2, 1}, {1, 2, 3}, {0, 1, 1}};
  for (const auto& order : orders) {
    Ends ends;
    const auto all = records(ends);
    std::string heard;
    bool good = true;
    for (const std::size_t one : order) good = good && ends.b->open(all[one], heard);
    CHECK_FALSE(good);
  }
  Ends ends;  // what one side said is not what the other says
  const auto all = records(ends);
  std::string heard;
  CHECK_FALSE(ends.a->open(all[0] + all[1], heard));
}

}  // namespace
}  // namespace tutti::secure
