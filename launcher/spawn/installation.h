// Where this installation's files are, found from where this program itself is, so that an
// installed tree can be moved and a daemon in a host's private cache finds its neighbours.
#pragma once

#include <string>

namespace tutti::launch::spawn {

struct Installation {
  std::string prefix;          // folder above bin
  std::string daemon_file;     // prund; empty: not found
  std::string library_folder;  // where libmpi_abi.so.1 is; empty: not found
  std::string added_folder;    // the same, where the loader would not look there by itself
  std::string pmix_program;    // prun-pmix; empty: not found
  std::string info_program;    // tutti-info; empty: not found
};

const Installation& this_installation();

// Whether programs that are told nothing load this library: `cache` (ld.so.cache) names it, and no
// other of its name.
bool is_found_by_loader(const std::string& library, const std::string& cache);

// A name for a file's bytes: equal names, equal files. Empty: cannot be read.
std::string name_of_bytes(const std::string& path);

}  // namespace tutti::launch::spawn
