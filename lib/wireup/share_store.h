// The files that ranks of a host share at the moment, kept by whoever gives them away: a daemon for
// all its ranks, or a rank without one for itself. Only proved ranks get here (protocol.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "base/kept_fd.h"
#include "base/result.h"
#include "wireup/share.h"

namespace tutti::wireup {

// Size of a memory file whose size is final. Errors: it is something else.
Result<std::uint64_t> sealed_bytes(int fd);
// Whether it can be what a GPU's driver has exported: a file of no file system of somebody's own,
// told without asking one.
bool is_of_driver(int fd);

class ShareStore {
 public:
  ShareStore(int host, std::uint64_t place)
      : host_(static_cast<std::uint32_t>(host)), place_(place) {}

  // Errors: too many files or bytes of this rank, no such file, no descriptor to spare.
  Result<ShareKey> add(int sharer, std::uint32_t generation, const Takers& to, UniqueFd file);
  // The descriptor, which stays here. Errors: this rank gets nothing for this key.
  Result<int> find(int taker, std::uint32_t generation, const ShareKey& key) const;
  // Its descriptor: closing the last one of a large file takes the kernel long.
  UniqueFd remove(std::uint32_t number);
  std::size_t size() const { return files_.size(); }

 private:
  struct File {
    ShareKey key;
    Takers to;
    KeptFd fd;
  };
  std::uint32_t host_;
  std::uint64_t place_;
  std::uint32_t next_ = 0;
  std::map<std::uint32_t, File> files_;  // by number
};

}  // namespace tutti::wireup
