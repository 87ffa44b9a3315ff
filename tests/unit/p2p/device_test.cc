// Messages from and into memory that the processor may not touch, whose copies end late.
#include <random>

#include "machines.h"

using namespace tutti;
using namespace tutti::test;

namespace {

constexpr Handle kByte = 0x207, kInt = 0x209, kSum = 0x21;

constexpr std::size_t kSizes[] = {0, 1, 8, 511, 512, 1024, 1025, 4097, 300'001};

std::vector<std::byte> begins_with(std::vector<std::byte> all, const std::vector<std::byte>& with) {
  std::copy(with.begin(), with.end(), all.begin());
  return all;
}

constexpr std::pair<bool, bool> kKinds[] = {{true, true}, {true, false}, {false, true}};

}  // namespace

TEST_CASE("a message arrives whole from and into any kind of memory", "[p2p][device]") {
  for (const MemoryVariant& variant : memory_variants())
    for (const std::size_t bytes : kSizes)
      for (const auto& [from, into] : kKinds)
        for (const bool receive_first : {false, true})
          for (const Mode mode : {Mode::standard, Mode::synchronous}) {
            INFO(variant.name << ", " << bytes << " bytes, device to device " << from << into
                              << ", receive first " << receive_first);
            Machines both(2, variant);
            const auto data = pattern(bytes, bytes);
            const std::vector<std::byte> blank(bytes + 10, std::byte{7});
            const Room source(both, 0, from, data), target(both, 1, into, blank);
            Pending* receive = nullptr;
            if (receive_first) receive = both.worlds[1].recv(0, {1, 0, 5, 0}, target.buffer());
            Pending* send = both.worlds[0].send(mode, 1, {1, 0, 5, 0}, source.buffer());
            if (!receive_first) {
              both.worlds.rounds(10);
              receive = both.worlds[1].recv(0, {1, 0, 5, 0}, target.buffer());
            }
            // The last copy has ended when the request has, so one look decides.
            REQUIRE(both.worlds.until([&] { return receive->done; }));
            REQUIRE(target.content() == begins_with(blank, data));
            REQUIRE(receive->status.bytes == static_cast<std::int64_t>(bytes));
            REQUIRE(both.worlds.until([&] { return send->done; }));
            REQUIRE(send->status.code == Code::ok);
            both.worlds[0].release(send);
            both.worlds[1].release(receive);
            both.worlds.rounds(100);
            REQUIRE(both.worlds.core(0).kept_bytes() == 0);
            REQUIRE(both.worlds.core(1).kept_bytes() == 0);
          }
}

TEST_CASE("a message longer than its receive is cut in any kind of memory", "[p2p][device]") {
  for (const MemoryVariant& variant : memory_variants())
    for (const std::size_t bytes : kSizes)
      for (const auto& [from, into] : kKinds) {
        if (bytes == 0) continue;
        INFO(variant.name << ", " << bytes << " bytes, device to device " << from << into);
        Machines both(2, variant);
        auto data = pattern(bytes, 3);
        const Room source(both, 0, from, data);
        data.resize(bytes / 2);
        const Room target(both, 1, into, std::vector<std::byte>(bytes / 2));
        Pending* send = both.worlds[0].send(Mode::standard, 1, {1, 0, 5, 0}, source.buffer());
        Pending* receive = both.worlds[1].recv(0, {1, 0, 5, 0}, target.buffer());
        REQUIRE(both.worlds.until([&] { return send->done && receive->done; }));
        REQUIRE(receive->status.code == Code::truncate);
        REQUIRE(target.content() == data);
      }
}

TEST_CASE("layouts are packed and unpacked by the device", "[p2p][device]") {
  auto every_other = *types::make_vector(300, 3, 5, *types::predefined_type(kByte));
  every_other->commit();
  const auto extent = static_cast<std::size_t>(every_other->extent());
  for (const MemoryVariant& variant : memory_variants())
    for (const types::Count count : {1, 100})
      for (const auto& [from, into] : kKinds)
        for (const bool strided_source : {false, true}) {
          INFO(variant.name << ", " << count << " elements, device to device " << from << into);
          Machines both(2, variant);
          const auto bytes = static_cast<std::size_t>(count * every_other->size());
          const std::size_t spread = static_cast<std::size_t>(count) * extent;
          const Room source(both, 0, from, pattern(strided_source ? spread : bytes, 9));
          const Room target(both, 1, into, std::vector<std::byte>(strided_source ? bytes : spread));
          const Buffer out = strided_source ? source.as(count, *every_other) : source.buffer();
          const Buffer in = strided_source ? target.buffer() : target.as(count, *every_other);
          Pending* send = both.worlds[0].send(Mode::standard, 1, {1, 0, 5, 0}, out);
          Pending* receive = both.worlds[1].recv(0, {1, 0, 5, 0}, in);
          REQUIRE(both.worlds.until([&] { return send->done && receive->done; }));
          auto given = source.content();
          std::vector<std::byte> wanted(strided_source ? bytes : spread);
          const Buffer strided =
              Buffer::whole(strided_source ? given.data() : wanted.data(), count, *every_other);
          if (strided_source)
            types::pack(strided, 0, wanted);
          else
            types::unpack(strided, 0, given);
          REQUIRE(target.content() == wanted);
        }
}

TEST_CASE("messages match in order while their copies end in any", "[p2p][device]") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    std::vector<MemoryVariant> all = memory_variants();
    MemoryVariant& variant = all[seed % all.size()];
    variant.link.seed = variant.device.seed = seed;
    // Little credit in some: short messages are then offered.
    Machines three(
        3, variant,
        seed % 2 == 0 ? Knobs::defaults() : knobs_with({{"TUTTI_UNEXPECTED_BYTES", "4096"}}));
    std::vector<std::unique_ptr<Room>> rooms;
    std::vector<Pending*> requests;
    std::vector<std::pair<Room*, std::vector<std::byte>>> wanted;
    for (int i = 0; i < 120; ++i) {
      const int from = static_cast<int>(random() % 3), to = static_cast<int>(random() % 3);
      const std::size_t bytes = random() % 4 == 0 ? random() % 40'000 : random() % 1200;
      const auto data = pattern(bytes, static_cast<std::uint64_t>(i));
      const auto room = [&](int rank, const std::vector<std::byte>& content) {
        return rooms.emplace_back(std::make_unique<Room>(three, rank, random() % 2 == 0, content))
            .get();
      };
      Room* const source = room(from, data);
      Room* const target = room(to, std::vector<std::byte>(bytes));
      // One tag: only their order tells them apart.
      requests.push_back(
          three.worlds[from].send(Mode::standard, to, {1, from, 1, 0}, source->buffer()));
      requests.push_back(three.worlds[to].recv(from, {1, from, 1, 0}, target->buffer()));
      wanted.emplace_back(target, data);
      three.worlds.rounds(static_cast<int>(random() % 3));
    }
    INFO("seed " << seed);
    REQUIRE(three.worlds.until([&] {
      return std::all_of(requests.begin(), requests.end(), [](Pending* r) { return r->done; });
    }));
    for (Pending* each : requests) REQUIRE(each->status.code == Code::ok);
    for (const auto& [target, data] : wanted) REQUIRE(target->content() == data);
  }
}

TEST_CASE("a probe sees a message of a device, a matched receive takes it", "[p2p][device]") {
  for (const std::size_t bytes : kSizes) {
    Machines both(2, memory_variants()[0]);
    const auto data = pattern(bytes, 2);
    const Room source(both, 0, true, data);
    const Room target(both, 1, true, std::vector<std::byte>(bytes));
    Pending* send = both.worlds[0].send(Mode::standard, 1, {1, 0, 5, 0}, source.buffer());
    Status status;
    REQUIRE(both.worlds.until([&] { return both.worlds[1].probe(0, {1, 0, 5, 0}, &status); }));
    REQUIRE(status.bytes == static_cast<std::int64_t>(bytes));
    p2p::KeptMessage* const message = both.worlds[1].take(0, {1, 0, 5, 0}, &status);
    REQUIRE(message != nullptr);
    Pending* receive = both.worlds[1].recv_taken(message, target.buffer());
    REQUIRE(both.worlds.until([&] { return send->done && receive->done; }));
    REQUIRE(target.content() == data);
  }
}

TEST_CASE("copies and folds between kinds of memory are requests", "[p2p][device]") {
  const types::Datatype& type = *types::predefined_type(kInt);
  const types::Op& sum = *types::predefined_op(kSum);
  for (const MemoryVariant& variant : memory_variants())
    for (const auto& [first, second] : kKinds) {
      INFO(variant.name << ", device to device " << first << second);
      Machines one(1, variant);
      const Room source(one, 0, first, pattern(4000, 1)), target(one, 0, second, pattern(4000, 2));
      const Room copied(one, 0, !first, std::vector<std::byte>(4000));
      Pending* copy = one.worlds[0].copy(source.buffer(), copied.buffer());
      Pending* fold = one.worlds[0].fold({&sum, source.as(1000, type), target.as(1000, type)});
      REQUIRE(one.worlds.until([&] { return copy->done && fold->done; }));
      REQUIRE(copied.content() == source.content());
      auto wanted = pattern(4000, 2);
      sum.fold(source.content().data(), wanted.data(), 1000, type);
      REQUIRE(target.content() == wanted);
    }
}
