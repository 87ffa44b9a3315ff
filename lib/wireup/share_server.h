// A rank without a daemon of ours (under mpirun, srun, torchrun, or alone) gives its shared files
// away itself: a thread, made at its first share, at a door of its own (protocol.h). Private to
// wireup.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "base/kept_fd.h"
#include "base/quiet_thread.h"
#include "wireup/share_store.h"

namespace tutti::wireup {

class ShareServer {
 public:
  // Errors: no socket, no thread. `local`: whose it is.
  static Result<std::shared_ptr<ShareServer>> start(std::shared_ptr<const Segment> segment,
                                                    int local);
  ~ShareServer();
  ShareServer(const ShareServer&) = delete;
  ShareServer& operator=(const ShareServer&) = delete;

  // What it returns keeps the server.
  static Result<Shared> share(const std::shared_ptr<ShareServer>& server, int fd, const Takers& to);
  // By the rank's own, which is started at the first.
  static Result<Shared> share(std::shared_ptr<ShareServer>& own,
                              const std::shared_ptr<const Segment>& segment, int local, int fd,
                              const Takers& to);
  // Of another rank's server, or of one's own.
  static Result<UniqueFd> take(const Segment& segment, int local, const ShareKey& key);

 private:
  struct Held;
  ShareServer(std::shared_ptr<const Segment> segment, int local, std::uint64_t place);
  void work();
  int wait_for_visitor() const;
  void serve(int visitor);

  std::shared_ptr<const Segment> segment_;
  int local_;
  int pid_;  // a child of fork has no thread to wait for
  KeptFd listener_;
  std::atomic<bool> is_over_{false};  // release by the destructor, acquire by the thread
  std::mutex mutex_;
  ShareStore store_;  // guarded by mutex_
  QuietThread thread_;
};

}  // namespace tutti::wireup
