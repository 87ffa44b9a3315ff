// A daemon that speaks of ranks that it does not run is not believed.
#include "job/own_ranks.h"

#include <climits>

#include "catch.h"

using namespace tutti::launch;
using namespace tutti::launch::job;

namespace {

// Every message that is about this rank.
std::vector<control::Message> messages_about(int rank) {
  control::Output output;
  output.rank = rank;
  control::RankEnded ended;
  ended.rank = rank;
  control::RankAborts aborts;
  aborts.rank = rank;
  control::SeenRank seen;
  seen.rank = rank;
  control::SeenCall call;
  call.ranks = {1, rank};
  return {output,
          ended,
          aborts,
          control::Links{rank, "0\ttcp\twhy\n"},
          control::Used{rank, 0, ""},
          control::Stack{rank, "#0  main\n"},
          control::Addresses{0, {1, rank}, {"a", "b"}},
          control::Seen{0, {seen}, {}},
          control::Seen{0, {}, {call}}};
}

}  // namespace

TEST_CASE("a daemon is believed about its own ranks only", "[own_ranks]") {
  plan::Plan plan;  // ranks 0 and 2 on the first host, rank 1 on the second
  plan.hosts.resize(2);
  plan.ranks.resize(3);
  plan.ranks[1].host = 1;
  for (const control::Message& message : messages_about(1)) {
    INFO(message.index());
    CHECK(is_of_own_ranks(message, plan, 1));
    CHECK_FALSE(is_of_own_ranks(message, plan, 0));
  }
  for (const int wrong : {-1, 0, 2, 3, INT_MAX})
    for (const control::Message& message : messages_about(wrong)) {
      INFO(message.index());
      CHECK_FALSE(is_of_own_ranks(message, plan, 1));
    }
}

TEST_CASE("what is about no rank, or asks about one, is heard from every daemon", "[own_ranks]") {
  plan::Plan plan;
  plan.hosts.resize(2);
  plan.ranks.resize(1);
  for (const control::Message& message :
       {control::Message(control::Started{}), control::Message(control::Note{"a remark"}),
        control::Message(control::Seen{}), control::Message(control::Addresses{}),
        control::Message(control::Fetch{})})
    CHECK(is_of_own_ranks(message, plan, 1));
}
