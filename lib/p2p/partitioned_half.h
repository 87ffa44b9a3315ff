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

  Result<void> find_memory() override {
    types::Device* const device = core_.devices().owner_of(shape_.message);
    TUTTI_DO(check_waits(device));
    shape_.message.device = device;
    return {};
  }
  void release() override {
    is_released_ = true;
    drop_if_idle();
  }

 protected:
  types::Count partition_bytes() const {
    return shape_.partitions == 0 ? 0 : shape_.message.bytes / shape_.partitions;
  }
  // Memory that was freed is no error here: its round begins, so that the other side is told.
  static Result<void> check_waits(const types::Device* device) {
    if (device == nullptr || device->is_usable() || device->refusal() != Code::other) return {};
    return fail(Code::other, "the GPU cannot wait for its caller");
  }
  void begin(Done on_done, void* owner) {
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
