// helper: a thread that makes progress while the program computes (TUTTI_PROGRESS_US).
//
// It looks every so many microseconds, for as long as things move without a break, and less and
// less often while neither it nor anybody else found something to do. It takes the gate only
// when that is free, so a call never waits for more than one round of its.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "p2p/p2p.h"
#include "world/gate.h"

namespace tutti::world {

class Helper {
 public:
  // Both outlive the helper. Fails where no thread can be had.
  static Result<std::unique_ptr<Helper>> start(Gate& gate, p2p::Endpoint& endpoint,
                                               std::int64_t every_us);
  // Ends the thread; the caller may hold the gate.
  ~Helper();
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

 private:
  Helper(Gate& gate, p2p::Endpoint& endpoint, std::int64_t every_us)
      : gate_(gate), endpoint_(endpoint), every_us_(every_us) {}
  void work();
  bool move();                      // until nothing moves any more; false: nothing did
  bool sleep(std::int64_t for_us);  // false: it is time to end

  Gate& gate_;
  p2p::Endpoint& endpoint_;
  const std::int64_t every_us_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool is_over_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace tutti::world
