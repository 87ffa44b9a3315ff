// The program of a rank: looked for as a shell would, and told apart from what cannot run.
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "base/file.h"
#include "daemon/launch.h"
#include "status/status.h"

namespace tutti::launch::daemon {
namespace {

constexpr std::size_t kLongestFirstLine = 256;  // as the kernel reads it

enum class AtPath { program, not_executable, forbidden, unreachable, directory, absent };

AtPath look_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return errno == EACCES ? AtPath::unreachable : AtPath::absent;
  if (S_ISDIR(status.st_mode)) return AtPath::directory;
  if (::access(path.c_str(), X_OK) == 0) return AtPath::program;
  struct statvfs system {};
  const bool forbids = ::statvfs(path.c_str(), &system) == 0 && (system.f_flag & ST_NOEXEC) != 0;
  return forbids ? AtPath::forbidden : AtPath::not_executable;
}

// Of what is there, or seems to be, and cannot be run.
std::string why_not(AtPath kind, const std::string& path) {
  switch (kind) {
    case AtPath::directory:
      return path + " is a folder, not a program";
    case AtPath::forbidden:
      return path + " is on a file system that runs no programs (mounted noexec); put it elsewhere";
    case AtPath::unreachable:
      return path + " cannot be reached: Permission denied at a folder above it";
    default:
      return path + " is not executable; try chmod +x " + path;
  }
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

// What an ELF file is that this kernel does not take for a program, by its header.
std::string kind_of_elf(std::string_view header) {
  constexpr const char* kDamaged = "it is damaged, or was not written to its end";
  if (header.size() < 20) return kDamaged;  // behind its kind and machine
  const bool is_big = header[5] == 2;
  const auto half = [&](std::size_t at) {
    const unsigned first = static_cast<unsigned char>(header[at]);
    const unsigned second = static_cast<unsigned char>(header[at + 1]);
    return is_big ? first << 8U | second : second << 8U | first;
  };
  constexpr unsigned kObject = 1;  // ET_REL
  utsname own{};
  ::uname(&own);
  const std::string machine = machine_named(half(18));
  if (!std::string_view(own.machine).starts_with(machine))  // ppc64le, armv7l
    return "it is a program for " + machine + ", this machine is " + own.machine;
  return half(16) == kObject ? "it is an object file; link it to a program" : kDamaged;
}

// What the first line of a script names, and why that cannot be executed.
std::string missing_interpreter(const std::string& script) {
  const std::string line = script.substr(0, script.find('\n'));
  const auto first = std::min(line.find_first_not_of(" \t", 2), line.size());
  std::string name = line.substr(first, line.find_first_of(" \t", first) - first);
  if (look_at(name) != AtPath::absent)
    return "the interpreter that its first line names is there, but cannot be executed itself: " +
           name;
  const bool by_windows = name.ends_with('\r');
  if (by_windows) name.pop_back();
  return "the interpreter that its first line names is missing here: " + name +
         (by_windows ? ", with the carriage return behind it (sed -i 's/\\r$//' takes them away)"
                     : "");
}

}  // namespace

std::string full_path(const std::string& directory, const std::string& path) {
  if (path.starts_with('/')) return path;
  return directory + (directory.ends_with('/') ? "" : "/") +
         path.substr(path.starts_with("./") ? 2 : 0);
}

std::string why_not_executed(const std::string& path, int error) {
  const bool absent = error == ENOENT || error == ENOTDIR;
  const std::string reason = std::strerror(error);
  if (!absent && error != ENOEXEC) return reason;
  std::ifstream file(path, std::ios::binary);
  std::string begin(kLongestFirstLine, '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<std::size_t>(file.gcount()));
  const bool is_elf = begin.starts_with("\177ELF");
  if (!absent) return is_elf ? reason + ": " + kind_of_elf(begin) : reason;
  if (is_elf)
    return "the loader that it names is missing here (readelf -l shows it): it was built for "
           "another C library, or for another word size";
  return begin.starts_with("#!") ? missing_interpreter(begin) : reason;  // it may not be readable
}

CannotStart find_program(const std::string& name, const std::string& path_variable,
                         const std::string& directory, std::string* path) {
  const int not_executable = status::of(status::ExitStatus::not_executable);
  const int not_found = status::of(status::ExitStatus::not_found);
  if (name.find('/') != std::string::npos) {
    *path = name;
    const std::string full = full_path(directory, name);
    const AtPath kind = look_at(full);
    if (kind == AtPath::program) return {};
    if (kind != AtPath::absent) return {not_executable, why_not(kind, full)};
    return {not_found, "no program " + full + "; check its path, and that this host has it"};
  }
  std::string seen_unusable;
  for (const std::string& place : places_of_program(name, path_variable)) {
    *path = full_path(directory, place);
    const AtPath kind = look_at(*path);
    if (kind == AtPath::program) return {};
    const bool is_there = kind == AtPath::not_executable || kind == AtPath::forbidden;
    if (is_there && seen_unusable.empty()) seen_unusable = why_not(kind, *path);
  }
  if (!seen_unusable.empty()) return {not_executable, seen_unusable};
  const std::string here = directory + "/" + name;
  const AtPath kind = look_at(here);
  if (kind == AtPath::program)
    return {not_found,
            "no program " + name + " in PATH; it is in the working folder: say ./" + name};
  std::string seen_here;
  if (kind == AtPath::not_executable || kind == AtPath::forbidden)
    seen_here = "; the one in the working folder is none: " + why_not(kind, here);
  return {not_found,
          "no program " + name + " in PATH (" + search_path(path_variable) + ")" + seen_here};
}

}  // namespace tutti::launch::daemon
