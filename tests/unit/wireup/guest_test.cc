// Worlds made out of a board: what all ranks must know alike is rank 0's.
#include <sys/socket.h>
#include <sys/un.h>

#include <barrier>
#include <cstddef>
#include <map>
#include <string>
#include <thread>

#include "base/text.h"
#include "base/unique_fd.h"
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

class OnWall : public Board {
 public:
  OnWall(Wall& wall, int rank) : OnWall(wall, rank, std::to_string(rank)) {}  // a host each
  OnWall(Wall& wall, int rank, const std::string& node) : wall_(wall) {
    rank_ = rank;
    size_ = 2;
    node_ = node;
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

 protected:
  Wall& wall_;
};

// A board of rank 0's while somebody of its host, who knows the job's number from another one,
// holds the name that follows from it.
class Squatted final : public OnWall {
 public:
  explicit Squatted(Wall& wall) : OnWall(wall, 0, "one") {}
  Result<void> fence() override {
    const std::string secret = text::split(wall_.texts[0].at("card"), '/').at(3);
    std::uint64_t job = 0;
    for (std::size_t i = 0; i < sizeof job; ++i)
      job |= std::stoull(secret.substr(64 + 2 * i, 2), nullptr, 16) << (8 * i);
    const std::string name = "tutti-" + std::to_string(job) + "-0";
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    name.copy(at.sun_path + 1, name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    holder_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::bind(holder_.get(), reinterpret_cast<const sockaddr*>(&at), length) != 0)
      return fail(Code::other, "the test cannot hold " + name);
    return OnWall::fence();
  }

 private:
  UniqueFd holder_;
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

TEST_CASE("who knows the job's number keeps no rank from its host's segment", "[wireup]") {
  Wall wall;
  std::string other;
  std::thread rank_1([&] {
    const auto joined = join_board(std::make_unique<OnWall>(wall, 1, "one"), "");
    other = joined ? "" : joined.error().text;
  });
  const auto joined = join_board(std::make_unique<Squatted>(wall), "");
  INFO((joined ? "" : joined.error().text));
  CHECK(joined);
  rank_1.join();
  CHECK(other.empty());
}

TEST_CASE("a card that cannot be read is not shown: rank 0's has the job's key", "[wireup]") {
  class Other final : public Board {  // of another version
   public:
    Other() { size_ = 2; }
    Result<void> put(const std::string&, const std::string&) override { return {}; }
    Result<void> fence() override { return {}; }
    Result<std::string> get(int, const std::string&) override { return "host/place/0/c0ffee"; }
    void abort(int, const std::string&) override {}
    Result<void> finalized() override { return {}; }
  };
  const auto joined = join_board(std::make_unique<Other>(), "");
  REQUIRE_FALSE(joined);
  CHECK(joined.error().text.find("rank 0 put up an unreadable card") != std::string::npos);
  CHECK(joined.error().text.find("c0ffee") == std::string::npos);
}
