// Messages out of a device's memory that the receiver's device reads: by a link that carries no
// frames, over which each may refuse or fail.
#include <random>

#include "machines.h"

using namespace tutti;
using namespace tutti::test;

namespace {

struct Refusals {
  bool exposes = true, imports = true, gets = true, copies = true;
};

// Reads the devices of all ranks.
struct Fleet {
  std::vector<std::unique_ptr<FakeDevice>> devices;
  Refusals refusals;
  int regions = 0, remotes = 0, reads = 0;
};

struct FleetRegion final : transport::Region {
  FleetRegion(Fleet& fleet, const Memory& memory) : owner(fleet), blob(2000) {
    ++owner.regions;
    blob[0] = static_cast<std::byte>(memory.kind);
    std::memcpy(blob.data() + 8, &memory, sizeof memory);
  }
  ~FleetRegion() override { --owner.regions; }
  BlobView key() const override { return blob; }
  Fleet& owner;
  Blob blob;  // long, so that it costs credit
};

struct FleetRemote final : transport::Remote {
  FleetRemote(Fleet& fleet, BlobView key) : owner(fleet) {
    ++owner.remotes;
    std::memcpy(&memory, key.data() + 8, sizeof memory);
  }
  ~FleetRemote() override { --owner.remotes; }
  Fleet& owner;
  Memory memory;
};

class FleetLink final : public transport::Link {
 public:
  explicit FleetLink(Fleet& fleet) : fleet_(fleet) {}
  bool try_post(const transport::FrameView&) override { return false; }
  Result<std::unique_ptr<transport::Remote>> import(BlobView key) override {
    if (!fleet_.refusals.imports) return fail(Code::other, "no import");
    return std::unique_ptr<transport::Remote>(std::make_unique<FleetRemote>(fleet_, key));
  }
  Result<void> get(transport::Remote& from, std::uint64_t offset, const Buffer& into,
                   Done* done) override {
    if (!fleet_.refusals.gets) return fail(Code::other, "no get");
    ++fleet_.reads;
    const Memory& memory = static_cast<FleetRemote&>(from).memory;
    REQUIRE(offset + static_cast<std::uint64_t>(into.bytes) <= memory.bytes);
    if (!fleet_.refusals.copies) {
      done->fire(done, false);
      return {};
    }
    const std::byte* const at =
        fleet_.devices[static_cast<std::size_t>(memory.device)]->seen(memory.data) + offset;
    const std::span<const std::byte> bytes(at, static_cast<std::size_t>(into.bytes));
    if (into.device != nullptr) {
      into.device->unpack(into, 0, bytes, done);
    } else {
      types::unpack(into, 0, bytes);
      done->fire(done, true);
    }
    return {};
  }

 private:
  Fleet& fleet_;
};

class FleetTransport final : public transport::Transport {
 public:
  explicit FleetTransport(Fleet& fleet) : fleet_(fleet) {}
  const char* name() const override { return "fleet"; }
  transport::Traits traits(const transport::Peer&) const override {
    transport::Traits traits;
    traits.reaches = traits.gets = true;
    traits.kinds = kinds_of(MemoryKind::cuda);
    return traits;
  }
  Blob address() const override { return {}; }
  Result<std::unique_ptr<transport::Link>> connect(const transport::Peer&, BlobView) override {
    return std::unique_ptr<transport::Link>(std::make_unique<FleetLink>(fleet_));
  }
  Result<std::unique_ptr<transport::Region>> expose(const Memory& memory) override {
    if (!fleet_.refusals.exposes) return fail(Code::other, "no export");
    return std::unique_ptr<transport::Region>(std::make_unique<FleetRegion>(fleet_, memory));
  }
  int progress() override { return 0; }
  int wait_fd() override { return -1; }

 private:
  Fleet& fleet_;
};

// Two ranks, a device each, one thread.
struct Pair {
  explicit Pair(const FakeDeviceOptions& device, const Refusals& refusals = {},
                const FakeOptions& frames = {})
      : net(2, frames), wireups(wireup::in_threads({0, 0})) {
    fleet.refusals = refusals;
    for (int rank = 0; rank < 2; ++rank) {
      fleet.devices.push_back(std::make_unique<FakeDevice>(rank, device));
      auto opened =
          Endpoint::open_over(*wireups[static_cast<std::size_t>(rank)], Knobs::defaults(),
                              [this, rank](const transport::Surroundings& around) {
                                transport::Opened all;
                                all.transports.push_back(net.open(rank, around.sink));
                                all.transports.push_back(std::make_unique<FleetTransport>(fleet));
                                return all;
                              });
      REQUIRE(opened.has_value());
      endpoints.push_back(std::move(*opened));
      endpoints.back()->devices().add(*fleet.devices.back());
    }
  }
  Buffer take(int rank, bool on_device, const std::vector<std::byte>& content) {
    Buffer buffer = Buffer::plain(nullptr, static_cast<types::Count>(content.size()));
    if (on_device) {
      buffer.device = fleet.devices[static_cast<std::size_t>(rank)].get();
      buffer.data = fleet.devices[static_cast<std::size_t>(rank)]->take(content.size());
    } else {
      buffer.data = host.emplace_back(std::make_unique<std::byte[]>(content.size())).get();
    }
    std::copy(content.begin(), content.end(), seen(buffer));
    return buffer;
  }
  std::byte* seen(const Buffer& buffer) const {
    return buffer.device == nullptr ? static_cast<std::byte*>(buffer.data)
                                    : static_cast<FakeDevice*>(buffer.device)->seen(buffer.data);
  }
  std::vector<std::byte> content(const Buffer& buffer) const {
    return {seen(buffer), seen(buffer) + buffer.bytes};
  }
  bool until(const std::function<bool()>& condition) {
    const std::int64_t deadline = now_ns() + kPatience_ns;
    while (!condition()) {
      if (now_ns() > deadline) return false;
      for (int rank = 0; rank < 2; ++rank)
        if (rank != lost) endpoints[static_cast<std::size_t>(rank)]->progress();
    }
    return true;
  }
  Pending* send(int tag, const Buffer& buffer) {
    return endpoints[0]->send(Mode::standard, 1, {1, 0, tag, 0}, buffer);
  }
  Pending* receive(int tag, const Buffer& buffer) {
    return endpoints[1]->recv(0, {1, 0, tag, 0}, buffer);
  }

  Fleet fleet;
  std::vector<std::unique_ptr<std::byte[]>> host;
  FakeNet net;
  std::vector<std::unique_ptr<wireup::Wireup>> wireups;
  int lost = -1;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
};

}  // namespace

TEST_CASE("a device's memory is read by the receiver, whatever that one's memory",
          "[p2p][device]") {
  for (const int delay : {0, 5, 60})
    for (const bool into_device : {true, false})
      for (const std::size_t bytes : {std::size_t{16'384}, std::size_t{300'000}}) {
        FakeDeviceOptions device;
        device.longest_delay = delay;
        Pair pair(device);
        const auto data = pattern(bytes, 1);
        const Buffer from = pair.take(0, true, data);
        const Buffer into = pair.take(1, into_device, std::vector<std::byte>(bytes));
        for (int round = 0; round < 3; ++round) {
          Pending* const receive = round == 1 ? nullptr : pair.receive(round, into);
          Pending* const send = pair.send(round, from);
          Pending* const late = round == 1 ? pair.receive(round, into) : receive;
          REQUIRE(pair.until([&] { return send->done && late->done; }));
          REQUIRE(send->status.code == Code::ok);
          REQUIRE(late->status.code == Code::ok);
          REQUIRE(pair.content(into) == data);
        }
        REQUIRE(pair.fleet.reads == 3);
        REQUIRE(pair.fleet.regions == 0);
        REQUIRE(pair.fleet.remotes == 0);
      }
}

TEST_CASE("where anybody refuses, the message goes by frames", "[p2p][device]") {
  Refusals all[4];
  all[0].exposes = all[1].imports = all[2].gets = all[3].copies = false;
  for (const Refusals& refusals : all)
    for (const std::size_t bytes : {std::size_t{20'000}, std::size_t{300'000}}) {
      Pair pair({}, refusals);
      const auto data = pattern(bytes, 1);
      const Buffer from = pair.take(0, true, data);
      for (int round = 0; round < 12; ++round) {
        const Buffer into = pair.take(1, round % 2 == 0, std::vector<std::byte>(bytes));
        Pending* const receive = pair.receive(round, into);
        Pending* const send = pair.send(round, from);
        REQUIRE(pair.until([&] { return send->done && receive->done; }));
        REQUIRE(receive->status.code == Code::ok);
        REQUIRE(pair.content(into) == data);
      }
      REQUIRE(pair.fleet.regions == 0);
      REQUIRE(pair.fleet.remotes == 0);
    }
}

TEST_CASE("a receive that is too short reads what it has room for", "[p2p][device]") {
  Pair pair({});
  const auto data = pattern(100'000, 1);
  const Buffer into = pair.take(1, true, std::vector<std::byte>(40'000));
  Pending* const receive = pair.receive(1, into);
  Pending* const send = pair.send(1, pair.take(0, true, data));
  REQUIRE(pair.until([&] { return send->done && receive->done; }));
  REQUIRE(receive->status.code == Code::truncate);
  REQUIRE(send->status.code == Code::ok);
  REQUIRE(pair.content(into) == std::vector<std::byte>(data.begin(), data.begin() + 40'000));
}

TEST_CASE("what is read when its sender is lost or its context cancelled ends with the copy",
          "[p2p][device]") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    FakeDeviceOptions device;
    device.longest_delay = 100;
    device.seed = seed;
    Refusals refusals;
    refusals.copies = seed % 4 != 3;
    Pair pair(device, refusals);
    const auto data = pattern(50'000, 1);
    const Buffer from = pair.take(0, true, data);
    std::vector<Pending*> receives;
    for (int i = 0; i < 5; ++i) {
      pair.send(i, from);
      receives.push_back(pair.receive(i, pair.take(1, true, std::vector<std::byte>(50'000))));
    }
    int left = static_cast<int>(random() % 200);
    pair.until([&] { return --left < 0; });
    if (seed % 2 == 0) {
      pair.net.lose(0);
      pair.lost = 0;
    } else {
      pair.endpoints[1]->cancel(1, Code::other);
    }
    REQUIRE(pair.until([&] {
      return std::all_of(receives.begin(), receives.end(), [](Pending* r) { return r->done; });
    }));
    REQUIRE(pair.fleet.devices[1]->pending() == 0);
    REQUIRE(pair.fleet.remotes == 0);
  }
}

TEST_CASE("a send that waits for its device keeps the order of messages", "[p2p][device]") {
  FakeDeviceOptions device;
  device.longest_delay = 100;
  Pair pair(device);
  const auto data = pattern(50'000, 1), word = pattern(8, 2);
  const Buffer long_in = pair.take(1, true, std::vector<std::byte>(50'000));
  const Buffer short_in = pair.take(1, false, std::vector<std::byte>(50'000));
  Pending* const first = pair.send(7, pair.take(0, true, data));
  Pending* const second = pair.send(7, pair.take(0, false, word));
  Pending* const long_one = pair.receive(7, long_in);
  Pending* const short_one = pair.receive(7, short_in);
  REQUIRE(
      pair.until([&] { return first->done && second->done && long_one->done && short_one->done; }));
  REQUIRE(pair.content(long_in) == data);
  REQUIRE(short_one->status.bytes == 8);
  // Cancelled while it waits.
  Pending* const gone = pair.send(8, pair.take(0, true, data));
  pair.endpoints[0]->cancel(gone);
  REQUIRE(pair.until([&] { return gone->done; }));
  REQUIRE(gone->status.cancelled);
  REQUIRE(pair.fleet.regions == 0);
}

TEST_CASE("a message to oneself is one copy of the device's", "[p2p][device]") {
  for (const bool from_device : {true, false}) {
    Pair pair({});
    const auto data = pattern(3'000'000, 1);
    const Buffer from = pair.take(0, from_device, data);
    const Buffer into = pair.take(0, true, std::vector<std::byte>(data.size()));
    const int before = pair.fleet.devices[0]->begun();
    Pending* const receive = pair.endpoints[0]->recv(0, {1, 0, 1, 0}, into);
    Pending* const send = pair.endpoints[0]->send(Mode::standard, 0, {1, 0, 1, 0}, from);
    REQUIRE(pair.until([&] { return send->done && receive->done; }));
    REQUIRE(pair.content(into) == data);
    if (from_device) REQUIRE(pair.fleet.devices[0]->begun() - before <= 2);
  }
}

TEST_CASE("where the sender's device fails both sides are told", "[p2p][device]") {
  for (const std::size_t bytes : {std::size_t{20'000}, std::size_t{300'000}}) {
    FakeDeviceOptions device;
    device.fails_from = 0;
    Pair pair(device);
    Pending* const send = pair.send(1, pair.take(0, true, pattern(bytes, 1)));
    Pending* const receive = pair.receive(1, pair.take(1, false, std::vector<std::byte>(bytes)));
    REQUIRE(pair.until([&] { return send->done && receive->done; }));
    REQUIRE(send->status.code == Code::other);
    REQUIRE(receive->status.code == Code::other);
    REQUIRE(pair.fleet.regions == 0);
  }
}
