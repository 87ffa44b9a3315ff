// Between two devices that do not reach each other, or a device and a layout in the host's memory:
// by way of host memory, in chunks, some of which are on their way out while others are on their
// way in.
#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "types/by_device.h"

namespace tutti::types {
namespace {

constexpr std::size_t kChunks = 4;

// Ends itself with the last of its chunks.
class Relay {
 public:
  Relay(const Buffer& from, const Buffer& into, Done* done)
      : from_(from), into_(into), done_(done), total_(std::min(from.bytes, into.bytes)) {
    Device* const one = from.device != nullptr ? from.device : into.device;
    most_ = one->pace().chunk;
    chunks_.resize(
        std::min<std::size_t>(kChunks, (static_cast<std::size_t>(total_) + most_ - 1) / most_));
    running_ = chunks_.size();
    for (Chunk& chunk : chunks_) {
      chunk.relay = this;
      chunk.fire = &Relay::on_done;
      chunk.memory.resize(most_);
    }
  }
  void start() {
    if (chunks_.empty()) return end();
    // The last to find nothing left ends this.
    for (std::size_t i = 0, count = chunks_.size(); i < count; ++i) next(chunks_[i]);
  }

 private:
  struct Chunk : Done {
    Relay* relay = nullptr;
    std::vector<std::byte> memory;
    Count offset = 0;
    std::size_t bytes = 0;
    bool is_packed = false;
  };
  static void on_done(Done* self, bool ok) {
    Chunk& chunk = *static_cast<Chunk*>(self);
    Relay& relay = *chunk.relay;
    relay.ok_ = relay.ok_ && ok;
    if (ok && !chunk.is_packed) return relay.unpack(chunk);
    relay.next(chunk);
  }
  void next(Chunk& chunk) {
    if (begun_ == total_ || !ok_) {
      if (--running_ == 0) end();
      return;
    }
    chunk.offset = begun_;
    chunk.bytes = std::min(most_, static_cast<std::size_t>(total_ - begun_));
    chunk.is_packed = false;
    begun_ += static_cast<Count>(chunk.bytes);
    const std::span<std::byte> out{chunk.memory.data(), chunk.bytes};
    if (from_.device != nullptr)
      return begin([&] { from_.device->pack(from_, chunk.offset, out, &chunk); });
    pack(from_, chunk.offset, out);
    unpack(chunk);
  }
  void unpack(Chunk& chunk) {
    chunk.is_packed = true;
    const std::span<const std::byte> in{chunk.memory.data(), chunk.bytes};
    if (into_.device != nullptr)
      return begin([&] { into_.device->unpack(into_, chunk.offset, in, &chunk); });
    types::unpack(into_, chunk.offset, in);
    next(chunk);
  }
  // What there is no memory for fails; what is under way ends first. Held while the device is
  // asked, which may end the last chunk.
  template <class Work>
  void begin(const Work& work) {
    ++running_;
    try {
      work();
    } catch (const std::bad_alloc&) {
      ok_ = false;
      --running_;
    }
    if (--running_ == 0) end();
  }
  void end() {
    Done* const done = done_;
    const bool ok = ok_;
    delete this;
    done->fire(done, ok);
  }

  const Buffer from_, into_;
  Done* const done_;
  const Count total_;
  Count begun_ = 0;
  std::size_t most_ = 0, running_ = 0;
  bool ok_ = true;
  std::vector<Chunk> chunks_;
};

}  // namespace

void begin_relay(const Buffer& from, const Buffer& into, Done* done) {
  (new Relay(from, into, done))->start();
}

}  // namespace tutti::types
