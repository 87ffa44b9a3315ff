// Two ranks with a device each, and a link that carries no frames but reads the devices of both;
// each of its steps may refuse or fail.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "machines.h"

namespace tutti::test {

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
  void drop(int) override {}

 private:
  Fleet& fleet_;
};

// Two ranks, a device each, one thread.
struct FleetPair {
  explicit FleetPair(const FakeDeviceOptions& device, const Refusals& refusals = {},
                     const FakeOptions& frames = {}, int sender_delay = 0,
                     const Knobs& knobs = Knobs::defaults())
      : net(2, frames), wireups(wireup::in_threads({0, 0})) {
    fleet.refusals = refusals;
    for (int rank = 0; rank < 2; ++rank) {
      FakeDeviceOptions options = device;
      if (rank == 0 && sender_delay > 0) options.longest_delay = sender_delay;
      fleet.devices.push_back(std::make_unique<FakeDevice>(rank, options));
      auto opened =
          Endpoint::open_over(*wireups[static_cast<std::size_t>(rank)], knobs,
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

}  // namespace tutti::test
