#include "daemon/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/own_folder.h"

namespace tutti::launch::daemon {
namespace {

// Makes this and all missing folders above it. False: the first that could not be made, by errno.
bool make_folders(const std::string& path) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    if (::mkdir(path.substr(0, end).c_str(), 0777) != 0 && errno != EEXIST) return false;
  }
  return true;
}

constexpr const char* kElsewhere = "; name a folder of yours by --log-dir";

// Makes the folder with the name behind kSharedLogs, before anything below it, and says why it
// cannot be used. Its name stands in the names of a running job's sockets: others can make it first
// on a host that comes later, and lay links to our own files into it. One of ours they cannot
// replace there, and it is closed to them whatever the umask.
std::string problem_of_shared(const std::string& path) {
  const std::string exposed = exposed_folder("/tmp");
  if (!exposed.empty())
    return "others may rename what is made in " + exposed + kElsewhere +
           ", or give that one its sticky bit (chmod +t)";
  const std::string own = path.substr(0, path.find('/', kSharedLogs.size()));
  if (::mkdir(own.c_str(), 0700) != 0 && errno != EEXIST) return std::strerror(errno);
  struct stat status {};
  if (::lstat(own.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != ::geteuid())
    return std::string("another user was there first") + kElsewhere;
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return std::string("others may write in its folder") + kElsewhere;
  return "";
}

}  // namespace

OpenedFile FileOpener::open(const std::string& path) {
  // O_NONBLOCK: a FIFO that nobody reads is told, not waited for.
  constexpr int kHow = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
  const std::string folder = path.substr(0, path.rfind('/'));
  OpenedFile file;
  if (path.starts_with(kSharedLogs)) file.problem = problem_of_shared(path);
  if (!file.problem.empty()) return file;
  if (folder.empty() || make_folders(folder)) file.fd.reset(::open(path.c_str(), kHow, 0666));
  struct stat status {};
  bool good = file.fd.is_open() && ::fstat(file.fd.get(), &status) == 0;
  file.id = {status.st_dev, status.st_ino};
  file.is_plain = S_ISREG(status.st_mode);
  // Not by O_TRUNC: what was written by another of its names would be gone.
  if (good && seen_.insert(file.id).second && !appends_ && file.is_plain)
    good = ::ftruncate(file.fd.get(), 0) == 0;
  if (good) return file;
  file.problem =
      errno == ENXIO ? "nobody reads that FIFO; start its reader first" : std::strerror(errno);
  file.fd.reset();
  return file;
}

std::string_view write_most(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(fd, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) break;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return text;
}

}  // namespace tutti::launch::daemon
