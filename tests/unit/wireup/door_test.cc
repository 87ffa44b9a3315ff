// A rank at its daemon's door while a crowd of others pushes visitors out.
#include "wireup/door.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/unique_fd.h"
#include "catch.h"
#include "wireup/protocol.h"

namespace tutti::wireup {
namespace {

// A door that puts the first visitors out unheard, as it does where more come than it has room for.
// With -1 of them it hears nobody, as that of a daemon that is stopped.
class CrowdedDoor {
 public:
  explicit CrowdedDoor(int put_out) : listener_(::socket(AF_UNIX, SOCK_SEQPACKET, 0)) {
    std::array<char, 32> name{"/tmp/tutti-door-XXXXXX"};
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    folder_ = name.data();
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    path().copy(at.sun_path, sizeof at.sun_path - 1);
    REQUIRE(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(::listen(listener_.get(), 16) == 0);
    if (put_out < 0) return;
    thread_ = std::thread([this, put_out] {
      for (int i = 0; i < put_out; ++i) UniqueFd(::accept(listener_.get(), nullptr, nullptr));
      serve(UniqueFd(::accept(listener_.get(), nullptr, nullptr)));
    });
  }
  ~CrowdedDoor() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    ::unlink(path().c_str());
    ::rmdir(folder_.c_str());
  }
  std::string path() const { return folder_ + "/door"; }

 private:
  void serve(const UniqueFd& visitor) {
    std::array<char, kDoorMostAsk> ask;
    if (!visitor.is_open() || ::recv(visitor.get(), ask.data(), ask.size(), 0) <= 0) return;
    DoorAnswer answer;
    answer.wish = static_cast<std::uint32_t>(DoorWish::join);
    std::memset(answer.secret, 0xbb, sizeof answer.secret);
    const UniqueFd segment(::memfd_create("segment", MFD_CLOEXEC));
    answer_at_door(visitor.get(), answer, {}, segment.get());
  }

  UniqueFd listener_;
  std::string folder_;
  std::thread thread_;
};

std::string key() {
  std::string text;
  for (const char* half : {"aa", "bb"})
    for (std::size_t i = 0; i < kDoorSecretBytes; ++i) text += half;
  return text;
}

}  // namespace

TEST_CASE("a rank that a crowd pushes out of its daemon's door comes again", "[wireup]") {
  const CrowdedDoor door(3);
  const auto entered = enter_door(door.path(), key(), 0, DoorWish::join);
  INFO((entered ? "" : entered.error().text));
  CHECK(entered);
}

TEST_CASE("a rank whose daemon does not answer gives up, and says after how long", "[wireup]") {
  const CrowdedDoor silent(-1);
  const auto told = ask_daemon({silent.path(), key(), 0, 1}, DoorWish::join, {}, -1);
  REQUIRE_FALSE(told);
  CHECK(told.error().text.find("does not answer: nothing came within 1 s") != std::string::npos);
  CHECK(told.error().text.find('\n') == std::string::npos);
}

TEST_CASE("a rank that no door lets in says so after some tries", "[wireup]") {
  const CrowdedDoor door(5);
  const auto entered = enter_door(door.path(), key(), 0, DoorWish::join);
  REQUIRE_FALSE(entered);
  CHECK(entered.error().text.find("does not let it in") != std::string::npos);
}

}  // namespace tutti::wireup
