// queue: streams of the user's that calls are enqueued in.
//
// Each has two words in pinned memory: the stream writes the first as it goes, and stands still
// until the second says enough. Nothing of ours runs in CUDA's threads: it may run the host
// functions of several streams in one thread, where one that waits holds up all others (0051).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "device/cuda/driver.h"
#include "types/types.h"

namespace tutti::device::cuda {

class Gpu;

struct QueueWords {
  alignas(kCacheLine) std::atomic<std::uint32_t> reached;  // by the stream
  alignas(kCacheLine) std::atomic<std::uint32_t> passed;   // by us
};

// The words of a context's streams. They are used again, and their numbers go on: what a stream
// that was closed may still read lets it pass.
class QueueRoom {
 public:
  explicit QueueRoom(const Driver& driver) : driver_(driver) {}
  // The context is current. All at once, since the driver may wait for streams that stand still.
  Result<void> open();
  void close();
  QueueWords* take();  // null: there are as many streams as there can be
  void give(QueueWords* words) { free_.push_back(words); }
  std::size_t taken() const { return kMost - free_.size(); }

 private:
  static constexpr std::size_t kMost = 512;
  const Driver& driver_;
  QueueWords* all_ = nullptr;
  std::vector<QueueWords*> free_;
};

class Queue final : public types::DeviceQueue {
 public:
  // Both outlive it.
  static Result<std::unique_ptr<types::DeviceQueue>> open(const Driver& driver, Gpu& gpu,
                                                          CUstream stream);
  ~Queue() override;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  Result<void> mark(std::uint32_t number, bool waits) override;
  Result<void> look() const override;
  // acquire: partner is the stream's write, behind a fence of the whole system.
  std::uint32_t reached() const override { return words_.reached.load(std::memory_order_acquire); }
  // release: partner is the stream's wait, behind which it reads what was written before.
  void pass(std::uint32_t number) override {
    words_.passed.store(number, std::memory_order_release);
  }
  bool is_lost() const override;
  const std::string& name() const override { return name_; }
  void* handle() const override { return stream_; }
  int device() const override;

 private:
  Queue(const Driver& driver, Gpu& gpu, CUstream stream, QueueWords& words);
  Result<void> must_not_be_captured() const;
  const Driver& driver_;
  Gpu& gpu_;
  const CUstream stream_;
  QueueWords& words_;
  std::uint32_t last_;
  std::string name_;
};

}  // namespace tutti::device::cuda
