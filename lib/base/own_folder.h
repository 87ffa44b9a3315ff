// Folders of ours among those of all users. The name cannot be known before, so nobody
// can make it first; a lock that ends with its process tells those in use from those that a killed
// process left, whatever process numbers mean to whom.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace tutti {

// Where files are that processes share as memory.
constexpr const char* kSharedMemoryFolder = "/dev/shm";

class OwnFolder {
 public:
  OwnFolder() = default;
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  ~OwnFolder() { remove(); }

  // Makes it in the folder for temporary files, for this user only; not where others could put
  // theirs in its place.
  Result<void> make(const std::string& where);
  const std::string& path() const { return path_; }  // empty: there is none
  void remove();

 private:
  std::string path_;
  UniqueFd lock_;
};

// The first folder on the way to this one in which others could put theirs in the place of the
// next; empty: none.
std::string exposed_folder(const std::string& where);
// Where temporary files go, by the value of TMPDIR: /tmp where it is missing, cannot be written, or
// where others may rename what is in it or above it.
std::string temporary_folder(std::string_view tmpdir);
// Whether a path is one that OwnFolder makes, by its name alone.
bool names_own_folder(std::string_view path);
// Removes what killed processes of this user left there.
void sweep_own_folders(const std::string& where);

}  // namespace tutti
