// What users force, what they get wrong, and what the defaults are.
#include <map>

#include "catch.h"
#include "knobs.h"
#include "select/on_gpus.h"
#include "select/select.h"

using namespace tutti;
using coll::Collective;
using test::knobs_with;

namespace {

select::TeamFacts one_host(int size) {
  select::TeamFacts facts;
  facts.size = facts.largest_host = size;
  facts.inside = {0.3, 1e-4};
  return facts;
}

select::TeamFacts hosts(int count, int local) {
  select::TeamFacts facts = one_host(local);
  facts.size = count * local;
  facts.hosts = count;
  facts.between = {20, 1e-3};
  return facts;
}

select::Question ask(Collective collective, std::int64_t bytes) {
  return {collective, bytes, true, ""};
}

std::string taken(const select::Question& question, const select::TeamFacts& team,
                  const std::map<std::string, std::string>& values = {}) {
  const auto choice = choose(question, team, knobs_with(values), false);
  REQUIRE(choice);
  return choice->algorithm == nullptr ? "shm" : choice->algorithm->name;
}

std::string refused(const select::Question& question, const select::TeamFacts& team,
                    const std::map<std::string, std::string>& values) {
  const auto choice = choose(question, team, knobs_with(values), false);
  REQUIRE_FALSE(choice);
  return choice.error().text;
}

}  // namespace

TEST_CASE("a knob forces an algorithm by its name", "[select]") {
  CHECK(taken(ask(Collective::allreduce, 8), one_host(4), {{"TUTTI_ALLREDUCE", "ring"}}) == "ring");
  CHECK(taken(ask(Collective::bcast, 8), one_host(4), {{"TUTTI_BCAST", "chain"}}) == "chain");
}

TEST_CASE("the list knob forces several collectives and spaces do not matter", "[select]") {
  const std::map<std::string, std::string> list{
      {"TUTTI_ALGORITHMS", "allreduce=ring, bcast = linear"}};
  CHECK(taken(ask(Collective::allreduce, 8), one_host(4), list) == "ring");
  CHECK(taken(ask(Collective::bcast, 8), one_host(4), list) == "linear");
  CHECK(taken(ask(Collective::barrier, 0), one_host(4), list) ==
        taken(ask(Collective::barrier, 0), one_host(4)));
}

TEST_CASE("the communicator's own wish goes before the knobs", "[select]") {
  auto question = ask(Collective::allreduce, 8);
  question.forced = "binomial";
  CHECK(taken(question, one_host(4), {{"TUTTI_ALLREDUCE", "ring"}}) == "binomial");
}

TEST_CASE("an unknown name is refused with the nearest one", "[select]") {
  const auto text =
      refused(ask(Collective::allreduce, 8), one_host(4), {{"TUTTI_ALLREDUCE", "rign"}});
  CHECK(text.find("TUTTI_ALLREDUCE") != std::string::npos);
  CHECK(text.find("'rign'") != std::string::npos);
  CHECK(text.find("ring") != std::string::npos);
  CHECK(text.find("rabenseifner") != std::string::npos);
}

TEST_CASE("a wrong name is found before any collective is called", "[select]") {
  CHECK(select::check_forced(knobs_with({})));
  CHECK(select::check_forced(knobs_with({{"TUTTI_ALLREDUCE", "ring"}, {"TUTTI_BCAST", "shm"}})));
  CHECK(select::check_forced(knobs_with({{"TUTTI_ALLGATHER", "recursive_doubling"}})));
  const auto wrong = select::check_forced(knobs_with({{"TUTTI_ALLTOALL", "pairwize"}}));
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().text.find("did you mean pairwise?") != std::string::npos);
  CHECK_FALSE(select::check_forced(knobs_with({{"TUTTI_ALGORITHMS", "bcast=nope"}})));
}

TEST_CASE("a wrong entry of the list is refused whatever collective is asked for", "[select]") {
  const auto text =
      refused(ask(Collective::barrier, 0), one_host(4), {{"TUTTI_ALGORITHMS", "alreduce=ring"}});
  CHECK(text.find("allreduce") != std::string::npos);
}

TEST_CASE("a forced algorithm that cannot keep order refuses such operations", "[select]") {
  auto question = ask(Collective::allreduce, 8);
  question.commutative = false;
  const auto text = refused(question, one_host(4), {{"TUTTI_ALLREDUCE", "ring"}});
  CHECK(text.find("commutative") != std::string::npos);
  CHECK(taken(question, one_host(4)) != "ring");
}

TEST_CASE("the choice for an operation that does not commute keeps order", "[select]") {
  for (const auto collective : {Collective::allreduce, Collective::reduce, Collective::scan,
                                Collective::exscan, Collective::reduce_scatter})
    for (const std::int64_t bytes : {0, 8, 65536, 1 << 24}) {
      auto question = ask(collective, bytes);
      question.commutative = false;
      const auto choice = choose(question, hosts(2, 4), Knobs::defaults(), false);
      REQUIRE(choice);
      REQUIRE(choice->algorithm != nullptr);
      CHECK_FALSE(choice->algorithm->needs_commutative);
    }
}

TEST_CASE("a plain form's knob leaves v forms that lack the name to the model", "[select]") {
  const std::map<std::string, std::string> knob{{"TUTTI_ALLGATHER", "recursive_doubling"}};
  CHECK(taken(ask(Collective::allgather, 8), one_host(4), knob) == "recursive_doubling");
  CHECK(taken(ask(Collective::allgatherv, 8), one_host(4), knob) != "");
  CHECK(taken(ask(Collective::allgatherv, 8), one_host(4), {{"TUTTI_ALLGATHER", "linear"}}) ==
        "linear");
}

TEST_CASE("a team on one host takes the delegate where it can serve", "[select]") {
  auto team = one_host(4);
  team.shm_delegate = true;
  for (const std::int64_t bytes : {8, 4096, 1 << 20, 1 << 26})
    CHECK(taken(ask(Collective::allreduce, bytes), team) == "shm");
  CHECK(taken(ask(Collective::barrier, 0), team) == "shm");
  auto own_op = ask(Collective::allreduce, 8);
  own_op.may_delegate = false;
  CHECK(taken(own_op, team) != "shm");
}

// By the built-in table: messages inside a host move the same bytes, and are matched.
TEST_CASE("inside a host nothing is predicted ahead of the team of its ranks", "[select]") {
  const model::Costs costs;
  for (const int size : {2, 3, 4, 8, 16, 64})
    for (const CollectiveRow& row : kCollectiveRows)
      for (std::int64_t bytes = 8; bytes <= 1 << 28; bytes *= 2) {
        auto team = one_host(size);
        team.inside = costs.of_link("shm", 0);
        team.fold_us_per_byte = costs.fold_us_per_byte();
        team.shm_delegate = true;
        if (coll::delegated(row.collective).kind == coll::Delegated::never ||
            row.collective == Collective::barrier)  // has no bytes
          continue;
        INFO(row.name << " of " << size << ", " << bytes << " bytes");
        CHECK(taken(ask(row.collective, bytes), team) == "shm");
      }
}

TEST_CASE("the delegate can be forced, and is refused across hosts", "[select]") {
  auto team = one_host(4);
  team.shm_delegate = true;
  CHECK(taken(ask(Collective::bcast, 8), team, {{"TUTTI_BCAST", "shm"}}) == "shm");
  CHECK(refused(ask(Collective::bcast, 8), hosts(2, 2), {{"TUTTI_BCAST", "shm"}}).find("host") !=
        std::string::npos);
}

TEST_CASE("short vectors take few rounds, long ones move little data", "[select]") {
  CHECK(taken(ask(Collective::allreduce, 8), hosts(8, 1)) == "recursive_doubling");
  const std::string longest = taken(ask(Collective::allreduce, 1 << 26), hosts(8, 1));
  CHECK((longest == "ring" || longest == "rabenseifner" || longest == "segmented_ring"));
  const std::string shared = taken(ask(Collective::allreduce, 8), hosts(4, 8));
  CHECK(shared == "two_level");
}

TEST_CASE("where ranks share cores, what all of them do at once is dear", "[select]") {
  auto crowd = hosts(2, 2);
  crowd.inside = {0.5, 1e-4};
  crowd.between = {14, 4e-4};
  crowd.oversubscribed = true;
  const auto ratio = [](const select::TeamFacts& team, const char* one, const char* other) {
    const auto us = [&](const char* name) {
      return select::predict_us(*coll::find(Collective::allreduce, name),
                                ask(Collective::allreduce, 1 << 20), team, 0);
    };
    return us(one) / us(other);
  };
  const double before = ratio(crowd, "ring", "binomial");
  crowd.ranks_per_core = 2;
  CHECK(ratio(crowd, "ring", "binomial") > 1.2 * before);
  CHECK(ratio(crowd, "recursive_doubling", "two_level") > 1.5);
  for (const std::int64_t bytes : {32 << 10, 1 << 20, 8 << 20}) {
    const std::string name = taken(ask(Collective::allreduce, bytes), crowd);
    INFO(bytes << " bytes: " << name);
    CHECK(coll::find(Collective::allreduce, name)->needs_hosts);  // few at a time between hosts
  }
}

TEST_CASE("a forced segment size is obeyed, and only where segments are taken", "[select]") {
  const std::map<std::string, std::string> segments{{"TUTTI_ALLREDUCE", "segmented_ring"},
                                                    {"TUTTI_SEGMENT_BYTES", "32k"}};
  const auto cut =
      choose(ask(Collective::allreduce, 1 << 24), one_host(4), knobs_with(segments), false);
  REQUIRE(cut);
  CHECK(cut->segment_bytes == 32768);
  const auto whole =
      choose(ask(Collective::allreduce, 1 << 24), one_host(4),
             knobs_with({{"TUTTI_ALLREDUCE", "ring"}, {"TUTTI_SEGMENT_BYTES", "32k"}}), false);
  REQUIRE(whole);
  CHECK(whole->segment_bytes == 0);
}

TEST_CASE("segments of what GPUs read are as long as their latency wants", "[select]") {
  const model::Costs costs;
  const select::TeamFacts host = one_host(2), gpus = select::facts_on_gpus(host, costs);
  CHECK(gpus.inside.latency_us == costs.of_link("ipc", 0).latency_us);
  CHECK(gpus.fold_us_per_byte == costs.gpu_fold_us_per_byte());
  select::Question question = ask(Collective::allreduce, 1 << 30);
  question.may_delegate = false;
  const auto on_gpus = choose(question, gpus, Knobs::defaults(), false);
  const auto on_host = choose(question, host, Knobs::defaults(), false);
  REQUIRE(on_gpus);
  REQUIRE(on_host);
  CHECK(on_gpus->segment_bytes == 16 << 20);
  CHECK(on_host->segment_bytes > 0);
  CHECK(on_host->segment_bytes <= 1 << 20);
}

TEST_CASE("segments are taken where they bring much, not where they bring a few per cent",
          "[select]") {
  auto two = hosts(2, 1);
  two.between = {15, 8.3e-4};  // a fold is a tenth of that
  for (const std::int64_t bytes : {1 << 20, 4 << 20}) {
    const auto choice = choose(ask(Collective::allreduce, bytes), two, Knobs::defaults(), false);
    REQUIRE(choice);
    CHECK(choice->segment_bytes == 0);
  }
  const auto chain =
      choose(ask(Collective::bcast, 1 << 24), hosts(16, 1), Knobs::defaults(), false);
  REQUIRE(chain);
  CHECK(chain->segment_bytes > 0);
}

TEST_CASE("an explanation names the one taken and the others with their times", "[select]") {
  const auto choice =
      choose(ask(Collective::allreduce, 1 << 20), hosts(2, 2), Knobs::defaults(), true);
  REQUIRE(choice);
  INFO(choice->why);
  CHECK(choice->why.find(choice->algorithm->name) != std::string::npos);
  CHECK(choice->why.find("ring") != std::string::npos);
  CHECK(choice->why.find(" us") != std::string::npos);
  CHECK(choice->why.find("2 hosts") != std::string::npos);
}
