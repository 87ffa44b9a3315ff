// Waiter: how a rank waits, the same everywhere: look again at once, then yield, then sleep
// (base/backoff.h). One per world. Who waits loops:
//   { progress; if idle waiter.pause(); else waiter.busy(); }
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/backoff.h"

namespace tutti::wireup {
class Segment;
struct LocalRecord;
class Wireup;
}  // namespace tutti::wireup

namespace tutti::transport {

struct Surroundings;
class Transport;

class Waiter {
 public:
  // How other threads of the rank get in while one waits; null: there are none.
  class Gate {
   public:
    virtual int release() = 0;  // whatever its depth, which it returns
    virtual void retake(int depth) = 0;
    virtual void let_in() = 0;  // one that is waiting, if any is

   protected:
    ~Gate() = default;
  };

  Waiter(const Surroundings& around, std::span<const std::unique_ptr<Transport>> transports);
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  // Something happened: whoever waits looks afresh.
  void busy() {
    waits_.restart();
    looks_.restart();
    if (stage_ != Stage::awake) [[unlikely]]
      busy_after_arming();
  }
  // Nothing happened: looks, yields, or sleeps until a peer, a descriptor or the daemon wakes
  // this rank. May return early at any time. The gate is free while it yields and sleeps.
  void pause(Gate* gate) {
    const auto next = stage_ == Stage::awake ? waits_.next() : Backoff::Next::sleep;
    if (next != Backoff::Next::look || gate != nullptr || is_due(waits_)) wait_by_phase(next, gate);
  }
  // As pause(), for callers that may not wait (MPI_Test in a loop): the same phases, but no sleep.
  // True if others had the core meanwhile, so that it is worth while to look once more.
  bool pause_awake(Gate* gate) {
    const auto next = looks_.next();
    if (next == Backoff::Next::look && gate == nullptr && !is_due(looks_)) return false;
    return give_way(next, gate);
  }
  // About when it last yielded or woke up.
  std::int64_t gave_way_ns() const { return gave_way_ns_; }
  // Something is under way that wakes nobody when it ends, as a device's copy: until it has, sleeps
  // are short.
  void begin_unsignalled() {
    ++unsignalled_;
    busy();  // who sleeps already sleeps long
  }
  void end_unsignalled() { --unsignalled_; }
  bool sleeps_shortly() const { return unsignalled_ > 0; }
  // How often to look at a word that a peer is about to write before that peer may need this core.
  int looks_at_word() const { return looks_at_word_; }
  // Wakes this rank from another thread of this process, or a peer of this host by local rank.
  void wake_self();

 private:
  enum class Stage : std::uint8_t { awake, armed, sleeping };
  class Sleeper;  // waiter.cc
  struct Manner;
  Waiter(const Surroundings& around, std::span<const std::unique_ptr<Transport>> transports,
         const Manner& manner);
  void wait_by_phase(Backoff::Next next, Gate* gate);
  bool give_way(Backoff::Next next, Gate* gate);
  void busy_after_arming();
  // To look for peers that are gone, and for programs of others.
  bool is_due(const Backoff& backoff) const {
    return backoff.read_ns() - looked_ns_ > kLookEvery_ns;
  }

  static constexpr std::int64_t kLookEvery_ns = 10'000'000;
  int unsignalled_ = 0;
  Stage stage_ = Stage::awake;
  Backoff waits_;  // of those that may sleep
  Backoff looks_;  // of those that may not
  std::int64_t looked_ns_ = 0;
  std::int64_t gave_way_ns_ = 0;
  const int looks_at_word_;
  std::unique_ptr<Sleeper> sleeper_;
};

// Wakes a rank of this host for data that came by other means than a link (the shm delegate).
class Waker {
 public:
  Waker(wireup::Wireup& wireup, int local);
  // After they are visible in the segment. A load when it is awake.
  void nudge() const;

 private:
  const wireup::Segment* segment_;
  const wireup::LocalRecord* peer_;
  std::uint32_t local_;
  bool fences_;
};

}  // namespace tutti::transport
