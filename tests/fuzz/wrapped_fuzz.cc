// Words of ranks behind wrappers, and of ranks that share a segment under another launcher: asks at
// a daemon's door, answers of who holds a door's path, descriptors that nobody wanted. Nobody is
// let in without its key, nothing is taken for a segment that no daemon proved, no descriptor
// stays.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "base/pass_fd.h"
#include "catch.h"
#include "daemon/door.h"
#include "mutate.h"
#include "wireup/door.h"

using namespace tutti;                   // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::control;  // NOLINT(google-build-using-namespace): a test
using wireup::DoorAnswer;
using wireup::DoorAsk;

namespace {

std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    static_cast<void>(each);
    ++count;
  }
  return count;
}

template <class T>
std::string bytes_of(const T& words) {
  return {reinterpret_cast<const char*>(&words), sizeof words};
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

void serve(Loop& loop) {
  loop.after(std::chrono::milliseconds(0), [&loop] { loop.post([&loop] { loop.stop(); }); });
  loop.run();
}

// With up to three descriptors along, of which nobody asked for any.
void send_with_many(fuzz::Random& random, int to, const std::string& words) {
  iovec part{const_cast<char*>(words.data()), words.size()};
  int fds[3] = {0, 0, 0};
  const std::size_t count = random.below(4);
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof fds)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (count > 0) {
    message.msg_control = room;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(head), fds, count * sizeof(int));
  }
  ::sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

TEST_CASE("nonsense at a daemon's door lets nobody in", "[fuzz][door]") {
  Loop loop;
  int entered = 0;
  launch::daemon::Door door(
      loop, [](int, wireup::DoorWish) { return 0; }, [&](int, UniqueFd) { ++entered; });
  REQUIRE(door.open(3, "/tmp"));
  DoorAsk ask;
  ask.wish = static_cast<std::uint32_t>(wireup::DoorWish::join);
  ask.local = 2;
  std::memset(ask.secret, 7, sizeof ask.secret);
  const std::vector<std::string> seeds{bytes_of(ask), bytes_of(DoorAsk{}), bytes_of(DoorAnswer{})};
  const sockaddr_un at = address_of(door.path());
  const std::size_t before = open_descriptors();
  fuzz::Rounds rounds("door", 5000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    const UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    if (random.below(2) == 0) serve(loop);
    for (std::size_t words = random.below(3); words > 0; --words)
      send_with_many(random, fd.get(), fuzz::bend(random, seeds));
    serve(loop);
    REQUIRE(entered == 0);
    REQUIRE(open_descriptors() < before + 70);
  }
  for (int local = 0; local < 3; ++local) {
    const auto wish = local == 1 ? wireup::DoorWish::next : wireup::DoorWish::join;
    std::thread rank(
        [&] { CHECK(wireup::enter_door(door.path(), door.key_of(local), local, wish)); });
    for (int i = 0; i < 1000 && entered == local; ++i) {
      serve(loop);
      ::usleep(1000);
    }
    rank.join();
    CHECK(entered == local + 1);
  }
}

TEST_CASE("who holds a door's path and is no daemon is not believed", "[fuzz][door_answers]") {
  char folder[] = "/tmp/fuzz-door-XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  const std::string path = std::string(folder) + "/door";
  const sockaddr_un at = address_of(path);
  const UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  REQUIRE(::listen(listener.get(), 8) == 0);
  DoorAnswer answer;
  answer.wish = static_cast<std::uint32_t>(wireup::DoorWish::join);
  const std::vector<std::string> seeds{bytes_of(answer), bytes_of(answer) + "more",
                                       std::string(600, 'x')};
  const std::string key(4 * wireup::kDoorSecretBytes, '7');
  fuzz::Rounds rounds("door_answers", 3000);
  const std::size_t before = open_descriptors();
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    const std::string words = fuzz::bend(random, seeds);
    std::thread liar([&] {
      const UniqueFd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      char heard[256];
      static_cast<void>(::recv(fd.get(), heard, sizeof heard, 0));
      send_with_many(random, fd.get(), words);
    });
    const bool is_in = wireup::enter_door(path, key, 1, wireup::DoorWish::join).has_value();
    liar.join();
    REQUIRE_FALSE(is_in);
    REQUIRE(open_descriptors() == before);
  }
  std::filesystem::remove_all(folder);
}
