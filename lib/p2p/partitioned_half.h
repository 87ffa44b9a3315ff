// What both sides of a partitioned message have: the round under way, and its requests. Private to
// p2p.
#pragma once

#include <vector>

#include "p2p/core.h"

namespace tutti::p2p {

// Lives on while messages are under way.
class PartitionedHalf : public Partitioned {
 public:
  PartitionedHalf(Core& core, int peer, std::uint32_t context, const Shape& shape)
      : core_(core), peer_(peer), shape_(shape), context_(context) {
    core_.channel_.halves.push_back(this);
  }
  ~PartitionedHalf() override { std::erase(core_.channel_.halves, this); }
  PartitionedHalf(const PartitionedHalf&) = delete;
  PartitionedHalf& operator=(const PartitionedHalf&) = delete;

  std::uint32_t context() const { return context_; }
  virtual void cancel(Code code) = 0;

  void release() override {
    is_released_ = true;
    drop_if_idle();
  }

 protected:
  types::Count partition_bytes() const {
    return shape_.partitions == 0 ? 0 : shape_.message.bytes / shape_.partitions;
  }
  // Since the last round the program may have freed the message's memory and got other memory at
  // its address: a GPU's where the host's was, or the other way round.
  void begin(Done on_done, void* owner) {
    shape_.message.device = core_.devices().owner_of(shape_.message);
    on_done_ = on_done;
    owner_ = owner;
    status_ = {};
  }
  void end() { on_done_(owner_, status_); }
  void note(const Status& part) {
    if (status_.code == Code::ok) status_.code = part.code;
    status_.bytes += part.bytes;
  }
  // Between these it is not freed.
  void hold() { ++pending_; }
  void let_go() {
    --pending_;
    drop_if_idle();
  }
  // Calls `Handle` of the derived side when the request is done, perhaps at once.
  template <class Derived, void (Derived::*Handle)(const Status&)>
  void follow(Pending* request) {
    ++pending_;
    request->owner = static_cast<Derived*>(this);
    if (request->done) return settle<Derived, Handle>(request);
    request->on_done = &settle<Derived, Handle>;
  }

  Code why_cancelled() const { return core_.channel_.cancelled.why(context_, kAnySource); }
  void cancel_stream(std::uint32_t stream, int sender, Code code) {
    core_.cancel_in(kStreams | stream, sender, code);
  }

  Core& core_;
  const int peer_;
  Shape shape_;
  Status status_;

 private:
  template <class Derived, void (Derived::*Handle)(const Status&)>
  static void settle(Pending* request) {
    auto* const self = static_cast<Derived*>(request->owner);
    const Status status = request->status;
    self->core_.release(request);
    (self->*Handle)(status);
    --self->pending_;
    self->drop_if_idle();
  }
  void drop_if_idle() {
    if (is_released_ && pending_ == 0) delete this;
  }

  const std::uint32_t context_;
  Done on_done_ = nullptr;
  void* owner_ = nullptr;
  int pending_ = 0;  // requests under way, or a handler running
  bool is_released_ = false;
};

}  // namespace tutti::p2p
