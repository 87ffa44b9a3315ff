// KeptFd: a descriptor inside of somebody else's program. That may close what it did not open
// (closefrom, a loop, as daemons do), and the number is its next file's then.
#pragma once

#include <sys/stat.h>

#include "base/unique_fd.h"

namespace tutti {

// Owns it like a UniqueFd, as long as the number is that file's: another one is not closed. For
// sockets and files; what the kernel makes of one inode (eventfd, epoll) cannot be told apart.
class KeptFd {
 public:
  KeptFd() = default;
  explicit KeptFd(UniqueFd fd) : fd_(std::move(fd)) {
    struct stat file {};
    if (!fd_.is_open() || ::fstat(fd_.get(), &file) != 0) return;
    device_ = file.st_dev;
    inode_ = file.st_ino;
  }
  KeptFd(KeptFd&&) noexcept = default;
  KeptFd& operator=(KeptFd&& other) noexcept {
    give_up_lost();
    fd_ = std::move(other.fd_);
    device_ = other.device_;
    inode_ = other.inode_;
    return *this;
  }
  KeptFd(const KeptFd&) = delete;
  KeptFd& operator=(const KeptFd&) = delete;
  ~KeptFd() { give_up_lost(); }

  int get() const { return fd_.get(); }
  // Asks the kernel.
  bool is_there() const {
    struct stat file {};
    return fd_.is_open() && ::fstat(fd_.get(), &file) == 0 && file.st_dev == device_ &&
           file.st_ino == inode_;
  }
  UniqueFd release() {
    give_up_lost();
    return std::move(fd_);
  }

 private:
  void give_up_lost() {
    if (!is_there()) fd_.release();
  }

  UniqueFd fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace tutti
