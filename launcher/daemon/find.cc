// The program of a rank: looked for as a shell would, and told apart from what cannot run.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "base/unique_fd.h"
#include "daemon/launch.h"
#include "status/status.h"

namespace tutti::launch::daemon {
namespace {

enum class AtPath { program, not_executable, directory, absent };

AtPath look_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return errno == EACCES ? AtPath::not_executable : AtPath::absent;
  if (S_ISDIR(status.st_mode)) return AtPath::directory;
  return ::access(path.c_str(), X_OK) == 0 ? AtPath::program : AtPath::not_executable;
}

// By the number in an ELF header.
std::string machine_named(unsigned number) {
  struct ElfMachine {
    unsigned number;
    const char* name;
  };
  constexpr std::array kRows{
      ElfMachine{3, "i386"},      ElfMachine{20, "ppc"},    ElfMachine{21, "ppc64"},
      ElfMachine{22, "s390x"},    ElfMachine{40, "arm"},    ElfMachine{62, "x86_64"},
      ElfMachine{183, "aarch64"}, ElfMachine{243, "riscv"}, ElfMachine{258, "loongarch"}};
  for (const ElfMachine& row : kRows)
    if (row.number == number) return row.name;
  return "machine " + std::to_string(number);
}

}  // namespace

std::string full_path(const std::string& directory, const std::string& path) {
  if (path.starts_with('/')) return path;
  return directory + (directory.ends_with('/') ? "" : "/") +
         path.substr(path.starts_with("./") ? 2 : 0);
}

std::string machines_of(const std::string& path) {
  unsigned char head[20] = {};
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() || ::read(file.get(), head, sizeof head) != sizeof head ||
      std::memcmp(head, "\177ELF", 4) != 0)
    return "";
  const bool is_big = head[5] == 2;
  const unsigned number = is_big ? head[18] << 8U | head[19] : head[19] << 8U | head[18];
  utsname own{};
  ::uname(&own);
  return ": it is a program for " + machine_named(number) + ", this machine is " + own.machine;
}

CannotStart find_program(const std::string& name, const std::string& search_path,
                         const std::string& directory, std::string* path) {
  const int not_executable = status::of(status::ExitStatus::not_executable);
  const int not_found = status::of(status::ExitStatus::not_found);
  if (name.find('/') != std::string::npos) {
    *path = name;
    const std::string full = full_path(directory, name);
    switch (look_at(full)) {
      case AtPath::program:
        return {};
      case AtPath::directory:
        return {not_executable, full + " is a folder, not a program"};
      case AtPath::not_executable:
        return {not_executable, full + " is not executable; try chmod +x " + full};
      case AtPath::absent:
        break;
    }
    return {not_found, "no program " + full + "; check its path, and that this host has it"};
  }
  std::string seen_unusable;
  for (const std::string& folder : text::split(search_path, ':')) {
    *path = (folder.empty() ? directory : full_path(directory, folder)) + "/" + name;
    const AtPath kind = look_at(*path);
    if (kind == AtPath::program) return {};
    if (kind == AtPath::not_executable && seen_unusable.empty()) seen_unusable = *path;
  }
  if (!seen_unusable.empty())
    return {not_executable, seen_unusable + " is not executable; try chmod +x " + seen_unusable};
  if (look_at(directory + "/" + name) == AtPath::program)
    return {not_found,
            "no program " + name + " in PATH; it is in the working folder: say ./" + name};
  return {not_found, "no program " + name + " in PATH (" + search_path + ")"};
}

}  // namespace tutti::launch::daemon
