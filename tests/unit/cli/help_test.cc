// Help comes from the tables, and the table of options is consistent.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "catch.h"
#include "cli/options.h"
#include "parse.h"

using namespace tutti::launch;  // NOLINT(google-build-using-namespace): a test of one namespace
using namespace tutti::launch::cli;  // NOLINT(google-build-using-namespace): a test of one
                                     // namespace

TEST_CASE("no spelling stands for two options of one dialect", "[cli]") {
  std::set<std::pair<std::string, unsigned>> seen;
  for (const OptionRow& row : option_rows())
    for (const std::string& name : names_of(row)) {
      INFO(name);
      CHECK(seen.insert({name, row.dialect}).second);
      CHECK(find_option(name, static_cast<Dialect>(row.dialect)) == &row);
    }
}

TEST_CASE("every option stands in the full help and in each completion", "[cli]") {
  const std::string all = help_text("all").value(), bash = page_text("bash"),
                    zsh = page_text("zsh");
  for (const OptionRow& row : option_rows())
    for (const std::string& name : names_of(row)) {
      INFO(name);
      CHECK(all.find(dashed(name)) != std::string::npos);
      CHECK(bash.find(" " + dashed(name)) != std::string::npos);
      CHECK(zsh.find("'*" + dashed(name) + "[") != std::string::npos);
    }
  CHECK(page_text("fish").find("complete -c torchrun -l nproc-per-node") != std::string::npos);
  CHECK(page_text("man").find(".SH EXIT STATUS") != std::string::npos);
  CHECK(page_text("cheese").empty());
}

TEST_CASE("the table of the documentation is the table of options", "[cli]") {
  const std::string path = TUTTI_OPTIONS_PAGE;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  const std::string mark = "<!-- options: TUTTI_UPDATE_GOLDEN=1 writes what follows -->\n";
  const auto at = text.str().find(mark);
  REQUIRE(at != std::string::npos);
  const std::string fresh = text.str().substr(0, at + mark.size()) + page_text("options");
  if (std::getenv("TUTTI_UPDATE_GOLDEN") != nullptr)
    std::ofstream(path) << fresh;
  else
    CHECK(text.str() == fresh);
}

TEST_CASE("the exit statuses are listed", "[cli]") {
  const std::string text = help_text("exit").value();
  for (const char* number : {"  0 ", "  2 ", "126", "127", "128+N", "201", "204", "213"})
    CHECK(text.find(number) != std::string::npos);
}

TEST_CASE("help has sections, options and an answer to anything else", "[cli]") {
  CHECK(help_text("").value().find("usage: prun") == 0);
  CHECK(help_text("").value().find("--personality") == std::string::npos);
  const std::string first = help_text("").value();
  CHECK(std::count(first.begin(), first.end(), '\n') < 50);  // one screen
  for (const char* word : {"--np N", "--hostfile", "--help=hosts", "--help=exit", "--help=all"})
    CHECK(help_text("").value().find(word) != std::string::npos);
  CHECK(help_text("hosts").value().find("--hostfile") != std::string::npos);
  CHECK(help_text("hosts").value().find("--bind-to") == std::string::npos);
  CHECK(help_text("torchrun").value().find("--rdzv-endpoint") != std::string::npos);
  CHECK(help_text("--bind-to").value().find("numa") != std::string::npos);
  for (const char* word : {"mapping", "map", "ranking", "binding", "affinity"})
    CHECK(help_text(word).value() == help_text("placement").value());
  CHECK(help_text("launch").value() == help_text("hosts").value());
  CHECK(help_text("debug").value() == help_text("running").value());
  CHECK(help_text("--debug").value().find("--debug") != std::string::npos);
  CHECK(help_text("compatibility").value() == help_text("accepted").value());
  CHECK(help_text("status").value() == help_text("exit").value());
  CHECK(help_text("options").value() == help_text("all").value());
  CHECK(help_text("cheese").error().text.find("no help on 'cheese'") == 0);
  CHECK(help_text("bnd-to").error().text == "no help on 'bnd-to'; did you mean --help=bind-to?");
}

TEST_CASE("a misspelt variable names the nearest one", "[cli]") {
  CHECK(check_variables({"PATH=/bin", "TUTTI_EXPLAIN=1", "TUTTI_JOB_ID=3", "TUTTI_CC=gcc"}));
  const auto wrong = check_variables({"TUTTI_EXPLIAN=1"});
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().text == "unknown variable TUTTI_EXPLIAN; did you mean TUTTI_EXPLAIN?");
  CHECK_FALSE(check_variables({"TUTTI_SOMETHING_QUITE_DIFFERENT=1"}));
  CHECK(check_variables({"TUTTI_ALGORITHMS=allreduce=ring,bcast=binomial"}));
  const auto list = check_variables({"TUTTI_ALGORITHMS=alreduce=ring"});
  REQUIRE_FALSE(list);
  CHECK(list.error().text.find("did you mean allreduce=...?") != std::string::npos);
  const auto one = check_variables({"TUTTI_ALLREDUCE=rung"});
  REQUIRE_FALSE(one);
  CHECK(one.error().text.find("has no algorithm 'rung'; did you mean ring?") != std::string::npos);
  const auto value = check_variables({"TUTTI_SINGLE_COPY=maybe"});
  REQUIRE_FALSE(value);
  CHECK(value.error().text.find("auto, on, off") != std::string::npos);
}

TEST_CASE("a variable given on the command line is known, and so is its value", "[cli]") {
  const std::string wrong = "unknown variable TUTTI_ALREDUCE; did you mean TUTTI_ALLREDUCE?";
  for (const char* option : {"-x TUTTI_ALREDUCE=ring", "-genv TUTTI_ALREDUCE ring",
                             "-x PATH -env TUTTI_ALREDUCE=ring", "-n 1 ./a : -x TUTTI_ALREDUCE=1"})
    CHECK(error_of(std::string("prun ") + option + " ./a") == wrong);
  CHECK_FALSE(parse("prun -x TUTTI_SINGLE_COPY=maybe ./a"));
  CHECK(parse("prun -x TUTTI_SINGLE_COPY=off -x TUTTI_TEST_A=1 ./a"));
}
