// Files that prun itself writes: those that ranks of several hosts share (no daemon can know that a
// path is the same file elsewhere, and appending to one over NFS is not atomic), and descriptors
// that prun was given (/dev/stdout, /dev/fd/7). A file may be a FIFO that nobody reads, or lie on a
// server that does not answer: a thread opens and writes, and the loop goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "control/control.h"
#include "control/terminal.h"

namespace tutti::launch::job {

// Whether prun writes what this pattern names: nothing in it tells the hosts of a job apart, or it
// is one of prun's own descriptors.
bool is_written_here(const std::string& pattern, std::size_t hosts);

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
  bool is_idle() const { return !busy_ && next_.empty() && queued_bytes() == 0; }
  // A line for each file that did not take all: what is queued still counts as lost.
  std::vector<std::string> losses();

 private:
  struct Piece {
    std::string path, text;
  };
  // How a file stands, as far as the thread has said.
  struct Standing {
    std::uint64_t waiting = 0, lost = 0;
    std::string problem;
  };
  struct Inside;
  void go_on();
  void forget_watched();
  void take_stock();
  bool write_own(const std::string& path, std::string_view text);

  control::Loop& loop_;
  std::function<void(int)> broken_;
  std::function<void()> drained_;
  std::shared_ptr<Inside> inside_;  // the thread's, while busy_
  bool busy_ = false, closing_ = false, told_ = false;
  std::vector<Piece> next_;                              // for the thread
  std::map<std::string, std::uint64_t> given_;           // bytes that the thread has now
  std::map<std::string, Standing> standing_;             // by path
  std::vector<int> watched_;                             // FIFOs whose readers are slow
  std::map<int, std::unique_ptr<control::Outlet>> own_;  // by descriptor
};

}  // namespace tutti::launch::job
