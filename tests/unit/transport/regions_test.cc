// Reading and writing a peer's memory, asked of every transport; those that cannot say so.
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

namespace {

Result<void> put_bytes(Link& writer, Remote& to, std::uint64_t offset, std::vector<std::byte>& from,
                       Done* done) {
  const auto bytes = static_cast<types::Count>(from.size());
  return writer.put(to, offset, types::Buffer::plain(from.data(), bytes), done);
}

}  // namespace

TEST_CASE("a region is written whole or from any offset, and never beyond its end", "[contract]") {
  for_every_link([](const std::string& name) {
    Rig rig = Rig::over(name, 2);
    const int to = target(name);
    Transport& owner = *rig[0].transport(name);
    Link& writer = rig.link(name, to, 0);
    const bool puts = rig[to].transport(name)->traits(rig.peer(to, 0)).puts;
    CountedDone flushed;
    REQUIRE(writer.flush(&flushed).has_value());
    REQUIRE((flushed.fired == 1 && flushed.ok));  // nothing was put
    if (!puts) {
      Remote nowhere;
      std::vector<std::byte> one(1);
      CHECK(put_bytes(writer, nowhere, 0, one, &flushed).error().code == Code::unsupported);
      return;
    }
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{4097}, (std::size_t{16} << 20) + 5, std::size_t{0}}) {
      std::vector<std::byte> memory(bytes + 2, std::byte{7});
      auto data = pattern(bytes, 9);
      const auto region = owner.expose({memory.data() + 1, bytes});
      REQUIRE(region.has_value());
      const auto remote = writer.import((*region)->key());
      REQUIRE(remote.has_value());
      const auto put = [&](std::size_t from, std::size_t count) {
        CountedDone done, there;
        std::vector<std::byte> part(data.begin() + static_cast<std::ptrdiff_t>(from),
                                    data.begin() + static_cast<std::ptrdiff_t>(from + count));
        REQUIRE(put_bytes(writer, **remote, from, part, &done).has_value());
        REQUIRE(writer.flush(&there).has_value());
        rig.until([&] { return done.fired > 0 && there.fired > 0; });
        REQUIRE((done.ok && there.ok));
      };
      const std::size_t half = bytes / 2;
      put(half, bytes - half);
      put(0, half);
      REQUIRE(std::equal(data.begin(), data.end(), memory.begin() + 1));
      CountedDone never;
      std::vector<std::byte> one(1, std::byte{8}), longer(bytes + 1, std::byte{8});
      const std::uint64_t far = std::numeric_limits<std::uint64_t>::max();
      for (const std::uint64_t at : {std::uint64_t{bytes}, far, far - bytes + 1})
        REQUIRE_FALSE(put_bytes(writer, **remote, at, one, &never).has_value());
      REQUIRE_FALSE(put_bytes(writer, **remote, 0, longer, &never).has_value());
      REQUIRE(
          (never.fired == 0 && memory.front() == std::byte{7} && memory.back() == std::byte{7}));
      REQUIRE(std::equal(data.begin(), data.end(), memory.begin() + 1));
    }
  });
}

TEST_CASE("an atomic changes a word at its place and nothing else", "[contract]") {
  for_every_link([](const std::string& name) {
    Rig rig = Rig::over(name, 2);
    const int to = target(name);
    Link& link = rig.link(name, to, 0);
    alignas(8) std::uint64_t words[3] = {1, 2, 3};
    std::uint64_t before = 0;
    CountedDone done;
    if (!rig[to].transport(name)->traits(rig.peer(to, 0)).atomics) {
      Remote nowhere;
      CHECK(link.atomic(nowhere, 0, {}, {&before, sizeof before}, &done).error().code ==
            Code::unsupported);
      return;
    }
    const auto region = rig[0].transport(name)->expose({words, sizeof words});
    const auto remote = link.import((*region)->key());
    const auto does = [&](std::uint64_t offset, const Atomic& what, std::size_t bytes = 8) {
      before = 0;
      done.fired = 0;
      const auto begun = link.atomic(**remote, offset, what, {&before, bytes}, &done);
      if (begun) rig.until([&] { return done.fired > 0; });
      return begun.has_value() && done.fired == 1 && done.ok;
    };
    REQUIRE(does(8, {Atomic::Kind::add, 40}));
    CHECK((before == 2 && words[1] == 42));
    REQUIRE(does(8, {Atomic::Kind::compare_swap, 9, 41}));
    CHECK((before == 42 && words[1] == 42));
    REQUIRE(does(8, {Atomic::Kind::compare_swap, 9, 42}));
    CHECK((before == 42 && words[1] == 9));
    REQUIRE(does(8, {Atomic::Kind::swap, ~std::uint64_t{0}}));
    CHECK((before == 9 && words[1] == ~std::uint64_t{0}));
    REQUIRE(does(12, {Atomic::Kind::add, 1}, 4));
    CHECK((before == 0xffff'ffff && words[1] == 0xffff'ffff));
    for (const std::uint64_t at : {std::uint64_t{4}, std::uint64_t{17}, std::uint64_t{24},
                                   std::numeric_limits<std::uint64_t>::max() - 7})
      CHECK_FALSE(does(at, {Atomic::Kind::swap, 0}));
    CHECK_FALSE(does(9, {Atomic::Kind::swap, 0}, 4));
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{16}})
      CHECK_FALSE(does(0, {Atomic::Kind::swap, 0}, bytes));
    CHECK((words[0] == 1 && words[1] == 0xffff'ffff && words[2] == 3));
  });
}
