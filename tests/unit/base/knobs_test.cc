// The table of knobs and reading it.
#include "base/knobs.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "catch.h"

using tutti::Knobs;

TEST_CASE("a knob comes from the environment and falls back to its default", "[base]") {
  const auto knobs = Knobs::read([](const char* name) -> const char* {
    return std::strcmp(name, "TUTTI_UNEXPECTED_BYTES") == 0 ? "64k" : nullptr;
  });
  REQUIRE(knobs);
  CHECK(knobs->integer("TUTTI_UNEXPECTED_BYTES") == 65536);
  CHECK(knobs->is_set("TUTTI_UNEXPECTED_BYTES"));
  CHECK(knobs->text("TUTTI_LINK") == "auto");
  CHECK_FALSE(knobs->is_set("TUTTI_LINK"));
}

TEST_CASE("a word that a knob does not know is refused with those it does", "[base]") {
  const auto with = [](const char* knob, const char* value) {
    return Knobs::read(
        [=](const char* name) { return std::strcmp(name, knob) == 0 ? value : nullptr; });
  };
  CHECK(with("TUTTI_LINK", "shm, tcp"));
  CHECK(with("TUTTI_SINGLE_COPY", "off"));
  for (const char* knob : {"TUTTI_LINK", "TUTTI_SINGLE_COPY", "TUTTI_TCP_FAMILY"}) {
    const auto wrong = with(knob, "nope");
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().text.find(std::string(knob) + " names 'nope'") != std::string::npos);
    CHECK(wrong.error().text.find("auto") != std::string::npos);
  }
}

TEST_CASE("of words but links a knob takes one", "[base]") {
  for (const auto& [knob, value] : {std::pair{"TUTTI_SINGLE_COPY", "on,off"},
                                    {"TUTTI_MISMATCH", "end,off"},
                                    {"TUTTI_LINK_SECURITY", "none,encrypted"},
                                    {"TUTTI_LINK_SECURITY", " encrypted"},
                                    {"TUTTI_GPU_SUPPORT", ","}}) {
    CAPTURE(knob, value);
    const auto wrong = Knobs::read(
        [&](const char* name) { return std::strcmp(name, knob) == 0 ? value : nullptr; });
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().text.find("'" + std::string(value) + "', which is none of") !=
          std::string::npos);
  }
}

TEST_CASE("the most that a size may be is told in a form that is taken", "[base]") {
  const auto with = [](const char* value) {
    return Knobs::read([=](const char* name) {
      return std::strcmp(name, "TUTTI_EAGER_BYTES") == 0 ? value : nullptr;
    });
  };
  CHECK(with("1048576G"));
  const auto wrong = with("1048577G");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().text.find("at most 1048576G;") != std::string::npos);
}

TEST_CASE("a knob that does not parse names itself and the form wanted", "[base]") {
  const auto knobs = Knobs::read([](const char* name) -> const char* {
    return std::strcmp(name, "TUTTI_EXPLAIN") == 0 ? "maybe" : nullptr;
  });
  REQUIRE_FALSE(knobs);
  CHECK(knobs.error().text.find("TUTTI_EXPLAIN=maybe") != std::string::npos);
  CHECK(knobs.error().text.find("0 or 1") != std::string::npos);
}

TEST_CASE("a number below those that mean something is refused", "[base]") {
  const auto with = [](const char* knob, const char* value) {
    return Knobs::read(
        [=](const char* name) { return std::strcmp(name, knob) == 0 ? value : nullptr; });
  };
  CHECK(with("TUTTI_POLL_US", "-1"));
  CHECK(with("TUTTI_RANKS_PER_CACHE", "0"));
  const auto below = with("TUTTI_POLL_US", "-2"), negative = with("TUTTI_RANKS_PER_CACHE", "-1");
  REQUIRE_FALSE(below);
  CHECK(below.error().text.find("TUTTI_POLL_US=-2 is not a whole number from -1 to ") == 0);
  REQUIRE_FALSE(negative);
  CHECK(negative.error().text.find("is not a whole number from 0 to ") != std::string::npos);
  CHECK_FALSE(with("TUTTI_EXPLAIN", "-1"));
  CHECK(with("TUTTI_POLL_US", "1000000000000"));
  for (const char* knob : {"TUTTI_POLL_US", "TUTTI_EAGER_BYTES", "TUTTI_FLOOD_MESSAGES"})
    CHECK_FALSE(with(knob, "9223372036854775807"));
  CHECK_FALSE(with("TUTTI_RANKS_PER_CACHE", "4294967296"));
  CHECK(with("TUTTI_TCP_RAILS", "16"));
  CHECK(with("TUTTI_TCP_RAILS", "17").error().text.find("is not a whole number from 0 to 16") !=
        std::string::npos);
}

TEST_CASE("the table keeps its budget and its names are unique", "[base]") {
  CHECK(Knobs::rows().size() <= 60);
  for (const auto& a : Knobs::rows())
    CHECK(std::count_if(Knobs::rows().begin(), Knobs::rows().end(),
                        [&](const auto& b) { return std::strcmp(a.name, b.name) == 0; }) == 1);
}
