// What an ELF file says of itself and of the libraries that the loader joins it with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tutti::launch::serve {

struct ElfFile {
  std::uint16_t machine = 0;
  bool wants_loader = false;        // a program that is joined with libraries; else a static one
  bool is_ours = false;             // it carries Tutti's note (bindings/mpi/note.cc)
  std::vector<std::string> needed;  // names of libraries
  std::string rpath, runpath;       // folders to look for them, ':' between
};

enum class FileKind { unreadable, elf, other };
FileKind kind_of(const std::string& path);  // by how the file begins
// Nothing: no 64-bit ELF file of this byte order, or one that breaks off.
std::optional<ElfFile> read_elf(const std::string& path);

}  // namespace tutti::launch::serve
