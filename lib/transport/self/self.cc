// Frames to oneself wait in a queue until the next progress, so that posting never calls back.
//
// A payload without `done` is copied; a pinned one is handed over where it lies. A round
// delivers what was there when it began: frames that callbacks post come in the next round.
#include "transport/self/self.h"

#include <cstring>
#include <deque>
#include <utility>

#include "base/check.h"
#include "wireup/wireup.h"

namespace tutti::transport::self {
namespace {

constexpr std::size_t kMaxFrame = std::size_t{64} << 10;
constexpr std::size_t kQueuedFrames = 1024;

struct Waiting {
  FrameHeader header;
  std::vector<std::byte> copy;
  const std::byte* pinned = nullptr;
  std::size_t bytes = 0;
  Done* done = nullptr;
};

// A bounded queue that keeps its buffers.
class Queue {
 public:
  bool try_push(const FrameView& frame) {
    if (waiting_.size() == kQueuedFrames) return false;
    Waiting entry;
    if (!spare_.empty()) {
      entry = std::move(spare_.back());
      spare_.pop_back();
    }
    entry.header = *frame.header;
    entry.bytes = frame.bytes;
    entry.done = frame.done;
    entry.pinned = frame.payload;
    if (frame.done == nullptr) entry.copy.assign(frame.payload, frame.payload + frame.bytes);
    waiting_.push_back(std::move(entry));
    return true;
  }
  std::size_t size() const { return waiting_.size(); }
  Waiting pop() {
    Waiting entry = std::move(waiting_.front());
    waiting_.pop_front();
    return entry;
  }
  void recycle(Waiting entry) {
    if (spare_.size() < 64) spare_.push_back(std::move(entry));
  }

 private:
  std::deque<Waiting> waiting_;
  std::vector<Waiting> spare_;
};

class SelfLink final : public Link {
 public:
  explicit SelfLink(Queue& queue) : queue_(queue) {}

  bool try_post(const FrameView& frame) override { return queue_.try_push(frame); }

  Result<Key> expose(const Memory& memory) override {
    Key key(sizeof memory.data);
    std::memcpy(key.data(), &memory.data, key.size());
    return key;
  }

  Result<void> fetch(const Key& key, const Memory& into, Done* done) override {
    const void* from = nullptr;
    TUTTI_CHECK(key.size() == sizeof from, "a key that self did not make");
    std::memcpy(&from, key.data(), sizeof from);
    if (into.bytes > 0) std::memmove(into.data, from, into.bytes);
    if (done != nullptr) done->fire(done, true);
    return {};
  }

 private:
  Queue& queue_;
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
    traits.latency_us = 0.05;
    traits.bandwidth_gbs = 50;
    traits.max_frame = kMaxFrame;
    traits.eager_bytes = kMaxFrame / 8;
    traits.fetches = traits.reaches;
    traits.fetch_from = traits.eager_bytes;
    return traits;
  }

  Blob address() const override { return {}; }

  Result<std::unique_ptr<Link>> connect(const Peer& peer, BlobView) override {
    TUTTI_CHECK(peer.rank == rank_, "self does not reach rank " + std::to_string(peer.rank));
    return std::unique_ptr<Link>(std::make_unique<SelfLink>(queue_));
  }

  int progress() override {
    if (inside_ || queue_.size() == 0) return 0;
    inside_ = true;
    const std::size_t count = queue_.size();
    for (std::size_t i = 0; i < count; ++i) deliver();
    inside_ = false;
    return static_cast<int>(count);
  }

  int wait_fd() override { return -1; }

 private:
  void deliver() {
    Waiting entry = queue_.pop();
    // The sink may read, not write, what is pinned: it is the sender's own buffer.
    std::byte* payload =
        entry.done != nullptr ? const_cast<std::byte*>(entry.pinned) : entry.copy.data();
    sink_.on_frame(rank_, entry.header, {payload, entry.bytes});
    if (entry.done != nullptr) entry.done->fire(entry.done, true);
    queue_.recycle(std::move(entry));
  }

  Sink& sink_;
  int rank_;
  Queue queue_;
  bool inside_ = false;
};

}  // namespace

Result<std::unique_ptr<Transport>> open(const Surroundings& around) {
  return std::unique_ptr<Transport>(std::make_unique<SelfTransport>(around));
}

}  // namespace tutti::transport::self
