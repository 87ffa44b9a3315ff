// What programs look for, read from their files.
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "catch.h"
#include "serve/serve.h"

using namespace tutti::launch;
using namespace tutti::launch::serve;

namespace {

// A file that begins like a program and names `sign`.
std::string file_with(const std::string& beginning, const std::string& sign) {
  std::string path = "/tmp/tutti-needs-XXXXXX";
  const int fd = ::mkstemp(path.data());
  REQUIRE(fd >= 0);
  ::close(fd);
  std::ofstream(path) << beginning << std::string(5000, '.') << sign << std::string(50, '.');
  return path;
}

Needs needs_with(const std::string& beginning, const std::string& sign) {
  const std::string path = file_with(beginning, sign);
  const Needs needs = needs_of(path, {"app"});
  std::remove(path.c_str());
  return needs;
}

}  // namespace

TEST_CASE("a program names its libraries", "[serve]") {
  const std::string elf = "\177ELF";
  CHECK(needs_with(elf, "libmpi.so.12").pmi1);
  CHECK_FALSE(needs_with(elf, "libmpi.so.12").pmix);
  CHECK(needs_with(elf, "libmpi.so.40").pmix);
  CHECK_FALSE(needs_with(elf, "libmpi.so.40").pmi1);
  CHECK(needs_with(elf, "PMI_FD").pmi1);
  CHECK_FALSE(needs_with(elf, "libm.so.6").pmi1);
  CHECK_FALSE(needs_with(elf, "libm.so.6").pmix);
}

TEST_CASE("a script and an interpreter may need anything", "[serve]") {
  CHECK(needs_with("#!/bin/sh\n", "").pmi1);
  CHECK(needs_with("#!/bin/sh\n", "").pmix);
  CHECK(needs_of("/usr/bin/python3.11", {"python3", "x.py"}).pmix);
  CHECK_FALSE(needs_of("/no/such/file", {"file"}).pmi1);
}
