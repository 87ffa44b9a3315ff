// mkdtemp, then a lock on the folder. Who sweeps takes the lock first: a folder that is locked is
// in use, and a maker that finds its folder swept before it had the lock makes another.
#include "base/own_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/file.h"

namespace tutti {
namespace {

constexpr std::string_view kPrefix = "tutti-own-";
constexpr std::size_t kRandom = 6;  // of mkdtemp

// Its lock, when it is a folder of this user that nobody uses.
UniqueFd locked(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!fd.is_open() || ::fstat(fd.get(), &status) != 0 || status.st_uid != ::geteuid() ||
      ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 || ::fstat(fd.get(), &status) != 0 ||
      status.st_nlink == 0)
    fd.reset();
  return fd;
}

}  // namespace

std::string temporary_folder(std::string_view tmpdir) {
  const std::string named(tmpdir);
  const bool is_good = named.starts_with('/') && ::access(named.c_str(), W_OK | X_OK) == 0;
  return is_good ? named : "/tmp";
}

Result<void> OwnFolder::make(const std::string& where) {
  for (int tries = 0; tries < 10; ++tries) {
    std::string name = where + "/" + std::string(kPrefix) + std::string(kRandom, 'X');
    if (::mkdtemp(name.data()) == nullptr)
      return fail(Code::other, "cannot make a folder in " + where + ": " + std::strerror(errno) +
                                   "; set TMPDIR to one that can be written");
    lock_ = locked(name);
    path_ = std::move(name);
    if (lock_.is_open()) return {};
  }
  path_.clear();
  return fail(Code::other, "folders made in " + where + " vanish");
}

void OwnFolder::remove() {
  if (path_.empty()) return;
  remove_folder(path_);
  path_.clear();
  lock_.reset();
}

void sweep_own_folders(const std::string& where) {
  for (const std::string& name : names_in(where)) {
    if (!name.starts_with(kPrefix) || name.size() != kPrefix.size() + kRandom) continue;
    const std::string path = where + "/" + name;
    if (const UniqueFd lock = locked(path); lock.is_open()) remove_folder(path);
  }
}

}  // namespace tutti
