// Words that others say to the launcher: PMI-1, batch systems, addresses.
#include "base/text.h"
#include "catch.h"
#include "hosts/hosts.h"
#include "mutate.h"
#include "serve/pmi1_answers.h"
#include "spawn/meet.h"
#include "wireup/pmi1_words.h"

using namespace tutti;                 // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::hosts;  // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::serve;  // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::spawn;  // NOLINT(google-build-using-namespace): a test

TEST_CASE("PMI-1 commands cut anywhere come to an end", "[fuzz][pmi1]") {
  const auto seeds = fuzz::corpus("pmi1");
  fuzz::Rounds rounds("pmi1", 20000);
  int commands = 0;
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    std::string text = fuzz::mutate(random, seeds, "=\n cmd_mend") + fuzz::bend(random, seeds);
    INFO("round " << rounds.number() << ": " << text);
    std::string received;
    while (!text.empty()) {
      const std::size_t piece = std::min(text.size(), random.below(60) + 1);
      received += text.substr(0, piece);
      text.erase(0, piece);
      wireup::Pmi1Command command;
      for (std::size_t before = received.size(); wireup::take_pmi1_command(received, &command);) {
        ++commands;
        REQUIRE(received.size() < before);  // else it would never end
        before = received.size();
        REQUIRE_FALSE(answer_to(command.name).empty());
      }
    }
  }
  CHECK(commands > 0);
}

TEST_CASE("pairs come back from one text, and nonsense gives some or none", "[fuzz][pairs]") {
  fuzz::Rounds rounds("pairs", 10000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    std::map<std::string, std::string> pairs, back;
    for (std::size_t i = random.below(5); i > 0; --i)
      pairs["key" + std::to_string(random.below(9))] = std::string(random.below(20), 'v');
    const std::string text = join_pairs(pairs);
    split_pairs(text, back);
    REQUIRE(back == pairs);
    std::map<std::string, std::string> other;
    split_pairs(fuzz::bend(random, {text, "a"}), other);
  }
}

TEST_CASE("what a batch system says gives hosts or a reason", "[fuzz][batch]") {
  const auto seeds = fuzz::corpus("nodelist");
  fuzz::Rounds rounds("batch", 10000);
  int accepted = 0;
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    const std::string first = fuzz::mutate(random, seeds, "[]-,()x 019\n@.");
    const std::string second = fuzz::mutate(random, seeds, "[]-,()x 019\n@.");
    const std::size_t system = random.below(4);
    INFO("round " << rounds.number() << " system " << system << ": " << first << " | " << second);
    const ReadVariable variable = [&](const std::string& name) -> std::optional<std::string> {
      if (system == 0 && name == "SLURM_JOB_NODELIST") return first;
      if (system == 0 && name == "SLURM_TASKS_PER_NODE") return second;
      if (system == 1 && name == "PBS_NODEFILE") return "file";
      if (system == 1 && name == "PBS_JOBID") return "1";
      if (system == 2 && name == "PE_HOSTFILE") return "file";
      if (system == 2 && name == "JOB_ID") return "1";
      if (system == 3 && name == "LSB_MCPU_HOSTS") return first;
      if (system == 3 && name == "LSB_JOBID") return "1";
      return {};
    };
    const ReadFile read = [&](const std::string&) -> Result<std::string> { return first; };
    const auto hosts = batch_allocation(variable, read);
    if (!hosts) REQUIRE_FALSE(hosts.error().text.empty());
    if (!hosts || !*hosts) continue;
    ++accepted;
    for (const HostSlots& host : (*hosts)->hosts) {
      REQUIRE_FALSE(host.name.empty());
      REQUIRE(host.name.front() != '-');
      REQUIRE(host.name.find_first_of(" \t\n;$'\"`|&<>()") == std::string::npos);
      REQUIRE(host.slots >= 1);
    }
  }
  CHECK(accepted > 0);
}

TEST_CASE("addresses of meetings", "[fuzz][endpoints]") {
  const auto seeds = fuzz::corpus("endpoint");
  fuzz::Rounds rounds("endpoints", 20000);
  int accepted = 0;
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    const std::string word = fuzz::mutate(random, seeds, "[]:%.0192az-");
    INFO("round " << rounds.number() << ": " << word);
    const auto at = parse_host_and_port(word, 29400);
    if (!at) REQUIRE_FALSE(at.error().text.empty());
    if (!at) continue;
    ++accepted;
    REQUIRE(at->port >= 0);
    REQUIRE(at->port <= 65535);
  }
  CHECK(accepted > 0);
}
