// Where folders of ours are made: only where nobody else can put another in their place.
#include "base/own_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "catch.h"

using namespace tutti;  // NOLINT(google-build-using-namespace): a test

namespace {

class OwnFolders {
 public:
  OwnFolders() { REQUIRE(::mkdtemp(root_.data()) != nullptr); }
  ~OwnFolders() { remove_folder(root_); }
  OwnFolders(const OwnFolders&) = delete;
  OwnFolders& operator=(const OwnFolders&) = delete;

  std::string add(const std::string& name, mode_t mode) const {
    const std::string path = root_ + "/" + name;
    REQUIRE(::mkdir(path.c_str(), 0700) == 0);
    REQUIRE(::chmod(path.c_str(), mode) == 0);  // whatever the umask
    return path;
  }
  std::string link(const std::string& name, const std::string& to) const {
    const std::string path = root_ + "/" + name;
    REQUIRE(::symlink(to.c_str(), path.c_str()) == 0);
    return path;
  }

 private:
  std::string root_ = "/tmp/own-folders-XXXXXX";
};

void is_taken(const std::string& where) {
  INFO(where);
  CHECK(temporary_folder(where) == where);
  OwnFolder made;
  CHECK(made.make(where).has_value());
  CHECK(made.path().starts_with(where + "/"));
  CHECK(names_own_folder(made.path()));
}

void is_left(const std::string& where) {
  INFO(where);
  CHECK(temporary_folder(where) == "/tmp");
  OwnFolder made;
  const auto done = made.make(where);
  REQUIRE_FALSE(done.has_value());
  CHECK(done.error().text.find("others may rename") != std::string::npos);
  CHECK(names_in(where).empty());
}

}  // namespace

TEST_CASE("Our folders lie where nobody else can rename them", "[base]") {
  const OwnFolders folders;
  is_taken(folders.add("mine", 0700));
  is_taken(folders.add("shown", 0755));
  is_taken(folders.add("sticky", 01777));
  is_left(folders.add("open", 0777));
  is_left(folders.add("open/mine", 0700));
  is_left(folders.link("short", "open/mine"));
  is_left(folders.link("open/swapped", "../mine"));
}

TEST_CASE("A folder that a group may write is taken where the group is one user's", "[base]") {
  const OwnFolders folders;
  const std::string path = folders.add("group", 0775);
  if (::geteuid() == 0) REQUIRE(::chown(path.c_str(), 12345, 12345) == 0);
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  if (::geteuid() == 0) return is_left(path);  // another user's, whatever its mode
  if (status.st_gid == status.st_uid) is_taken(path);
}
