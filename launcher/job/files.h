// Files that ranks of several hosts share, written by prun itself: no daemon can know that a path
// is the same file elsewhere, and appending to one over NFS is not atomic.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace tutti::launch::job {

// Whether prun writes what this pattern names: nothing in it tells the hosts of a job apart, or it
// is one of prun's own streams.
bool is_written_here(const std::string& pattern, std::size_t hosts);

// 1 or 2: the pattern is /dev/stdout or /dev/stderr; 0: it is a file.
int own_stream(const std::string& pattern);

class SharedFiles {
 public:
  // Whole lines of a rank. `fresh`: the file is emptied when it is first opened.
  // Errors: it cannot be opened or takes no more; the text is lost.
  Result<void> write(const std::string& path, std::string_view text, bool fresh);

 private:
  std::map<std::string, UniqueFd> open_;
};

}  // namespace tutti::launch::job
