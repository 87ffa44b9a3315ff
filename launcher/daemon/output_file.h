// A file that a rank's output goes into: a plain one, or a FIFO whose reader may be slow.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"

namespace tutti::launch::daemon {

class OutputFile {
 public:
  explicit OutputFile(UniqueFd fd) : fd_(std::move(fd)) {}

  // What it does not take yet waits here. False: it takes no more, errno says why; the text that
  // it did not take waits.
  bool write(std::string_view text);
  std::string_view waiting() const { return waiting_; }
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
  std::string waiting_;
};

// What could not be written, up to the first failure (errno).
std::string_view write_most(int fd, std::string_view text);

}  // namespace tutti::launch::daemon
