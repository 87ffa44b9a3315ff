// bin/prun, bin/prund, lib/libmpi_abi.so.1; in a build tree and in a cache they lie differently.
#include "spawn/installation.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <initializer_list>

#include "base/file.h"
#include "base/unique_fd.h"

namespace tutti::launch::spawn {
namespace {

std::string parent(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

std::string first_existing(std::initializer_list<std::string> candidates) {
  for (const std::string& path : candidates)
    if (::access(path.c_str(), R_OK) == 0) return path;
  return {};
}

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat one {};
  struct stat other {};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

Installation look() {
  std::array<char, PATH_MAX> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string self(path.data(), static_cast<std::size_t>(length < 0 ? 0 : length));
  const std::string here = parent(self), above = parent(here);
  Installation found;
  found.prefix = above;
  // Installed or in the cache: beside this program. Built: in the folder of its name.
  found.daemon_file = first_existing({here + "/prund", above + "/prund/prund"});
  found.pmix_program = first_existing({here + "/prun-pmix", above + "/pmix/prun-pmix"});
  found.info_program =
      first_existing({here + "/tutti-info", parent(above) + "/bindings/info/tutti-info"});
  const std::string library = first_existing(
      {here + "/libmpi_abi.so.1", above + "/" TUTTI_LIBDIR "/libmpi_abi.so.1",
       above + "/lib/libmpi_abi.so.1", parent(above) + "/bindings/mpi/libmpi_abi.so.1"});
  if (library.empty()) return found;
  found.library_folder = parent(library);
  if (!is_found_by_loader(library, file_text("/etc/ld.so.cache").value_or("")))
    found.added_folder = found.library_folder;
  return found;
}

}  // namespace

const Installation& this_installation() {
  static const Installation found = look();
  return found;
}

bool is_found_by_loader(const std::string& library, const std::string& cache) {
  // The cache's texts end with a zero; /lib there may be our /usr/lib.
  const std::string name = library.substr(library.rfind('/')) + '\0';
  const std::size_t at = cache.find(name);
  if (at == std::string::npos || cache.find(name, at + 1) != std::string::npos) return false;
  const std::size_t begin = cache.rfind('\0', at) + 1;
  return is_same_file(cache.substr(begin, at - begin) + name.c_str(), library);
}

std::string name_of_bytes(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return {};
  // FNV-1a twice, from two starts: tells builds apart, which is all that is asked of it.
  std::uint64_t first = 0xcbf29ce484222325, second = 0x84222325cbf29ce4;
  std::array<unsigned char, 16U << 10> buffer{};  // stacks may be small (ulimit -s)
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0) return {};
    if (got == 0) break;
    for (ssize_t i = 0; i < got; ++i) {
      const auto byte = buffer[static_cast<std::size_t>(i)];
      first = (first ^ byte) * 0x100000001b3;
      second = (second ^ byte) * 0x100000001b3 + 1;
    }
  }
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(first),
                static_cast<unsigned long long>(second));
  return text.data();
}

}  // namespace tutti::launch::spawn
