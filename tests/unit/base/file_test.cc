// Where a program may lie.
#include "base/file.h"

#include "catch.h"

namespace tutti {
namespace {

using Places = std::vector<std::string>;

TEST_CASE("a program is looked for in the folders of PATH, an empty one is the working folder",
          "[base]") {
  CHECK(places_of_program("app", "/a:b:") == Places{"/a/app", "b/app", "./app"});
  CHECK(places_of_program("app", ":/a") == Places{"./app", "/a/app"});
}

TEST_CASE("without PATH a program is looked for where execvp does", "[base]") {
  CHECK(search_path("") == "/usr/bin:/bin");
  CHECK(places_of_program("app", "") == Places{"/usr/bin/app", "/bin/app"});
}

}  // namespace
}  // namespace tutti
