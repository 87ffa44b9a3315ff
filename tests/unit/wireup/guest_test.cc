// Worlds made out of a board: what all ranks must know alike is rank 0's.
#include <barrier>
#include <map>
#include <string>
#include <thread>

#include "catch.h"
#include "wireup/board.h"

using namespace tutti;
using namespace tutti::wireup;  // NOLINT(google-build-using-namespace): a test of one room

namespace {

// What ranks that are threads put up, read behind a fence.
struct Wall {
  std::barrier<> all{2};
  std::map<std::string, std::string> texts[2];
};

class OnWall final : public Board {
 public:
  OnWall(Wall& wall, int rank) : wall_(wall) {
    rank_ = rank;
    size_ = 2;
    node_ = std::to_string(rank);  // each on a host of its own
  }
  Result<void> put(const std::string& key, const std::string& value) override {
    wall_.texts[rank_][key] = value;
    return {};
  }
  Result<void> fence() override {
    wall_.all.arrive_and_wait();
    return {};
  }
  Result<std::string> get(int rank, const std::string& key) override {
    return wall_.texts[rank].at(key);
  }
  void abort(int, const std::string&) override {}
  Result<void> finalized() override { return {}; }

 private:
  Wall& wall_;
};

std::string costs_of(const Result<std::unique_ptr<Wireup>>& joined) {
  return joined ? model::text_of((*joined)->segment().header().costs) : joined.error().text;
}

}  // namespace

TEST_CASE("ranks whose hosts say different costs go by those of rank 0", "[wireup]") {
  Wall wall;
  std::string other;
  std::thread rank_1(
      [&] { other = costs_of(join_board(std::make_unique<OnWall>(wall, 1), "tcp=9:1,fold=2")); });
  const std::string first = costs_of(join_board(std::make_unique<OnWall>(wall, 0), "tcp=7:3"));
  rank_1.join();
  CHECK(first == other);
  CHECK(first.find("tcp=7:3:3,") != std::string::npos);
}

TEST_CASE("costs of rank 0 that cannot be read are named before it meets anybody", "[wireup]") {
  Wall wall;
  const auto joined = join_board(std::make_unique<OnWall>(wall, 0), "tcp=fast");
  REQUIRE_FALSE(joined);
  CHECK(joined.error().text.find("TUTTI_COSTS") != std::string::npos);
  CHECK(joined.error().text.find("'tcp=fast'") != std::string::npos);
}
