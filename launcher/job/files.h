// Files that prun itself writes: those that ranks of several hosts share (no daemon can know that a
// path is the same file elsewhere, and appending to one over NFS is not atomic), and descriptors
// that prun was given (/dev/stdout, /dev/fd/7). A file may be a FIFO that nobody reads, or lie on a
// server that does not answer: a thread opens and writes, and the loop goes on.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "control/control.h"
#include "control/terminal.h"
#include "daemon/output_file.h"

namespace tutti::launch::job {

// Whether prun writes what this pattern names: nothing in it tells the hosts of a job apart, or it
// is one of prun's own descriptors.
bool is_written_here(const std::string& pattern, std::size_t hosts);

// Whether ranks write into one file by this pattern, wherever they are.
bool is_shared(const std::string& pattern, std::size_t hosts);

// The descriptor of prun that this names, /dev/stdout and /dev/fd/N being all its names here (see
// settle_output in prun/); 0: it is a file.
int own_stream(const std::string& pattern);

class SharedFiles {
 public:
  // `appends`: files stay as they are; else each is emptied first. `broken(error)`: one takes no
  // more, losses() says which; `drained`: nothing is queued any more.
  SharedFiles(control::Loop& loop, bool appends, std::function<void(int error)> broken,
              std::function<void()> drained);
  ~SharedFiles();

  // Whole lines of a rank, or nothing, which opens the file. Never waits.
  void write(const std::string& path, std::string_view text);
  std::size_t queued_bytes() const;
  // After the last write: a full disk may be told only now. drained() comes again.
  void close();
  bool is_idle() const;
  // A line for each file that did not take all: what is queued still counts as lost.
  std::vector<std::string> losses();

 private:
  struct File;
  struct Opening;
  bool write_own(const std::string& path, std::string_view text);
  void open(const std::string& path);
  void take_opened(const std::string& path, daemon::OpenedFile opened);
  static void put(File& file, std::string_view text);
  void settle(File& file, const std::string& problem);
  void look_whether_drained();
  bool is_first_name(const std::string& path, const File& file) const;

  control::Loop& loop_;
  std::function<void(int)> broken_;
  std::function<void()> drained_;
  std::shared_ptr<Opening> opening_;
  bool closing_ = false, told_ = false;
  std::map<std::string, std::shared_ptr<File>> files_;  // by path; those of one inode are one
  std::map<int, std::unique_ptr<control::StreamWriter>> own_;  // by descriptor
};

}  // namespace tutti::launch::job
