// Finds libraries where the dynamic loader would (ld.so(8)).
//
// Left out, because no MPI is found by it: LD_PRELOAD, $LIB and $PLATFORM, builds of a library for
// certain processors (glibc-hwcaps).
#pragma once

#include <optional>
#include <string>

#include "serve/elf_file.h"
#include "serve/serve.h"

namespace tutti::launch::serve {

// A program, or a library that was found.
struct Loaded {
  std::string path;
  ElfFile elf;
  const Loaded* wanted_by = nullptr;  // null: the program
};

class Libraries {
 public:
  explicit Libraries(const LibraryPlaces& places);
  // The library of this name that `by` would get; nothing: it is nowhere.
  std::optional<Loaded> find(const std::string& name, const Loaded& by) const;

 private:
  std::optional<Loaded> find_in(const std::string& folders, const std::string& name,
                                const Loaded& by, const Loaded& origin) const;
  std::optional<Loaded> find_in_cache(const std::string& name, const Loaded& by) const;

  std::string library_path_;
  std::string cache_;  // its bytes
};

}  // namespace tutti::launch::serve
