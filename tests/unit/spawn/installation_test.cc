// Whether the loader finds the library by itself.
#include "spawn/installation.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "catch.h"

using tutti::launch::spawn::is_found_by_loader;

TEST_CASE("a library that the loader's cache names needs no folder added", "[spawn]") {
  std::string folder = "/tmp/installation-test-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const std::string library = folder + "/libmpi_abi.so.1", link = folder + "/link";
  std::ofstream(library) << "library";
  REQUIRE(::symlink(folder.c_str(), link.c_str()) == 0);
  const std::string zero(1, '\0');
  const auto cache = [&](const std::string& paths) {
    return "head" + zero + "/lib/libc.so.6" + zero + paths;
  };
  CHECK(is_found_by_loader(library, cache(library + zero)));
  CHECK(is_found_by_loader(library, cache(link + "/libmpi_abi.so.1" + zero)));
  CHECK_FALSE(is_found_by_loader(library, cache("")));
  CHECK_FALSE(is_found_by_loader(library, ""));
  CHECK_FALSE(is_found_by_loader(library, cache("/opt/other/libmpi_abi.so.1" + zero)));
  // Another MPI's of the same name would be found first, or might.
  CHECK_FALSE(
      is_found_by_loader(library, cache(library + zero + "/opt/other/libmpi_abi.so.1" + zero)));
  ::unlink(library.c_str());
  ::unlink(link.c_str());
  ::rmdir(folder.c_str());
}
