// A descriptor that the program closes behind our back, and opens again as something else.
#include "base/kept_fd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "catch.h"

using namespace tutti;  // NOLINT(google-build-using-namespace): a test

namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

// The program's own file, by a number that was somebody else's.
void replace(int number) {
  UniqueFd file(::memfd_create("the program's", MFD_CLOEXEC));
  REQUIRE(::dup2(file.get(), number) == number);
  if (file.get() == number) (void)file.release();
}

}  // namespace

TEST_CASE("A descriptor that is still there is closed at the end", "[base]") {
  int number = -1;
  {
    const KeptFd kept(UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
    number = kept.get();
    CHECK(kept.is_there());
    KeptFd file(UniqueFd(::memfd_create("ours", MFD_CLOEXEC)));
    CHECK(file.is_there());
    CHECK(UniqueFd(file.release()).is_open());
    CHECK_FALSE(file.is_there());
  }
  CHECK_FALSE(is_open(number));
  CHECK_FALSE(KeptFd().is_there());
}

TEST_CASE("A number that has become another file's is left alone", "[base]") {
  int number = -1;
  {
    KeptFd kept(UniqueFd(::memfd_create("ours", MFD_CLOEXEC)));
    number = kept.get();
    ::close(number);
    CHECK_FALSE(kept.is_there());
    replace(number);
    CHECK_FALSE(kept.is_there());
    CHECK_FALSE(kept.release().is_open());
  }
  CHECK(is_open(number));
  {
    KeptFd kept(UniqueFd(::memfd_create("ours", MFD_CLOEXEC)));
    const int other = kept.get();
    replace(other);
    kept = KeptFd(UniqueFd(::memfd_create("the next one", MFD_CLOEXEC)));
    CHECK(kept.is_there());
    CHECK(is_open(other));
    ::close(other);
  }
  ::close(number);
}
