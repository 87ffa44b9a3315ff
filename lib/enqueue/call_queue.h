// call_queue: the operations of one stream, in order. Private to enqueue.
//
// Who puts one holds the queue's mutex and not the gate; who begins and ends them holds the gate
// and not the mutex. Between both are three counts and the stream's words.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "enqueue/enqueue.h"

namespace tutti::enqueue {

class CallQueue {
 public:
  CallQueue(CallStreams& streams, std::unique_ptr<types::DeviceQueue> device_queue);
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  // Without the gate.
  Result<void> put(QueuedCall& operation);
  // Of our thread: the stream has reached something that has not begun. Without the gate.
  bool is_reached() const;
  // Of any thread: the call that has been here for the longest; null: none has not ended.
  const char* oldest_call() const;

  // With the gate.
  void begin_reached();
  void lose();  // the device is lost: what was not reached ends with an error
  std::optional<Failure> take_failure();
  bool is_empty() const;
  void close();
  void abandon();  // nobody works for it any more: the stream is let go
  bool is_lost() const { return device_queue_ != nullptr && device_queue_->is_lost(); }
  const std::string& name() const { return name_; }
  const types::DeviceQueue& device_queue() const { return *device_queue_; }

 private:
  static constexpr std::size_t kMost = 256;
  struct Slot {
    CallQueue* queue = nullptr;
    QueuedCall operation;
    std::atomic<const char*> call = nullptr;  // relaxed; the operation's, for other threads
    std::uint32_t number = 0;                 // the stream's
    bool is_awaited = false;                  // by the stream
    bool has_ended = false;
    std::size_t left = 0;  // of a wait: not done yet
    comm::Request* begun = nullptr;
  };

  Slot& slot(std::uint64_t place) { return (*slots_)[place % kMost]; }
  const Slot& slot(std::uint64_t place) const { return (*slots_)[place % kMost]; }
  Result<void> wait_for_room() const;
  Result<void> mark(const Slot& slot);
  Result<void> put_streamed(Slot& slot);
  void count(const Slot& slot);
  void uncount(QueuedCall::What what);
  void begin(Slot& slot);
  void begin_message(Slot& slot);
  void begin_collective(Slot& slot);
  void begin_wait(Slot& slot);
  void follow(Slot& slot, comm::Request* request);
  static void on_done(void* slot, const comm::Request& request);
  static void on_waited(void* slot, const comm::Request& request);
  void end_begun(Slot& slot, const comm::Request& request);
  void end(Slot& slot, const p2p::Status& status, const comm::Reason& why = {});
  void end_wait(Slot& slot);
  void leave(Slot& slot);
  void report(const QueuedCall& operation, comm::Communicator& comm, const p2p::Status& status,
              const comm::Reason& why);

  CallStreams& streams_;
  std::unique_ptr<types::DeviceQueue> device_queue_;
  const std::string name_;
  std::mutex mutex_;  // of who puts
  std::uint32_t next_number_;
  std::unique_ptr<std::array<Slot, kMost>> slots_;
  // Counts of operations. put_: release, once the slot is filled; partner is our thread's acquire.
  // ended_: release, once the slot is empty; partner is the acquire of who puts.
  std::atomic<std::uint64_t> put_ = 0, ended_ = 0;
  std::uint64_t begun_ = 0;  // our thread's, and the gate's
  std::atomic<bool> is_closed_ = false;
  // With the gate.
  bool is_gone_ = false;
  std::vector<Failure> failures_;
};

}  // namespace tutti::enqueue
