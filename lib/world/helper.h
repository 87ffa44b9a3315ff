// helper: a thread that makes progress while the program computes (TUTTI_PROGRESS_US).
//
// Told to look every so many microseconds, it does so for as long as things move without a break,
// and less and less often while neither it nor anybody else found something to do. By itself it
// sleeps until it is called, and then looks all the time while it is wanted, on a core that nobody
// else has. It takes the gate only when that is free, so a call never waits for more than one
// round of its.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/quiet_thread.h"
#include "p2p/p2p.h"
#include "wireup/segment.h"
#include "world/gate.h"

namespace tutti::world {

class Helper {
 public:
  // Both outlive the helper. Fails where no thread can be had.
  static Result<std::unique_ptr<Helper>> start(Gate& gate, p2p::Endpoint& endpoint,
                                               std::int64_t every_us);
  // By itself. Asked inside the gate: whether there is work, which begins with call() only; and
  // whether a thread may do it that is not the program's.
  struct Duty {
    bool (*has_work)(const void* self) = nullptr;
    bool (*may_enter)(const void* self) = nullptr;
    const void* self = nullptr;
    // Where it runs, whatever its rank is bound to: all that the job may use; none: not known.
    std::vector<int> processors = {};
  };
  static Result<std::unique_ptr<Helper>> start(Gate& gate, p2p::Endpoint& endpoint, Duty duty);
  // Whether a job leaves a core for the helper of each of its ranks here.
  static bool has_core(const wireup::SegmentFacts& facts) {
    return facts.ranks > 1 && facts.cores >= 2 * facts.machine_ranks;
  }
  void call();
  // Ends the thread; the caller may hold the gate.
  ~Helper();
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

 private:
  Helper(Gate& gate, p2p::Endpoint& endpoint, std::int64_t every_us, Duty duty)
      : gate_(gate), endpoint_(endpoint), every_us_(every_us), duty_(std::move(duty)) {}
  static Result<std::unique_ptr<Helper>> begin(std::unique_ptr<Helper> helper);
  void work();
  void attend();
  bool moves_some(bool& is_wanted);
  bool wait_for_call();  // false: it is time to end
  bool is_over() const { return is_over_.load(std::memory_order_relaxed); }
  bool move();                      // until nothing moves any more; false: nothing did
  bool sleep(std::int64_t for_us);  // false: it is time to end

  Gate& gate_;
  p2p::Endpoint& endpoint_;
  const std::int64_t every_us_;  // 0: by itself
  const Duty duty_;
  std::mutex mutex_;
  std::condition_variable called_;
  bool is_called_ = false;             // guarded by mutex_
  std::atomic<bool> is_over_ = false;  // relaxed: changed under mutex_, which who sleeps holds
  QuietThread thread_;
};

}  // namespace tutti::world
