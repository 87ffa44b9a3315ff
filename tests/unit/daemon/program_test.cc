// Finding the program a rank runs.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "catch.h"
#include "daemon/launch.h"

namespace tutti::launch::daemon {
namespace {

struct Folder {
  Folder() {
    char name[] = "/tmp/tutti-program-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
    std::ofstream(path + "/good") << "#!/bin/sh\n";
    ::chmod((path + "/good").c_str(), 0755);
    std::ofstream(path + "/plain") << "text\n";
    ::chmod((path + "/plain").c_str(), 0644);
    ::mkdir((path + "/folder").c_str(), 0755);
  }
  ~Folder() { CHECK(std::system(("rm -rf " + path).c_str()) == 0); }
  CannotStart find(const std::string& name, const std::string& search = "/usr/bin:/bin") {
    return find_program(name, search, path, &found);
  }
  std::string path, found;
};

TEST_CASE("a name with a slash is looked for from the working folder", "[daemon]") {
  Folder folder;
  CHECK(folder.find("./good").reason.empty());
  CHECK(folder.found == "./good");
  const CannotStart missing = folder.find("./none");
  CHECK(missing.status == 127);
  CHECK(missing.reason.find(folder.path + "/none;") != std::string::npos);
}

TEST_CASE("a file without the right to run it is 126, a folder too", "[daemon]") {
  Folder folder;
  CHECK(folder.find("./plain").status == 126);
  CHECK(folder.find("./folder").status == 126);
}

TEST_CASE("a plain name is looked for in PATH only, with a hint at the working folder",
          "[daemon]") {
  Folder folder;
  CHECK(folder.find("sh").reason.empty());
  const CannotStart here = folder.find("good");
  CHECK(here.status == 127);
  CHECK(here.reason.find("./good") != std::string::npos);
  const CannotStart closed = folder.find("plain");
  CHECK(closed.status == 127);
  CHECK(closed.reason.find("chmod +x " + folder.path + "/plain") != std::string::npos);
  CHECK(folder.find("good", "/bin:.").reason.empty());
  CHECK(folder.find("sh", "").reason.empty());  // there is no PATH
  CHECK(folder.find("plain", "/bin:" + folder.path).status == 126);
}

}  // namespace
}  // namespace tutti::launch::daemon
