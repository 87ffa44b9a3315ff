// Help comes from the tables, and the table of options is consistent.
#include <set>

#include "catch.h"
#include "cli/options.h"

using namespace tutti::launch;  // NOLINT(google-build-using-namespace): a test of one namespace

TEST_CASE("no spelling stands for two options", "[cli]") {
  std::set<std::string> seen;
  for (const OptionRow& row : option_rows())
    for (const std::string& name : names_of(row)) {
      INFO(name);
      CHECK(seen.insert(name).second);
      CHECK(find_option(name) == &row);
    }
}

TEST_CASE("every option stands in the full help", "[cli]") {
  const std::string all = help_text("all");
  for (const OptionRow& row : option_rows())
    for (const std::string& name : names_of(row))
      CHECK(all.find(dashed(name)) != std::string::npos);
}

TEST_CASE("the exit statuses are listed", "[cli]") {
  const std::string text = help_text("exit");
  for (const char* number : {"  0 ", "  2 ", "126", "127", "128+N", "201", "204", "213"})
    CHECK(text.find(number) != std::string::npos);
}

TEST_CASE("help has sections, options and an answer to anything else", "[cli]") {
  CHECK(help_text("").find("usage: prun") == 0);
  CHECK(help_text("").find("--personality") == std::string::npos);
  CHECK(help_text("hosts").find("--hostfile") != std::string::npos);
  CHECK(help_text("hosts").find("--bind-to") == std::string::npos);
  CHECK(help_text("--bind-to").find("numa") != std::string::npos);
  CHECK(help_text("cheese").find("no help on 'cheese'") == 0);
}
