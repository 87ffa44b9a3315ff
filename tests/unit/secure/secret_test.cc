// Secrets that people keep: how long, and whose file.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/file.h"
#include "base/unique_fd.h"
#include "catch.h"
#include "secure/secure.h"

namespace tutti::secure {
namespace {

constexpr const char* kText = "0123456789abcdef";

struct Folder {
  Folder() {
    char name[] = "/tmp/tutti-secret-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  ~Folder() { remove_folder(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& text, mode_t mode) const {
    const std::string at = path + "/key";
    ::unlink(at.c_str());
    const UniqueFd fd(::open(at.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    REQUIRE(::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    REQUIRE(::fchmod(fd.get(), mode) == 0);
    return at;
  }
  std::string path;
};

TEST_CASE("a secret depends on its text and its use", "[secure]") {
  const auto one = secret_from(kText, "join"), same = secret_from(kText, "join");
  REQUIRE(one);
  CHECK(*one == *same);
  CHECK(*one != *secret_from(kText, "meet"));
  CHECK(*one != *secret_from("0123456789abcdeF", "join"));
  CHECK_FALSE(secret_from("0123456789abcde", "join"));
}

TEST_CASE("a key file is ours alone", "[secure]") {
  const Folder folder;
  const auto good = read_key_file(folder.file(std::string(kText) + "\n", 0600));
  REQUIRE(good);
  CHECK(**good == kText);
  CHECK(read_key_file(folder.file(kText, 0400)));
  for (const mode_t mode : {0620, 0602, 0666, 0660})
    CHECK_FALSE(read_key_file(folder.file(kText, mode)));
  // Root's may be read by others: secrets that are mounted look like that.
  for (const mode_t mode : {0640, 0644, 0444})
    CHECK(read_key_file(folder.file(kText, mode)).has_value() == (::geteuid() == 0));
}

TEST_CASE("another user's key file is not taken", "[secure]") {
  if (::geteuid() != 0) return;  // only root can give a file away
  const Folder folder;
  const std::string path = folder.file(kText, 0600);
  REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
  const auto refused = read_key_file(path);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text.find("another user") != std::string::npos);
}

TEST_CASE("what is no key file is told", "[secure]") {
  const Folder folder;
  const auto none = read_key_file(folder.path + "/nothing");
  REQUIRE(none);
  CHECK_FALSE(none->has_value());
  CHECK_FALSE(read_key_file(folder.path));
  CHECK_FALSE(read_key_file(folder.file("short", 0600)));
  CHECK_FALSE(read_key_file(folder.file(std::string(5000, 'x'), 0600)));
  const std::string pipe = folder.path + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_FALSE(read_key_file(pipe));  // and is not waited for
}

}  // namespace
}  // namespace tutti::secure
