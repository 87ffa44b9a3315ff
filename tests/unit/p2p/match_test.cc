// The queues of matching against the obvious model: a list searched from its front.
#include "p2p/match.h"

#include <deque>
#include <list>
#include <random>

#include "catch.h"

using namespace tutti::p2p;

namespace {

struct Node : MatchNode {
  int number = 0;
};

// Random keys from a small space, so that many collide; wildcards in a share of them.
struct Keys {
  std::mt19937 random;
  int tags;
  int wild_percent;
  int draw(int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); }
  MatchKey concrete() {
    // One in ten has a tag that wildcards must not take.
    return {static_cast<std::uint32_t>(draw(2)), draw(3), draw(10) == 0 ? -7 : draw(tags)};
  }
  MatchKey wanted() {
    MatchKey key = concrete();
    if (draw(100) < wild_percent) key.source = kAnySource;
    if (draw(100) < wild_percent) key.tag = kAnyTag;
    return key;
  }
};

void set(Node& node, const MatchKey& key, int number) {
  node.context = key.context;
  node.source = key.source;
  node.tag = key.tag;
  node.number = number;
}

int number_of(const MatchNode* node) {
  return node == nullptr ? -1 : static_cast<const Node*>(node)->number;
}

}  // namespace

TEST_CASE("a message takes the oldest posted receive that accepts it", "[p2p][match]") {
  for (const int wild : {0, 20, 60})
    for (const int most : {4, 40, 1500}) {
      Keys keys{std::mt19937(static_cast<unsigned>(wild + most)), most / 3 + 1, wild};
      PostedQueue queue;
      std::list<Node> model;
      MatchKey message = keys.concrete();
      for (int step = 0; step < 20000; ++step) {
        // Grows and shrinks in turns, so that the index comes and goes.
        const bool grows = (step / (4 * most)) % 2 == 0;
        if (keys.draw(100) < (grows ? 75 : 25) && static_cast<int>(model.size()) < most) {
          set(model.emplace_back(), keys.wanted(), step);
          queue.add(&model.back());
        } else if (keys.draw(10) == 0 && !model.empty()) {
          auto victim = model.begin();
          std::advance(victim, keys.draw(static_cast<int>(model.size())));
          queue.remove(&*victim);
          model.erase(victim);
        } else {
          if (keys.draw(100) < 40) message = keys.concrete();  // often the same again
          auto expected = model.begin();
          while (expected != model.end() && !accepts(key_of(*expected), message)) ++expected;
          MatchNode* const taken = queue.find(message);
          if (taken != nullptr) queue.remove(taken);
          REQUIRE(number_of(taken) == (expected == model.end() ? -1 : expected->number));
          if (expected != model.end()) model.erase(expected);
        }
        REQUIRE(queue.size() == model.size());
      }
    }
}

TEST_CASE("a receive takes the oldest message it accepts", "[p2p][match]") {
  for (const int wild : {0, 30}) {
    Keys keys{std::mt19937(7), 30, wild};
    UnexpectedQueue queue;
    std::list<Node> model;
    MatchKey wanted = keys.wanted();
    for (int step = 0; step < 30000; ++step) {
      if (keys.draw(100) < ((step / 2000) % 2 == 0 ? 70 : 30) && model.size() < 600) {
        set(model.emplace_back(), keys.concrete(), step);
        queue.add(&model.back());
        continue;
      }
      if (keys.draw(100) < 40) wanted = keys.wanted();
      auto expected = model.begin();
      while (expected != model.end() && !accepts(wanted, key_of(*expected))) ++expected;
      MatchNode* const found = queue.find(wanted);
      REQUIRE(number_of(found) == (expected == model.end() ? -1 : expected->number));
      if (found == nullptr) continue;
      queue.remove(found);
      model.erase(expected);
    }
  }
}

TEST_CASE("a hundred thousand posted receives are matched from the back without scanning",
          "[p2p][match]") {
  // A scan would look at five thousand million nodes here.
  constexpr int kCount = 100'000;
  std::deque<Node> nodes(kCount);
  PostedQueue queue;
  for (int i = 0; i < kCount; ++i) {
    set(nodes[static_cast<std::size_t>(i)], {1, 3, i}, i);
    queue.add(&nodes[static_cast<std::size_t>(i)]);
  }
  for (int i = kCount - 1; i >= 0; --i) {
    MatchNode* const found = queue.find({1, 3, i});
    REQUIRE(number_of(found) == i);
    queue.remove(found);
  }
  REQUIRE(queue.is_empty());
}
