// mkdtemp, then a lock on the folder. Who sweeps takes the lock first: a folder that is locked is
// in use, and a maker that finds its folder swept before it had the lock makes another.
#include "base/own_folder.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
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

// Whether users other than root and this one may rename what is in a folder. Whoever the root
// folder belongs to is root, under whatever number a user namespace shows it. A group whose number
// is its user's has that one member.
bool others_may_rename_in(const std::string& folder) {
  struct stat root {};
  struct stat status {};
  if (::stat("/", &root) != 0 || ::stat(folder.c_str(), &status) != 0) return true;
  const uid_t owner = status.st_uid;
  if (owner != ::geteuid() && owner != 0 && owner != root.st_uid) return true;
  if ((status.st_mode & S_ISVTX) != 0) return false;
  const bool by_group = status.st_gid != 0 && status.st_gid != owner;
  return (status.st_mode & S_IWOTH) != 0 || (by_group && (status.st_mode & S_IWGRP) != 0);
}

// The first folder on the way where others could put theirs in the place of the next; empty: none.
std::string exposed_on(const std::string& way) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = way.find('/', end + 1);
    if (const std::string part = way.substr(0, end); others_may_rename_in(part)) return part;
  }
  return "";
}

}  // namespace

// Of the way as it is written, and as it is without links.
std::string exposed_folder(const std::string& where) {
  std::array<char, PATH_MAX> real{};
  if (::realpath(where.c_str(), real.data()) == nullptr) return where;
  const std::string written = exposed_on(where);
  return written.empty() ? exposed_on(real.data()) : written;
}

std::string temporary_folder(std::string_view tmpdir) {
  const std::string named(tmpdir);
  const bool is_good = named.starts_with('/') && ::access(named.c_str(), W_OK | X_OK) == 0 &&
                       exposed_folder(named).empty();
  return is_good ? named : "/tmp";
}

Result<void> OwnFolder::make(const std::string& where) {
  if (const std::string exposed = exposed_folder(where);
      !exposed.empty() && ::access(where.c_str(), F_OK) == 0)
    return fail(Code::other,
                "others may rename what is made in " + exposed +
                    "; set TMPDIR to a folder of your own, or give that one its sticky "
                    "bit (chmod +t)");
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

bool names_own_folder(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with(kPrefix) && name.size() == kPrefix.size() + kRandom;
}

void sweep_own_folders(const std::string& where) {
  if (!exposed_folder(where).empty()) return;
  for (const std::string& name : names_in(where)) {
    if (!names_own_folder(name)) continue;
    const std::string path = where + "/" + name;
    if (const UniqueFd lock = locked(path); lock.is_open()) remove_folder(path);
  }
}

}  // namespace tutti
