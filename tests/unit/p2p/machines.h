// Worlds whose ranks have a device each, and memory of either kind.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "fake_device.h"
#include "worlds.h"

namespace tutti::test {

struct MemoryVariant {
  const char* name;
  FakeOptions link;
  FakeDeviceOptions device;
  std::vector<FakeOptions> bulk = {};
  bool moves = false;  // all these links move a device's memory themselves
};

inline std::vector<MemoryVariant> memory_variants() {
  std::vector<MemoryVariant> all(12);
  all[0].name = "plain";
  all[1].name = "a full and slow link";
  all[1].link = full_and_slow();
  all[2].name = "a link that gets";
  all[2].link.gets = true;
  all[2].link.get_from = 2000;
  all[3].name = "a link that does not place";
  all[3].link.places = false;
  all[3].link.late_done = true;
  all[4].name = "copies that end at once";
  all[4].device.longest_delay = 0;
  all[6].name = "a link that gets where that is faster";
  all[6].link.gets = all[6].link.gets_are_judged = true;
  all[6].link.get_from = 2000;
  all[5].name = "copies that end very late";
  all[5].device.longest_delay = 60;
  FakeOptions bulk;
  bulk.name = "bulk";
  bulk.bulk_from = 4000;
  bulk.max_frame = 1500;
  bulk.longest_delay = 3;
  bulk.refuse_percent = 10;
  bulk.late_done = true;
  bulk.kinds = kinds_of(MemoryKind::host) | kinds_of(MemoryKind::cuda);
  all[7].name = "a bulk link of all memory";
  all[8].name = "a bulk link that moves a device's memory";
  all[7].bulk = all[8].bulk = {bulk};
  all[8].moves = true;
  all[9].name = "a link that moves a device's memory";
  all[9].link.late_done = true;
  all[9].moves = true;
  all[10].name = "a link that lends";
  all[10].link.lends = 1 << 20;
  all[10].device.longest_delay = 60;
  all[11].name = "a full link that lends little and places the rest";
  all[11].link.lends = 6000;
  all[11].link.capacity = 2;
  all[11].link.refuse_percent = 30;
  return all;
}

// Worlds of which each has a device.
struct Machines {
  explicit Machines(int ranks, MemoryVariant variant, Knobs knobs = Knobs::defaults())
      : worlds(ranks, with_sight(variant, variant.link), std::move(knobs), with_sight(variant)) {
    for (int rank = 0; rank < ranks; ++rank) {
      devices.push_back(std::make_unique<FakeDevice>(rank, variant.device));
      worlds[rank].devices().add(*devices.back());
    }
  }
  FakeDevice& device(int rank) { return *devices[static_cast<std::size_t>(rank)]; }
  // Links that move a device's memory, whosever it is, touch what the test can see of it.
  FakeOptions with_sight(const MemoryVariant& variant, FakeOptions link) const {
    if (variant.moves) {
      link.moves = kinds_of(MemoryKind::host) | kinds_of(MemoryKind::cuda);
      link.seen = [this](const void* at) {
        const auto owner = std::find_if(devices.begin(), devices.end(),
                                        [&](const auto& each) { return each->owns(at); });
        return (*owner)->seen(at);
      };
    }
    return link;
  }
  std::vector<FakeOptions> with_sight(const MemoryVariant& variant) const {
    std::vector<FakeOptions> all;
    for (const FakeOptions& each : variant.bulk) all.push_back(with_sight(variant, each));
    return all;
  }

  // The worlds end first: they wait for their devices.
  std::vector<std::unique_ptr<FakeDevice>> devices;
  Worlds worlds;
};

// Memory of one rank, of either kind.
class Room {
 public:
  Room(Machines& machines, int rank, bool on_device, const std::vector<std::byte>& content)
      : host_(content) {
    data_ = host_.data();
    if (!on_device) return;
    device_ = &machines.device(rank);
    data_ = device_->take(content.size());
    std::copy(content.begin(), content.end(), device_->seen(data_));
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  Buffer buffer() const {
    Buffer buffer = Buffer::plain(data_, static_cast<types::Count>(host_.size()));
    buffer.device = device_;
    return buffer;
  }
  Buffer as(types::Count count, const types::Datatype& type) const {
    Buffer buffer = Buffer::whole(data_, count, type);
    buffer.device = device_;
    return buffer;
  }
  std::vector<std::byte> content() const {
    if (device_ == nullptr) return host_;
    const std::byte* const at = device_->seen(data_);
    return {at, at + host_.size()};
  }

 private:
  std::vector<std::byte> host_;
  FakeDevice* device_ = nullptr;
  std::byte* data_;
};

}  // namespace tutti::test
