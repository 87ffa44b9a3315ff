// Reading a peer's memory, asked of every transport; those that cannot say so.
#include <limits>

#include "every_link.h"
#include "types/types.h"

using namespace tutti;
using namespace tutti::test;

namespace {

Result<void> get_bytes(Link& reader, Remote& from, std::uint64_t offset, std::byte* into,
                       std::size_t bytes, Done* done) {
  return reader.get(from, offset, types::Buffer::plain(into, static_cast<types::Count>(bytes)),
                    done);
}

}  // namespace

TEST_CASE("a region is read whole or from any offset, and never beyond its end", "[contract]") {
  for_every_link([](const std::string& name) {
    Rig rig = Rig::over(name, 2);
    const int to = target(name);
    Transport& transport = *rig[0].transport(name);
    Link& reader = rig.link(name, to, 0);
    if (!transport.traits(rig.peer(0, to)).gets) {
      std::byte one{};
      REQUIRE(transport.expose({&one, 1}).error().code == Code::unsupported);
      REQUIRE(reader.import(BlobView(&one, 1)).error().code == Code::unsupported);
      return;
    }
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{4097}, std::size_t{5} << 20}) {
      auto data = pattern(bytes, 9);
      std::vector<std::byte> copy(bytes);
      const auto region = transport.expose({data.data(), bytes});
      REQUIRE(region.has_value());
      const auto remote = reader.import((*region)->key());
      REQUIRE(remote.has_value());
      const auto get = [&](std::size_t from, std::size_t count) {
        CountedDone done;
        REQUIRE(get_bytes(reader, **remote, from, copy.data() + from, count, &done).has_value());
        rig.until([&] { return done.fired > 0; });
        REQUIRE(done.ok);
      };
      const std::size_t half = bytes / 2 + bytes % 3;
      get(half, bytes - half);
      get(0, half);
      REQUIRE(copy == data);
      CountedDone never;
      const std::uint64_t far = std::numeric_limits<std::uint64_t>::max();
      for (const std::uint64_t from : {std::uint64_t{bytes}, far, far - bytes + 1})
        REQUIRE_FALSE(get_bytes(reader, **remote, from, copy.data(), 1, &never).has_value());
      if (bytes > 0)
        REQUIRE_FALSE(get_bytes(reader, **remote, 1, copy.data(), bytes, &never).has_value());
      REQUIRE(never.fired == 0);
    }
    // What no region of this link's can be called.
    const Blob wrong(15);
    REQUIRE_FALSE(reader.import(wrong).has_value());
    REQUIRE_FALSE(reader.import({}).has_value());
  });
}
