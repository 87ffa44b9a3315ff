// Frames to oneself wait in a queue until the next progress, so that posting never calls back.
//
// A payload without `done` is copied; a pinned one is handed over where it lies. A round
// delivers what was there when it began: frames that callbacks post come in the next round.
#include "transport/self/self.h"

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/true_while.h"
#include "transport/host_region.h"
#include "wireup/wireup.h"

namespace tutti::transport::self {
namespace {

constexpr std::size_t kMaxFrame = std::size_t{64} << 10;
constexpr std::size_t kQueuedFrames = 1024;
constexpr std::size_t kChunk = 64;  // frames
constexpr std::size_t kShort = 48;  // bytes that lie beside their header

struct HeldFrame {
  FrameHeader header;
  std::span<const std::byte> payload;  // in one of the copies, or where the sender pinned it
  Done* done;
  std::array<std::byte, kShort> copy;
  std::vector<std::byte> long_copy;
};

// A bounded queue in chunks that stay where they are: what one lends outlives a push. Whenever it
// has run empty it begins at the first chunk again, which is in the cache.
class SelfQueue {
 public:
  bool try_push(const FrameView& frame) {
    if (last_ - first_ == kQueuedFrames) return false;
    if (first_ == last_ && !is_lent_) first_ = last_ = 0;
    HeldFrame& entry = at(last_);
    entry.header = *frame.header;
    entry.done = frame.done;
    const std::byte* from = frame.payload;
    if (frame.done == nullptr && frame.bytes > kShort) {
      entry.long_copy.assign(frame.payload, frame.payload + frame.bytes);
      from = entry.long_copy.data();
    } else if (frame.done == nullptr && frame.bytes > 0) {
      std::memcpy(entry.copy.data(), frame.payload, frame.bytes);
      from = entry.copy.data();
    }
    entry.payload = {from, frame.bytes};
    ++last_;  // what came before may find no memory
    return true;
  }
  std::size_t size() const { return last_ - first_; }
  bool is_empty() const { return first_ == last_ && !is_lent_; }  // nor is one being delivered
  // The oldest one, out of the queue; lent until give_back().
  HeldFrame& pop() {
    is_lent_ = true;
    return at(first_++);
  }
  // Back to where pop() took it.
  void put_back() {
    --first_;
    is_lent_ = false;
  }
  // Keeps the memory of long copies in the first chunk only.
  void give_back(HeldFrame& entry) {
    is_lent_ = false;
    if (entry.long_copy.capacity() > 0 && first_ > kChunk)
      std::vector<std::byte>().swap(entry.long_copy);
  }

 private:
  using Chunk = std::array<HeldFrame, kChunk>;
  HeldFrame& at(std::size_t number) {
    const std::size_t place = number % (kQueuedFrames + kChunk);
    std::unique_ptr<Chunk>& chunk = chunks_[place / kChunk];
    if (chunk == nullptr) [[unlikely]]
      chunk = std::make_unique<Chunk>();
    return (*chunk)[place % kChunk];
  }

  std::array<std::unique_ptr<Chunk>, kQueuedFrames / kChunk + 1> chunks_;
  std::size_t first_ = 0, last_ = 0;  // numbers, ever growing while it is not empty
  bool is_lent_ = false;
};

class SelfLink final : public Link {
 public:
  explicit SelfLink(SelfQueue& queue) : queue_(queue) {}

  bool try_post(const FrameView& frame) override { return queue_.try_push(frame); }
  bool is_empty() const override { return queue_.is_empty(); }

  Result<std::unique_ptr<Remote>> import(BlobView key) override { return HostRemote::import(key); }

  Result<void> get(Remote& from, std::uint64_t offset, const types::Buffer& into,
                   Done* done) override {
    const Memory memory = host_memory_of(into);
    TUTTI_TRY(at, static_cast<HostRemote&>(from).part(offset, memory.bytes));
    if (memory.bytes > 0)
      std::memmove(memory.data, reinterpret_cast<const void*>(at), memory.bytes);
    if (done != nullptr) done->fire(done, true);
    return {};
  }
  Result<void> put(Remote& to, std::uint64_t offset, const types::Buffer& from,
                   Done* done) override {
    const Memory memory = host_memory_of(from);
    TUTTI_TRY(at, static_cast<HostRemote&>(to).part(offset, memory.bytes));
    if (memory.bytes > 0) std::memmove(reinterpret_cast<void*>(at), memory.data, memory.bytes);
    if (done != nullptr) done->fire(done, true);
    return {};
  }
  Result<void> atomic(Remote& at, std::uint64_t offset, const Atomic& what, const Memory& before,
                      Done* done) override {
    TUTTI_TRY(address, static_cast<HostRemote&>(at).part(offset, before.bytes));
    TUTTI_DO(atomic_here(what, address, before));
    if (done != nullptr) done->fire(done, true);
    return {};
  }

 private:
  SelfQueue& queue_;
};

class SelfTransport final : public Transport {
 public:
  explicit SelfTransport(const Surroundings& around)
      : sink_(*around.sink), rank_(around.wireup->rank()) {}

  const char* name() const override { return "self"; }

  Traits traits(const Peer& peer) const override {
    Traits traits;
    traits.reaches = peer.rank == rank_;
    traits.why = traits.reaches ? "the rank itself" : "another rank";
    traits.kind = "self";
    traits.max_frame = kMaxFrame;
    traits.eager_bytes = kMaxFrame / 8;
    traits.gets = traits.puts = traits.atomics = traits.reaches;
    traits.get_from = traits.eager_bytes;
    return traits;
  }

  Blob address() const override { return {}; }

  Result<std::unique_ptr<Link>> connect(const Peer& peer, BlobView) override {
    TUTTI_CHECK(peer.rank == rank_, "self does not reach rank " + std::to_string(peer.rank));
    return std::unique_ptr<Link>(std::make_unique<SelfLink>(queue_));
  }

  Result<std::unique_ptr<Region>> expose(const Memory& memory) override {
    return std::unique_ptr<Region>(std::make_unique<HostRegion>(memory));
  }

  int progress() override {
    if (inside_ || queue_.size() == 0) return 0;
    const TrueWhile until_end(inside_);
    const std::size_t count = queue_.size();
    for (std::size_t i = 0; i < count; ++i) deliver();
    return static_cast<int>(count);
  }

  int wait_fd() override { return -1; }

 private:
  void deliver() {
    HeldFrame& entry = queue_.pop();
    bool is_sound = false;
    try {
      // The sink may read, not write, what is pinned: it is the sender's own buffer.
      is_sound =
          sink_.on_frame(rank_, entry.header,
                         {const_cast<std::byte*>(entry.payload.data()), entry.payload.size()});
    } catch (...) {  // there was no memory for it: it is delivered again
      queue_.put_back();
      throw;
    }
    TUTTI_CHECK(is_sound, "a frame to ourselves of kind " + std::to_string(entry.header.kind));
    if (entry.done != nullptr) entry.done->fire(entry.done, true);
    queue_.give_back(entry);
  }

  Sink& sink_;
  int rank_;
  SelfQueue queue_;
  bool inside_ = false;
};

}  // namespace

Result<std::unique_ptr<Transport>> open(const Surroundings& around) {
  return std::unique_ptr<Transport>(std::make_unique<SelfTransport>(around));
}

}  // namespace tutti::transport::self
