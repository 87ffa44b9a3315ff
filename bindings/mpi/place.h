// Where in the program a call came from, for the line that ends the job.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::mpi {

// "main at solver.c:12", or "main" of a program without debugging information; empty: not known.
// Starts addr2line, for two seconds at most.
std::string place_of_caller();

// The program: where it begins in memory, and its file by a name that holds whatever the working
// folder is by then. The loader knows it by the word it was started with.
struct ProgramFile {
  const void* begin = nullptr;
  std::string path;

  // Of this file of the process. Safe in a signal handler.
  const char* path_of(const Dl_info& file) const {
    return file.dli_fbase == begin ? path.c_str() : file.dli_fname;
  }
};
ProgramFile program_file();

// As addr2line and debuggers count: from the file's beginning, or as it is where a program is
// linked to lie at one address. Safe in a signal handler.
std::uintptr_t address_in_file(const void* at, const Dl_info& info);

// What is known in a line of addr2line, which may be nothing. Safe in a signal handler.
std::string_view known_place(std::string_view line);

}  // namespace tutti::mpi
