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
