// Files that ranks' output goes into: plain ones, or FIFOs whose readers may be slow.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"

namespace tutti::launch::daemon {

// Where torchrun's logs go when nobody says where: beside those of other users.
inline constexpr std::string_view kSharedLogs = "/tmp/torchrun-logs_";

// What a file is, whatever it is called: device and inode.
using FileId = std::pair<dev_t, ino_t>;

struct OpenedFile {
  UniqueFd fd;
  FileId id{};
  bool is_plain = false;  // else a FIFO or a device
  std::string problem;    // why it is closed
};

// Opens the files of a job, and makes the folders that they are in. They are appended to, line by
// line: several ranks may share one.
class FileOpener {
 public:
  // Unless told to append it empties each file once, however many names it is opened by.
  explicit FileOpener(bool appends) : appends_(appends) {}
  OpenedFile open(const std::string& path);  // absolute; may wait for a file system

 private:
  bool appends_;
  std::set<FileId> seen_;
};

// What could not be written, up to the first failure (errno).
std::string_view write_most(int fd, std::string_view text);

}  // namespace tutti::launch::daemon
