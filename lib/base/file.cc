// Read to the end: what lies below /proc has no size.
#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "base/unique_fd.h"

namespace tutti {

std::optional<std::string> file_text(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return std::nullopt;
  std::string text;
  std::array<char, 8192> piece;
  for (;;) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got == 0) return text;
    if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) return std::nullopt;
  }
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  DIR* const open = ::opendir(folder.c_str());
  if (open == nullptr) return names;
  while (const dirent* entry = ::readdir(open))
    if (const std::string name = entry->d_name; name != "." && name != "..") names.push_back(name);
  ::closedir(open);
  return names;
}

std::optional<std::string> working_directory(const std::string& known) {
  struct stat here {};
  struct stat there {};
  if (known.starts_with('/') && ::stat(".", &here) == 0 && ::stat(known.c_str(), &there) == 0 &&
      here.st_dev == there.st_dev && here.st_ino == there.st_ino)
    return known;
  std::array<char, PATH_MAX> path{};
  if (::getcwd(path.data(), path.size()) == nullptr) return std::nullopt;
  return path.data();
}

std::string search_path(const std::string& path_variable) {
  return path_variable.empty() ? "/usr/bin:/bin" : path_variable;
}

std::vector<std::string> places_of_program(const std::string& name,
                                           const std::string& path_variable) {
  std::vector<std::string> places;
  for (const std::string& folder : text::split(search_path(path_variable), ':'))
    places.push_back((folder.empty() ? "." : folder) + "/" + name);
  return places;
}

int error_of_closing(int fd) {
  const int copy = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  return copy >= 0 && ::close(copy) != 0 && errno != EINTR ? errno : 0;
}

void remove_folder(const std::string& path) {
  constexpr int kMostOpen = 16;
  ::nftw(
      path.c_str(),
      [](const char* one, const struct stat*, int, FTW*) {
        std::remove(one);
        return 0;
      },
      kMostOpen, FTW_DEPTH | FTW_PHYS);
}

}  // namespace tutti
