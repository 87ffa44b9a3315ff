// A file that a rank's output goes into. Nothing here waits: a plain file may lie on a server that
// does not answer, so a thread writes it; what a FIFO does not take waits for its reader in the
// loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "control/control.h"
#include "daemon/output_file.h"

namespace tutti::launch::daemon {

class RankFile {
 public:
  // `settled(0)`: nothing waits any more; else it takes no more, and take_rest() has what it did
  // not take. Called by the loop, or inside write(); it may destroy this object.
  RankFile(control::Loop& loop, OpenedFile file, std::function<void(int error)> settled);
  ~RankFile();

  void write(std::string_view text);
  // After the last write: a quota may be told only now. settled() comes again.
  void finish();
  std::size_t waiting() const { return waiting_.size() + in_flight_; }
  bool is_idle() const { return waiting() == 0 && !busy_; }
  bool is_at_work() const { return busy_; }                   // the thread
  bool is_full() const { return waiting() >= kMostWaiting; }  // whoever writes shall wait
  std::string take_rest() { return std::exchange(waiting_, {}); }

 private:
  static constexpr std::size_t kMostWaiting = 256U << 10;
  struct Work;
  void write_by_thread();
  void take_back();
  void write_pipe();

  control::Loop& loop_;
  std::function<void(int)> settled_;
  std::shared_ptr<Work> work_;  // of a plain file; the thread's while busy
  UniqueFd pipe_;               // of any other
  std::string waiting_;
  std::size_t in_flight_ = 0;
  bool busy_ = false, closes_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // seen by calls that come late
};

}  // namespace tutti::launch::daemon
