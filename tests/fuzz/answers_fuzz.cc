// Answers of desks (prun --ps, --stacks, --gdb): whoever holds the name answers. Nothing of it
// steers a terminal, and where a rank runs is a process number and a name that is no option and no
// text for a shell.
#include "catch.h"
#include "mutate.h"
#include "prun/answers.h"

using namespace tutti;                // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::prun;  // NOLINT(google-build-using-namespace): a test

namespace {

bool is_harmless(const std::string& text, const std::string& kept = "") {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) ||
           kept.find(c) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("no answer of a desk harms who asked", "[fuzz][answers]") {
  const auto seeds = fuzz::corpus("answers");
  fuzz::Rounds rounds("answers", 30000);
  int jobs = 0, places = 0;
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    std::string answer = seeds[random.below(seeds.size())];
    if (random.below(8) != 0)
      answer = random.below(2) == 0 ? fuzz::mutate(random, seeds, "\t\n -/;$`\x1b\x9bher0")
                                    : fuzz::bend(random, seeds);
    INFO("round " << rounds.number() << ": " << answer);
    REQUIRE(is_harmless(shown(answer), "\n\t"));
    if (const auto columns = columns_of(answer)) {
      ++jobs;
      REQUIRE(columns->size() == kJobColumns);
      for (const std::string& column : *columns) REQUIRE(is_harmless(column));
    }
    const auto place = place_in(answer);
    if (!place) {
      REQUIRE(is_harmless(place.error().text));
      continue;
    }
    ++places;
    REQUIRE(place->pid > 1);
    if (place->is_here) continue;
    REQUIRE_FALSE(place->host.empty());
    REQUIRE(place->host.front() != '-');
    REQUIRE(place->host.find_first_of(" \t\n;$'\"`|&<>()\\*") == std::string::npos);
    REQUIRE(is_harmless(place->host));
  }
  CHECK(jobs > 0);
  CHECK(places > 0);
}
