// The end of a rank, as its peers see it.
#include "worlds.h"

using namespace tutti;
using namespace tutti::test;

TEST_CASE("who ends without having looked frees the sender of a message that nobody took",
          "[p2p][ending]") {
  Worlds worlds(2);
  std::vector<std::byte> data = pattern(1 << 20, 1);
  Pending* const send = worlds.send(0, 1, 5, data);
  worlds[0].progress();
  worlds[1].see_off(Endpoint::End::everybodys);
  worlds[1].close();
  REQUIRE(worlds.until([&] { return send->done; }));
  worlds[0].release(send);
  worlds[0].see_off(Endpoint::End::everybodys);
}

namespace {

// Something always comes, and nobody is reached.
class Restless final : public transport::Transport {
 public:
  const char* name() const override { return "restless"; }
  transport::Traits traits(const transport::Peer&) const override { return {}; }
  Blob address() const override { return {}; }
  Result<std::unique_ptr<transport::Link>> connect(const transport::Peer&, BlobView) override {
    return fail(Code::other, "nobody is reached");
  }
  int progress() override { return 1; }
  int wait_fd() override { return -1; }
};

}  // namespace

TEST_CASE("who never stops sending does not keep a rank from its end", "[p2p][ending]") {
  const auto wireups = wireup::in_threads({0, 0});
  auto opened = Endpoint::open_over(*wireups[0], Knobs::defaults(), [](const auto&) {
    transport::Opened all;
    all.transports.push_back(std::make_unique<Restless>());
    return all;
  });
  REQUIRE(opened.has_value());
  (*opened)->close();
}
