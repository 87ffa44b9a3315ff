// What programs look for, from the names of their libraries and where the loader finds these.
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/file.h"
#include "catch.h"
#include "elf_image.h"
#include "serve/serve.h"

using namespace tutti;
using namespace tutti::launch;
using namespace tutti::launch::serve;

namespace {

class Folder {
 public:
  Folder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
  ~Folder() { remove_folder(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string at(const std::string& name) const { return path_ + "/" + name; }
  std::string folder(const std::string& name) const {
    ::mkdir(at(name).c_str(), 0700);
    return at(name);
  }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(at(name)) << bytes;
    return at(name);
  }
  std::string program(ElfImage image) const {
    image.wants_loader = true;
    return write("app", image.bytes());
  }

 private:
  std::string path_ = "/tmp/tutti-needs-XXXXXX";
};

std::string words(const Needs& needs) {
  return std::string(needs.pmi1 ? "pmi1 " : "") + (needs.pmix ? "pmix " : "") +
         (needs.certain ? "certain" : "perhaps") + (needs.is_binary ? "" : " script");
}

std::string needs_in(const std::string& path, const std::string& library_path = "",
                     const std::string& cache = "/no/such/file") {
  return words(needs_of(path, {"app"}, {library_path, cache}));
}

// ldconfig's file with one library in it.
std::string cache_of(const std::string& name, const std::string& path) {
  std::string cache = "glibc-ld.so.cache1.1";
  elf_image::put(cache, std::uint32_t{1});
  cache.resize(48, '\0');
  const auto texts = static_cast<std::uint32_t>(cache.size() + 24);
  elf_image::put(cache, std::int32_t{0x303});
  elf_image::put(cache, texts);
  elf_image::put(cache, static_cast<std::uint32_t>(texts + name.size() + 1));
  cache.resize(texts, '\0');
  return "ld.so-1.7.0, older" + cache + name + '\0' + path + '\0';
}

}  // namespace

TEST_CASE("the libraries of a program say whose MPI it is", "[serve]") {
  const Folder here;
  CHECK(needs_in(here.program({.needed = {"libc.so.6", "libmpi.so.12"}})) == "pmi1 certain");
  CHECK(needs_in(here.program({.needed = {"libmpich.so.12"}})) == "pmi1 certain");
  CHECK(needs_in(here.program({.needed = {"libmpi.so.40"}})) == "pmix certain");
  CHECK(needs_in(here.program({.needed = {"libm.so.6", "libc.so.6"}})) == "pmi1 perhaps");
  CHECK(needs_in(here.program({.needed = {"libm.so.6"}, .padding = "libmpi.so.40 PMI_FD"})) ==
        "pmi1 perhaps");  // MPICH may be linked in whole
}

TEST_CASE("libmpi_abi is ours by its note, and else another's", "[serve]") {
  const Folder here;
  const std::string program =
      here.program({.needed = {"libmpi_abi.so.1"}, .runpath = "$ORIGIN/lib"});
  here.folder("lib");
  CHECK(needs_in(program) == "certain");  // found nowhere: the loader will say so
  ElfImage{.needed = {"libpmi.so.0", "libpmix.so.2"}, .note = "Tutti"}.write(
      here.at("lib/libmpi_abi.so.1"));
  CHECK(needs_in(program) == "certain");
  ElfImage{.needed = {"libc.so.6"}, .note = "Tuttix"}.write(here.at("lib/libmpi_abi.so.1"));
  CHECK(needs_in(program) == "pmi1 certain");
  ElfImage{.needed = {"libopen-pal.so.80"}}.write(here.at("lib/libmpi_abi.so.1"));
  CHECK(needs_in(program) == "pmix certain");
  CHECK(needs_in(here.write("own", ElfImage{.note = "Tutti"}.bytes())) == "certain");
}

TEST_CASE("libraries of libraries count, wherever the loader finds them", "[serve]") {
  const Folder here;
  const std::string one = here.folder("one"), two = here.folder("two");
  ElfImage{.needed = {"libinner.so"}}.write(one + "/libouter.so");
  ElfImage{.needed = {"libmpi.so.40", "libouter.so"}}.write(two + "/libinner.so");
  const auto needs_with = [&](const ElfImage& image, const std::string& library_path = "") {
    return needs_in(here.program(image), library_path);
  };
  CHECK(needs_with({.needed = {"libouter.so"}}) == "pmi1 perhaps");
  CHECK(needs_with({.needed = {"libouter.so"}}, one + ":" + two) == "pmix certain");
  // RPATH counts for what libraries need, too; RUNPATH for its own file.
  CHECK(needs_with({.needed = {"libouter.so"}, .rpath = "$ORIGIN/one:${ORIGIN}/two"}) ==
        "pmix certain");
  CHECK(needs_with({.needed = {"libouter.so"}, .runpath = one + ":" + two}) == "pmi1 perhaps");
  CHECK(needs_with({.needed = {"libouter.so"}, .rpath = two, .runpath = one}) == "pmi1 perhaps");
  ElfImage{.needed = {"libinner.so"}, .runpath = "$ORIGIN/../two"}.write(one + "/libouter.so");
  CHECK(needs_with({.needed = {"libouter.so"}, .runpath = one}) == "pmix certain");
  CHECK(needs_with({.needed = {one + "/libouter.so"}}) == "pmix certain");
}

TEST_CASE("a library is found by ldconfig's cache, after LD_LIBRARY_PATH", "[serve]") {
  const Folder here;
  const std::string one = here.folder("one"), two = here.folder("two");
  ElfImage{.needed = {"libmpi.so.40"}}.write(one + "/libouter.so");
  ElfImage{.needed = {"libmpi.so.12"}}.write(two + "/libouter.so");
  const std::string program = here.program({.needed = {"libouter.so"}});
  const std::string cache = here.write("cache", cache_of("libouter.so", one + "/libouter.so"));
  CHECK(needs_in(program, "", cache) == "pmix certain");
  CHECK(needs_in(program, two, cache) == "pmi1 certain");
  // Of another machine: the loader goes on looking.
  ElfImage{.needed = {"libmpi.so.12"}, .machine = EM_AARCH64}.write(two + "/libouter.so");
  CHECK(needs_in(program, two, cache) == "pmix certain");
  const std::string whole = cache_of("libouter.so", one + "/libouter.so");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    CHECK(needs_in(program, "", here.write("cache", whole.substr(0, bytes))).starts_with("pmi"));
}

TEST_CASE("what can bring anything needs everything", "[serve]") {
  const Folder here;
  CHECK(needs_in(here.write("app", "#!/bin/sh\n")) == "pmi1 pmix perhaps script");
  CHECK(needs_in(here.write("app", ElfImage{}.bytes())) == "pmi1 pmix perhaps");  // static
  const std::string program = here.program({.needed = {"libc.so.6"}});
  CHECK(words(needs_of(program, {"python3.11", "x.py"}, {})) == "pmi1 pmix perhaps");
  const std::string named = here.write("python3.11", ElfImage{.wants_loader = true}.bytes());
  CHECK(needs_in(named) == "pmi1 pmix perhaps");
  std::string narrow = ElfImage{.needed = {"libc.so.6"}, .wants_loader = true}.bytes();
  narrow[EI_CLASS] = ELFCLASS32;
  CHECK(needs_in(here.write("app", narrow)) == "pmi1 pmix perhaps");
  CHECK(needs_in("/no/such/file") == "perhaps script");
}

TEST_CASE("whose MPI a program is linked to", "[serve]") {
  const Folder here;
  const auto mpi_of = [&here](std::vector<std::string> libraries) {
    return needs_of(here.program({.needed = std::move(libraries)}), {"app"}, {}).mpi;
  };
  CHECK(mpi_of({"libmpi.so.12", "libc.so.6"}) == Mpi::mpich);
  CHECK(mpi_of({"libmpi.so.40"}) == Mpi::open_mpi);
  CHECK(mpi_of({"libpmix.so.2"}) == Mpi::unknown);
  CHECK(mpi_of({"libmpi.so.12", "libmpi.so.40"}) == Mpi::unknown);
  CHECK(mpi_of({"libc.so.6"}) == Mpi::unknown);
  CHECK(needs_of(here.write("ours", ElfImage{.note = "Tutti"}.bytes()), {"app"}, {}).mpi ==
        Mpi::tutti);
}

TEST_CASE("a file that breaks off is read as far as it goes", "[serve]") {
  const Folder here;
  const std::string whole =
      ElfImage{.needed = {"libmpi.so.40"}, .rpath = "/a", .note = "Tutti", .wants_loader = true}
          .bytes();
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    CHECK_FALSE(needs_in(here.write("app", whole.substr(0, bytes))).empty());
}

TEST_CASE("this machine's own programs are read", "[serve]") {
  CHECK(words(needs_of("/proc/self/exe", {"app"}, {})) ==
        "pmi1 perhaps");  // this test: no MPI at all
}
